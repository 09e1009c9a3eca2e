"""Checks of frames: what counts as a stack, and what each error reports."""

import numpy as np
import pytest

from panfocus._checks import check_choice, check_integer, check_number, frames_array
from panfocus.errors import InputError

GREY = np.zeros((13, 17), np.uint8)
COLOUR = np.zeros((13, 17, 3), np.uint8)


def rejected(frames):
    """Return the error for frames that are no stack; it has one line."""
    with pytest.raises(InputError) as caught:
        frames_array(frames)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "check",
    [
        lambda: check_integer("side", 2.5, at_least=1),
        lambda: check_integer("side", True, at_least=1),
        lambda: check_integer("side", 0, at_least=1),
        lambda: check_integer("side", 9, at_least=1, at_most=8),
        lambda: check_number("side", "wide"),
        lambda: check_choice("side", "middle", ("left", "right")),
    ],
)
def test_invalid_setting_is_reported_with_its_name_and_value(check):
    with pytest.raises(InputError) as caught:
        check()
    assert caught.value.facts["setting"] == "side"
    assert caught.value.facts["got"] in (2.5, True, 0, 9, "wide", "middle")


def test_wording_of_settings(message):
    for name, check in {
        "setting-range": lambda: check_integer("threads", 0, at_least=1),
        "setting-choice": lambda: check_choice("borders", "black", ("full", "crop")),
    }.items():
        with pytest.raises(InputError) as caught:
            check()
        message(name, str(caught.value))


def test_array_of_frames_is_not_copied():
    frames = np.zeros((2, 13, 17, 3), np.uint8)
    assert frames_array(frames) is frames


@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_sequence_of_frames_is_stacked(rng, kind):
    frames = rng.random((3, 13, 17))
    np.testing.assert_array_equal(frames_array(kind(list(frames))), frames)


@pytest.mark.parametrize("frames", [[], [GREY], GREY[None]], ids=["none", "list of one", "array of one"])
def test_fewer_than_two_frames_are_rejected(frames):
    assert rejected(frames).facts == {"frames": len(frames), "needed": 2}


@pytest.mark.parametrize(
    ("frames", "shape"),
    [
        (GREY, (13, 17)),
        (np.zeros((2, 2, 13, 17, 3)), (2, 2, 13, 17, 3)),
        ([GREY[0], GREY[0]], (17,)),
        ([GREY[:0], GREY[:0]], (0, 17)),
        (np.zeros((2, 13, 0)), (13, 0)),
        (np.zeros((15, 3, 38, 38), np.uint8), (3, 38, 38)),  # channels in the second axis
        (np.zeros((2, 30, 300, 65), np.uint8), (30, 300, 65)),
    ],
)
def test_unsupported_shape_is_rejected(frames, shape):
    assert rejected(frames).facts["got"] == shape


def test_wording_of_frames(message):
    message("frames-channel-axis", str(rejected(np.zeros((15, 3, 384, 384), np.uint8))))
    message("frames-size", str(rejected([GREY, GREY[:, :15]])))
    message("frames-dtype", str(rejected([GREY, GREY.astype(np.uint16)])))


def test_something_else_than_arrays_is_rejected():
    assert rejected(7).facts["setting"] == "frames"


@pytest.mark.parametrize(
    "other",
    [
        GREY[:, :15],
        COLOUR,
        np.zeros((13, 17, 7), np.uint8),
        GREY.astype(np.uint16),
        GREY.astype(int),
    ],
    ids=["size", "colour", "channels", "dtype", "unsupported dtype"],
)
def test_frame_unlike_the_first_is_named(other):
    assert rejected([GREY, GREY, other]).facts["file"] == "frame 2"


def test_masked_values_are_rejected(rng):
    frames = np.ma.array(rng.random((2, 13, 17)))
    np.testing.assert_array_equal(frames_array(frames), frames.data)
    np.testing.assert_array_equal(frames_array(list(frames)), frames.data)
    frames[1, 3, 4] = np.ma.masked
    rejected(frames)
    assert rejected(list(frames)).facts["file"] == "frame 1"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_invalid_values_are_rejected(value, dtype):
    frames = np.zeros((3, 13, 17), dtype)
    frames[2, 12, 16] = value
    assert rejected(frames).facts["file"] == "frame 2"


def test_values_are_read_once_per_frame(monkeypatch):
    read = []
    monkeypatch.setattr("panfocus._checks.largest_magnitude", lambda frames, k: read.append(k) or 1.0)
    frames_array(np.ones((3, 13, 17)))
    assert read == [0, 1, 2]


def test_array_on_disk_is_read_in_bands(monkeypatch):
    class OnDisk:
        shape, dtype, ndim = (3, 13, 17), np.dtype(np.float32), 3
        keys = ()

        def __len__(self):
            return 3

        def __iter__(self):
            raise AssertionError("all frames at once")

        def __getitem__(self, key):
            self.keys += (key,)
            k, rows, cols = key
            return np.full((13, 17), np.nan if k == 2 else 0.5, np.float32)[rows, cols]

    frames = OnDisk()
    assert rejected(frames).facts["file"] == "frame 2"
    assert [k for k, *_ in frames.keys] == [0, 1, 2]
    monkeypatch.setattr("panfocus._checks.BAND_VALUES", 5 * 17)
    frames.keys = ()
    assert rejected(frames).facts["file"] == "frame 2"
    assert [rows for k, rows, _ in frames.keys if k == 0] == [slice(0, 5), slice(5, 10), slice(10, 13)]
    frames.dtype, frames.keys = np.dtype(np.uint8), ()
    assert frames_array(frames) is frames
    assert frames.keys == ()  # integers are always finite
