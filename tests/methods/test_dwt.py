"""The method `dwt`, compared with PyWavelets' multilevel transform and with values computed by hand."""

import itertools

import numpy as np
import pytest
import pywt
from scipy.ndimage import generic_filter

from panfocus.methods.dwt import DWT, MAX_LEVELS
from panfocus.tiling.tiled import run_method

SHAPE = (27, 38)


def fuse(frames, *, side=10**9, **settings):
    return run_method(DWT(**settings), frames, side=side).image


def pick(rule, a, b):
    """Fuse one band of two frames by an independent implementation of the rule."""
    if rule == "mean":
        return (a + b) / 2
    if rule == "choose-max":
        return np.where(np.abs(a) > np.abs(b), a, b)
    first = generic_filter(np.abs(a), np.max, 3) > generic_filter(np.abs(b), np.max, 3)
    second = generic_filter(np.abs(a), np.max, 3) < generic_filter(np.abs(b), np.max, 3)
    assert (first ^ second).all()
    return np.where(generic_filter(first.astype(float), np.sum, 3) > 4.5, a, b)


@pytest.mark.filterwarnings("ignore:Level value")  # PyWavelets warns about small images
@pytest.mark.parametrize("wavelet", ["db1", "sym4", "bior4.4"])
@pytest.mark.parametrize(
    ("details", "approximation"),
    [("choose-max", "mean"), ("mean", "choose-max"), ("window", "mean"), ("choose-max", "window")],
)
@pytest.mark.parametrize("levels", [1, 3])
def test_coefficients_follow_the_rules(rng, wavelet, details, approximation, levels):
    frames = rng.random((2, *SHAPE))
    (a, *a_details), (b, *b_details) = (pywt.wavedec2(frame, wavelet, level=levels) for frame in frames)
    fused = [
        tuple(pick(details, x, y) for x, y in zip(*bands, strict=True))
        for bands in zip(a_details, b_details, strict=True)
    ]
    expected = pywt.waverec2([pick(approximation, a, b), *fused], wavelet)[: SHAPE[0], : SHAPE[1]]
    ours = fuse(frames, wavelet=wavelet, levels=levels, details=details, approximation=approximation)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_block_computed_by_hand():
    # db1 of [[a, b], [c, d]]: half of a+b+c+d, a+b-c-d, a-b+c-d, a-b-c+d.
    # Frame 0: 20, -4, -2, 0. Frame 1: 28, -2, -4, 0. Fused: 24, -4, -4, 0.
    frames = np.array([[[7.0, 9], [11, 13]], [[11, 15], [13, 17]]])
    np.testing.assert_allclose(fuse(frames, levels=1), [[8, 12], [12, 16]], rtol=1e-14)


def test_approximation_is_averaged_over_all_frames():
    frames = np.stack([np.full((8, 8), value) for value in (0.1, 0.4, 0.7)])
    np.testing.assert_allclose(fuse(frames), np.full((8, 8), 0.4), rtol=1e-14)
    np.testing.assert_allclose(fuse(frames, approximation="choose-max"), np.full((8, 8), 0.7), rtol=1e-14)


@pytest.mark.parametrize("rule", ["choose-max", "window"])
def test_frames_with_equal_grey_are_averaged_in_all_channels(rng, rule):
    # Frames 0 and 1 have the same grey plane and tie; frame 2 has half their contrast.
    grey, alpha = 0.5 + 0.4 * rng.random((16, 24)), rng.random((3, 16, 24))
    frames = np.stack([np.stack([g, a], axis=2) for g, a in zip((grey, grey, grey / 2), alpha, strict=True)])
    fused = fuse(frames, details=rule, approximation=rule)
    np.testing.assert_allclose(fused[..., 0], grey, rtol=1e-14)
    np.testing.assert_allclose(fused[..., 1], (alpha[0] + alpha[1]) / 2, rtol=1e-13)


def test_details_of_opposite_sign_cancel(rng):
    texture = rng.random((16, 24))
    np.testing.assert_array_equal(fuse(np.stack([texture, -texture])), np.zeros((16, 24)))


@pytest.mark.parametrize("details", ["choose-max", "window"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_order_of_frames_with_opposite_details_does_not_matter(rng, details, dtype):
    texture = rng.integers(0, 120, (16, 24)).astype(dtype)
    frames = np.stack([texture, 120 - texture, texture // 2])
    expected = fuse(frames, details=details)
    for order in itertools.permutations(range(3)):
        np.testing.assert_array_equal(fuse(frames[list(order)], details=details), expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("wavelet", ["db1", "sym4"])
def test_equal_integer_frames_give_that_frame(rng, dtype, wavelet):
    frame = rng.integers(0, np.iinfo(dtype).max, (*SHAPE, 3), dtype, endpoint=True)
    np.testing.assert_array_equal(fuse(np.stack([frame] * 3), wavelet=wavelet), frame)


def test_equal_float_frames_give_that_frame_up_to_rounding(rng):
    frame = rng.random(SHAPE)
    np.testing.assert_allclose(fuse(np.stack([frame] * 3)), frame, atol=1e-14)


def test_integers_are_clipped_and_floats_are_not():
    # Level 1, db1: the mean of the brightness is 170, the detail of frame 0 is +-127.5 about it.
    frames = np.array([[[0, 255], [0, 255]], [[212, 213], [212, 213]]], np.uint8)
    np.testing.assert_array_equal(fuse(frames, levels=1), [[43, 255], [43, 255]])
    np.testing.assert_allclose(fuse(frames / 255, levels=1) * 255, [[42.5, 297.5]] * 2, atol=1e-10)


def test_three_equal_channels_are_fused_as_one(rng):
    grey = rng.random((2, *SHAPE))
    colour = fuse(np.stack([grey] * 3, axis=3))
    for channel in range(3):
        np.testing.assert_allclose(colour[..., channel], fuse(grey), atol=1e-12)


def test_colours_are_chosen_together_on_grey(rng):
    # By green, frame 0 is sharper everywhere; by red alone it would be frame 1.
    texture = rng.random(SHAPE)
    frames = np.zeros((2, *SHAPE, 3))
    frames[0, ..., 1], frames[1, ..., 1] = texture, 0.5 * texture
    frames[0, ..., 0], frames[1, ..., 0] = 0.5 * texture, texture
    fused = fuse(frames, approximation="choose-max")
    np.testing.assert_allclose(fused, frames[0], atol=1e-12)


def test_alpha_is_fused_but_does_not_decide(rng):
    frames = rng.random((2, *SHAPE, 4))
    with_alpha = fuse(frames)
    np.testing.assert_array_equal(with_alpha[..., :3], fuse(frames[..., :3]))
    assert (with_alpha[..., 3] != frames[0, ..., 3]).any()


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("wavelet", ["db2", "db4", "rbio3.1", "bior4.4"])
@pytest.mark.parametrize("details", ["choose-max", "window"])
@pytest.mark.parametrize("levels", [1, 3])
def test_tiles_equal_the_whole_for_longer_filters(rng, dtype, wavelet, details, levels):
    frames = (255 * rng.random((2, 131, 97))).astype(dtype)
    settings = {"wavelet": wavelet, "details": details, "levels": levels}
    expected = fuse(frames, **settings)
    for side in (16, 29):
        np.testing.assert_array_equal(fuse(frames, side=side, **settings), expected)


def test_halo_of_db1_is_the_rest_of_a_block(rng):
    assert DWT(levels=3).halo == 7
    frames = rng.random((2, 24, 24))
    other = frames.copy()
    other[0, 8, 8] = 5
    changed = fuse(frames) != fuse(other)
    assert changed[15, 15]  # 7 pixels away, in the same block of 8
    changed[8:16, 8:16] = False
    assert not changed.any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (3, 5), (13, 2)])
@pytest.mark.parametrize("settings", [{}, {"wavelet": "sym8"}, {"levels": 7, "details": "window"}], ids=str)
def test_images_smaller_than_a_block_are_fused(rng, shape, settings):
    frame = rng.integers(0, 255, shape).astype(np.uint8)
    np.testing.assert_array_equal(fuse(np.stack([frame, frame]), **settings), frame)


def test_equal_frames_give_that_frame_at_the_most_levels(rng):
    frame = rng.integers(0, 256, (40, 33), np.uint8)
    np.testing.assert_array_equal(fuse(np.stack([frame, frame]), levels=MAX_LEVELS), frame)
