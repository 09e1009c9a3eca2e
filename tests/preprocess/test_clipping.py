"""The value from which pixels are clipped: known for integers, found where values pile up."""

import numpy as np
import pytest

from panfocus.preprocess.clipping import find_clip
from textures import as_bytes, texture

UNIT = np.stack([texture((96, 64), seed) for seed in (1, 2)])


def test_bytes_are_clipped_at_the_end_of_their_range():
    for frames in (as_bytes(UNIT), as_bytes(0.2 * UNIT), np.minimum(as_bytes(UNIT), 128)):
        assert find_clip(frames) == 0.985
    assert find_clip(np.zeros((2, 9, 9), np.uint8)) == 0.985


@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("white", [4095, 1023])
def test_frames_with_values_that_pile_up_are_clipped_there(dtype, white):
    light = np.minimum(np.rint(1.3 * white * UNIT), white)
    assert np.mean(light == white) > 0.001
    unit = white / 65535
    frames = light.astype(dtype) if dtype == np.uint16 else (light / 65535).astype(dtype)
    assert find_clip(frames) == pytest.approx(0.985 * unit, rel=1e-6)


def test_brightest_values_of_frames_that_are_not_clipped_do_not_matter():
    rng = np.random.default_rng(1)
    frames = np.clip(0.1 + 0.02 * rng.normal(size=(3, 80, 90)), 0, None)  # brighter values are rarer
    assert find_clip(frames) is None
    assert find_clip(frames.astype(np.float32)) is None
    assert find_clip(np.rint(4095 * frames).astype(np.uint16)) == 0.985


def test_single_pixels_at_the_maximum_are_no_clipping():
    frames = 0.3 * UNIT
    frames[0, 3, 4] = 0.9  # one of 12288 values is less than one of 10000
    assert find_clip(frames) is None
    frames[0, 3:5, 4] = 0.9
    assert find_clip(frames) == pytest.approx(0.985 * 0.9)


def test_black_frames_are_not_clipped():
    assert find_clip(np.zeros((2, 9, 9), np.float32)) is None
    assert find_clip(np.zeros((2, 9, 9), np.uint16)) == 0.985


def test_opacity_is_not_light():
    rng = np.random.default_rng(1)
    frames = np.clip(0.1 + 0.02 * rng.normal(size=(2, 80, 90, 4)), 0, None)
    frames[..., 3] = 1
    assert find_clip(frames) is None
