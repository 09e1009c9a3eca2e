"""The methods `max-projection` and `min-projection`, compared with NumPy's extremes."""

import numpy as np
import pytest

import panfocus as pf
from panfocus.decide.gray import to_gray
from panfocus.methods import get_method
from panfocus.tiling.tiled import run_method

SHAPE = (13, 17)
EXTREMES = {"max-projection": (np.max, np.argmax), "min-projection": (np.min, np.argmin)}
each_projection = pytest.mark.parametrize("name", EXTREMES)


def random_frames(rng, n_frames, *, channels=None, dtype=np.uint8):
    full = (n_frames, *SHAPE) if channels is None else (n_frames, *SHAPE, channels)
    values = rng.random(full)
    return (values * (np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1)).astype(dtype)


@each_projection
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 1, 3, 5])
@pytest.mark.parametrize("side", [5, 10**9])
def test_image_is_the_extreme_of_each_channel_in_any_tiling(rng, name, dtype, channels, side):
    extreme, _ = EXTREMES[name]
    frames = random_frames(rng, 5, channels=channels, dtype=dtype)
    image = run_method(get_method(name), frames, side=side).image
    assert image.dtype == dtype
    np.testing.assert_array_equal(image, extreme(frames, axis=0))


@each_projection
@pytest.mark.parametrize("channels", [2, 4])
def test_alpha_is_the_largest(rng, name, channels):
    extreme, _ = EXTREMES[name]
    frames = random_frames(rng, 4, channels=channels)
    image = run_method(get_method(name), frames).image
    np.testing.assert_array_equal(image[..., :-1], extreme(frames[..., :-1], axis=0))
    np.testing.assert_array_equal(image[..., -1], frames[..., -1].max(axis=0))


@each_projection
@pytest.mark.parametrize("channels", [None, 3, 4])
def test_label_is_the_frame_with_the_extreme_grey_value(rng, name, channels):
    _, place = EXTREMES[name]
    frames = random_frames(rng, 6, channels=channels)
    result = run_method(get_method(name), frames)
    np.testing.assert_array_equal(result.labels, place([to_gray(frame) for frame in frames], axis=0))
    assert result.labels.dtype == np.uint8
    np.testing.assert_array_equal(result.depth, result.labels)


@each_projection
def test_earlier_frame_wins_ties(rng, name):
    frame = random_frames(rng, 1)[0]
    other = np.full_like(frame, 0 if name == "max-projection" else 255)
    labels = run_method(get_method(name), np.stack([other, frame, frame])).labels
    np.testing.assert_array_equal(labels, frame != other)


def test_more_than_256_frames_have_16_bit_labels(rng):
    frames = np.zeros((300, *SHAPE), np.uint8)
    brightest = rng.integers(0, 300, SHAPE)
    frames[brightest, *np.indices(SHAPE)] = 9
    np.testing.assert_array_equal(run_method(get_method("max-projection"), frames).labels, brightest)


def test_fuse_projects_the_repaired_frames(rng):
    """A pixel that is hot in every frame would win every maximum."""
    frames = random_frames(rng, 3) // 4
    frames[:, 6, 8] = 255
    fused = pf.fuse(frames, "max-projection", hot_pixels="on", exposure="off")
    assert fused.image[6, 8] < 64
    kept = pf.fuse(frames, "max-projection", hot_pixels="off", exposure="off")
    np.testing.assert_array_equal(kept.image, frames.max(axis=0))
