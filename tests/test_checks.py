import re

import numpy as np
import pytest

from panfocus._checks import frames_array
from panfocus.errors import InputError

GREY = np.zeros((13, 17), np.uint8)
COLOUR = np.zeros((13, 17, 3), np.uint8)


def refused(frames, words):
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        frames_array(frames)
    assert "\n" not in str(caught.value)


def test_an_array_of_frames_is_not_copied():
    frames = np.zeros((2, 13, 17, 3), np.uint8)
    assert frames_array(frames) is frames


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_frames_one_by_one_are_stacked(rng, kind):
    frames = rng.random((3, 13, 17))
    np.testing.assert_array_equal(frames_array(kind(list(frames))), frames)


def test_too_few_frames():
    refused([], "fusion needs at least two frames, got none")
    refused([GREY], "fusion needs at least two frames, got 1")
    refused(GREY[None], "fusion needs at least two frames, got 1")


def test_shapes_that_are_no_frames():
    refused(GREY, "frames have shape (13, 17); needed: (n, h, w) or (n, h, w, c)")
    refused(np.zeros((2, 2, 13, 17, 3)), "frames have shape (2, 2, 13, 17, 3)")
    refused([GREY[0], GREY[0]], "frame 0 has shape (17,); needed: (h, w) or (h, w, c)")
    refused([GREY[:0], GREY[:0]], "frame 0 has shape (0, 17)")
    refused(np.zeros((2, 13, 0)), "frame 0 has shape (13, 0)")


def test_sizes_that_differ():
    refused([GREY, GREY[:, :15]], "frame 1 is 15 x 13 pixels, frame 0 is 17 x 13; all frames need one size")


def test_colour_models_that_differ():
    refused([GREY, COLOUR], "frame 1 is colour, frame 0 is grey; convert them to one colour model")
    refused([COLOUR, np.zeros((13, 17, 4), np.uint8)], "frame 1 is colour with alpha, frame 0 is colour")
    refused([COLOUR, np.zeros((13, 17, 7), np.uint8)], "frame 1 is of 7 channels")


def test_types_that_differ_or_are_not_supported():
    refused([GREY, GREY.astype(np.uint16)], "frame 1 is uint16, frame 0 is uint8; all frames need one bit")
    refused([GREY, GREY.astype(int)], "frame 1 is int64; supported: uint8, uint16, float32, float64")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_no_numbers(value, dtype):
    frames = np.zeros((3, 13, 17), dtype)
    frames[2, 12, 16] = value
    refused(frames, "frame 2 holds NaN or infinite values; replace them first")


def test_only_values_of_frames_are_looked_at(monkeypatch):
    looked_at = []
    monkeypatch.setattr("panfocus._checks.largest_magnitude", lambda frames, k: looked_at.append(k) or 1.0)
    frames_array(np.ones((3, 13, 17)))
    assert looked_at == [0, 1, 2]  # and not at what stands for one, for its shape and type


def test_an_array_that_is_not_in_memory_is_looked_through_some_rows_at_a_time(monkeypatch):
    class OnDisk:
        shape, dtype, ndim = (3, 13, 17), np.dtype(np.float32), 3
        asked = ()

        def __len__(self):
            return 3

        def __iter__(self):
            raise AssertionError("all frames at once")

        def __getitem__(self, key):
            self.asked += (key,)
            k, rows, cols = key
            return np.full((13, 17), np.nan if k == 2 else 0.5, np.float32)[rows, cols]

    frames = OnDisk()
    refused(frames, "frame 2 holds NaN or infinite values; replace them first")
    assert [k for k, *_ in frames.asked] == [0, 1, 2]
    monkeypatch.setattr("panfocus._checks.BAND_VALUES", 5 * 17)
    frames.asked = ()
    refused(frames, "frame 2 holds NaN or infinite values; replace them first")
    assert [rows for k, rows, _ in frames.asked if k == 0] == [slice(0, 5), slice(5, 10), slice(10, 13)]
    frames.dtype, frames.asked = np.dtype(np.uint8), ()
    assert frames_array(frames) is frames
    assert frames.asked == ()  # whole numbers are all finite
