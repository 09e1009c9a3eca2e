import itertools
import math

import numpy as np
import pytest

from panfocus.decide.compose import VOTES, as_votes, by_labels, by_votes, by_weights, sum_in_any_order
from panfocus.decide.patches import add_patches, extract_patches, patch_origins, spread_each

SHAPE = (13, 17)
DTYPES = [np.uint8, np.uint16, np.float32, np.float64]


def random_frames(rng, dtype, shape):
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    return rng.random(shape).astype(dtype)


def mean_of_patches(frames, winners, rows, cols, size):
    """Return the mean of the overlapping winning patches, as step 6 of Algorithm 1 is written."""
    patches = np.stack([extract_patches(frame.astype(np.float64), rows, cols, size) for frame in frames])
    selected = np.take_along_axis(patches, winners.reshape(1, 1, -1), axis=0)[0]
    total, cover = np.zeros(SHAPE), np.zeros(SHAPE)
    add_patches(total, selected, rows, cols, size)
    add_patches(cover, np.ones_like(selected), rows, cols, size)
    return total / cover


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("size", "stride", "n_frames"), [(8, 1, 2), (5, 3, 3), (4, 4, 5)])
def test_votes_equal_averaging_the_winning_patches(rng, dtype, size, stride, n_frames):
    frames = random_frames(rng, dtype, (n_frames, *SHAPE))
    rows, cols = (patch_origins(side, size, stride) for side in SHAPE)
    winners = rng.integers(0, n_frames, (len(rows), len(cols)))
    won = np.arange(n_frames)[:, None, None] == winners
    votes = spread_each(won.astype(np.uint16), SHAPE, rows, cols, size)
    expected = mean_of_patches(frames, winners, rows, cols, size)
    image = by_votes(frames, votes)
    assert image.dtype == dtype
    if np.issubdtype(dtype, np.integer):
        np.testing.assert_allclose(image, expected, atol=0.5 + 1e-9)
    else:
        np.testing.assert_allclose(image, expected, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_integers_are_averaged_exactly_and_rounded_half_up(rng, dtype):
    frames = random_frames(rng, dtype, (3, *SHAPE))
    votes = rng.integers(0, 65, (3, *SHAPE)).astype(np.uint16)
    votes[0] += 1
    image = by_votes(frames, votes)
    for place in np.ndindex(SHAPE):
        total = sum(int(v[place]) for v in votes)
        weighted = sum(int(f[place]) * int(v[place]) for f, v in zip(frames, votes, strict=True))
        assert image[place] == (2 * weighted + total) // (2 * total)


def test_half_is_rounded_up():
    frames = np.array([[[10, 254, 0]], [[11, 255, 1]]], np.uint8)
    np.testing.assert_array_equal(by_votes(frames, np.full((2, 1, 3), 7, np.uint16)), [[11, 255, 1]])


@pytest.mark.parametrize("votes_dtype", [np.uint8, np.uint16, np.int64])
def test_values_near_white_do_not_overflow(votes_dtype):
    frames = np.array([[[65535, 65535]], [[65535, 65533]]], np.uint16)
    votes = np.full((2, 1, 2), 120, votes_dtype)
    np.testing.assert_array_equal(by_votes(frames, votes), [[65535, 65534]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_unanimous_pixels_are_copied_exactly(rng, dtype, channels):
    frames = random_frames(rng, dtype, (3, *SHAPE) if channels is None else (3, *SHAPE, channels))
    winners = rng.integers(0, 3, SHAPE)
    votes = 64 * (winners == np.arange(3)[:, None, None]).astype(np.uint16)
    expected = np.empty(frames.shape[1:], dtype)
    for k in range(3):
        expected[winners == k] = frames[k][winners == k]
    np.testing.assert_array_equal(by_votes(frames, votes), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_frames_give_that_frame(rng, dtype):
    frame = random_frames(rng, dtype, SHAPE)
    votes = rng.integers(1, 65, (4, *SHAPE)).astype(np.uint16)
    np.testing.assert_array_equal(by_votes(np.stack([frame] * 4), votes), frame)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_frames", [2, 3, 5])
def test_order_of_frames_changes_no_bit(rng, dtype, n_frames):
    frames = random_frames(rng, dtype, (n_frames, *SHAPE, 3))
    votes = rng.integers(0, 4, (n_frames, *SHAPE)).astype(np.uint16)  # few values: many pixels share a label
    votes[:, votes.sum(axis=0) == 0] = 1
    expected = by_votes(frames, votes)
    for order in map(list, itertools.permutations(range(n_frames))):
        np.testing.assert_array_equal(by_votes(frames[order], votes[order]), expected)


def test_sum_does_not_depend_on_order_or_tiling(rng):
    terms = rng.standard_normal((9, *SHAPE))
    total = sum_in_any_order(terms)
    exact = [math.fsum(terms[:, *place]) for place in np.ndindex(SHAPE)]
    np.testing.assert_allclose(total.ravel(), exact, atol=9 * 9 * np.finfo(float).eps)
    np.testing.assert_array_equal(sum_in_any_order(terms[::-1]), total)
    np.testing.assert_array_equal(sum_in_any_order(terms[:, 5:6, 7:8]), total[5:6, 7:8])


@pytest.mark.parametrize("dtype", DTYPES)
def test_result_stays_in_the_range_of_the_frames(rng, dtype):
    frames = random_frames(rng, dtype, (5, *SHAPE))
    frames[3] = np.nextafter(frames[2], 2).astype(dtype) if frames.dtype.kind == "f" else frames[2]
    image = by_votes(frames, rng.integers(1, 65, (5, *SHAPE)).astype(np.uint16))
    assert (image >= frames.min(axis=0)).all()
    assert (image <= frames.max(axis=0)).all()


def test_all_channels_are_composed_alike(rng):
    frames = random_frames(rng, np.uint16, (2, *SHAPE, 3))
    votes = rng.integers(1, 65, (2, *SHAPE)).astype(np.uint16)
    channels = [by_votes(frames[..., c], votes) for c in range(3)]
    np.testing.assert_array_equal(by_votes(frames, votes), np.stack(channels, axis=2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [SHAPE, (*SHAPE, 3)])
def test_weights_give_the_weighted_mean_in_the_type_of_the_frames(rng, dtype, shape):
    frames = random_frames(rng, dtype, (3, *shape))
    weights = np.array([0.5, 0.2, 0.3])
    image = by_weights(frames, weights)
    assert image.dtype == dtype
    expected = np.average(frames.astype(np.float64), axis=0, weights=weights)
    if np.issubdtype(dtype, np.integer):
        np.testing.assert_allclose(image, expected, atol=0.5 + 1e-9)
    else:
        np.testing.assert_allclose(image, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounded_weights_leave_equal_frames_unchanged(rng, dtype):
    frame = random_frames(rng, dtype, SHAPE)
    np.testing.assert_array_equal(by_weights(np.stack([frame] * 3), np.array([0.1, 0.2, 0.7 - 1e-12])), frame)


@pytest.mark.parametrize("shape", [SHAPE, (*SHAPE, 3)])
def test_labels_take_each_pixel_from_its_frame(rng, shape):
    frames = random_frames(rng, np.uint16, (3, *shape))
    labels = rng.integers(0, 3, SHAPE).astype(np.uint8)
    image = by_labels(frames, labels)
    for k in range(3):
        np.testing.assert_array_equal(image[labels == k], frames[k][labels == k])


def test_votes_from_weights_give_the_weighted_mean(rng):
    frames = random_frames(rng, np.uint8, (3, *SHAPE)).astype(np.float64)
    weights = rng.dirichlet([1, 1, 1], SHAPE).transpose(2, 0, 1).astype(np.float32)
    expected = (weights * frames).sum(axis=0)
    np.testing.assert_allclose(by_votes(frames, as_votes(weights)), expected, atol=255 * 3 / VOTES)
