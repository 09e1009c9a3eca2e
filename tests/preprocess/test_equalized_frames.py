"""Exposure correction of frames when they are read: known values, parts, dtypes."""

import numpy as np
import pytest

import panfocus as pf
from panfocus._intensity import IntensityScale
from panfocus.io.disk_array import scratch_frames
from panfocus.methods import get_method
from panfocus.preprocess.exposure import EqualizedFrames, ToneCurve, measure_exposure
from panfocus.stack import Frames, part_of
from panfocus.tiling.tiled import run_method
from textures import as_bytes, texture


def equalize(values, gain, reference, dtype):
    """Return one row of grey values corrected by a gain, with a row of the reference."""
    frames = np.array([[reference], [values]], dtype)
    return EqualizedFrames(
        frames, np.array([[1.0], [gain]]), 0, ToneCurve(IntensityScale.of(frames.dtype).white)
    )[1][0]


def test_integers_are_rounded_and_clipped_at_white():
    np.testing.assert_array_equal(
        equalize([0, 1, 7, 100, 203, 204, 254], 1.25, [0] * 7, np.uint8), [0, 1, 9, 125, 254, 255, 255]
    )
    np.testing.assert_array_equal(equalize([4000, 60000], 1.25, [0, 0], np.uint16), [5000, 65535])


def test_clipped_value_becomes_the_reference_but_at_least_white_times_gain():
    # White times 0.8 is 204: the light was at least that.
    np.testing.assert_array_equal(
        equalize([255, 255, 255, 254], 0.8, [90, 230, 255, 255], np.uint8), [204, 230, 255, 203]
    )
    np.testing.assert_array_equal(equalize([255], 1.25, [90], np.uint8), [255])


def test_clipped_channel_follows_the_other_channels():
    """Times 0.8, green and blue are 160 and 80: on average 8 above the reference, then 8 below."""
    frames = np.array([[[[210, 150, 74], [230, 167, 89]]], [[[255, 200, 100]] * 2]], np.uint8)
    result = EqualizedFrames(frames, np.array([[1.0] * 3, [0.8] * 3]), 0, ToneCurve(255))[1][0]
    np.testing.assert_array_equal(result, [[218, 160, 80], [222, 160, 80]])
    frames[0, 0, :, 0] = 250, 205  # limited to white and to white times 0.8
    result = EqualizedFrames(frames, np.array([[1.0] * 3, [0.8] * 3]), 0, ToneCurve(255))[1][0]
    np.testing.assert_array_equal(result[:, 0], [255, 204])


def test_srgb_values_follow_the_light():
    """Compared with the formula of the standard: exact from 0.04045 on, approximate below."""
    values = np.arange(256) / 255
    light = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    for factor in (0.7, 0.8, 1.3):
        grown = factor * light
        coded = np.where(grown <= 0.0031308, 12.92 * grown, 1.055 * grown ** (1 / 2.4) - 0.055)
        gain = np.array([factor ** (1 / 2.4)])
        found = ToneCurve.srgb(255).multiply(np.arange(256)[:, None], gain)[:, 0]
        np.testing.assert_allclose(found, 255 * coded, atol=0.35)
        np.testing.assert_allclose(found[15:], 255 * coded[15:], atol=0.02)
        assert found[0] == 0
        assert np.all(np.diff(found) > 0)


def test_12_bit_white_stays_white():
    frames = np.array([[[4095, 4000, 900]], [[4095, 4095, 1000]]], np.uint16)
    corrected = EqualizedFrames(frames, np.array([[1.0], [0.9]]), 0, ToneCurve(4095))[1][0]
    np.testing.assert_array_equal(corrected, [4095, 4000, 900])
    brighter = EqualizedFrames(frames, np.array([[1.0], [1.2]]), 0, ToneCurve(4095))[1][0]
    np.testing.assert_array_equal(brighter, [4095, 4095, 1200])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_not_clipped(dtype):
    result = equalize([0.5, 0.9, 1.0, 3.0], 1.25, [0.2] * 4, dtype)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, [0.625, 1.125, 1.0, 3.75], rtol=1e-6)


def test_alpha_and_frames_with_gain_1_stay_unchanged():
    frames = np.random.default_rng(0).integers(0, 255, (3, 9, 11, 4), np.uint8)
    view = EqualizedFrames(frames, np.array([[1.0] * 3, [0.5] * 3, [1.0] * 3]), 0, ToneCurve(255))
    np.testing.assert_array_equal(view[:][[0, 2]], frames[[0, 2]])
    np.testing.assert_array_equal(view[1][..., 3], frames[1][..., 3])
    np.testing.assert_array_equal(view[1][..., :3], np.rint(frames[1][..., :3] / 2))


@pytest.mark.parametrize("channels", [(), (3,)])
def test_parts_equal_the_whole(channels):
    frames = np.random.default_rng(1).integers(0, 256, (4, 20, 30, *channels), np.uint8)
    gains = np.random.default_rng(2).uniform(0.8, 1.2, (4, *(channels or (1,))))
    view = EqualizedFrames(frames, gains, 2, ToneCurve(255))
    whole = np.stack([view[k] for k in range(4)])
    assert isinstance(view, Frames)
    np.testing.assert_array_equal(view[:], whole)
    np.testing.assert_array_equal(view[1:3, 4:9, 2:25], whole[1:3, 4:9, 2:25])
    np.testing.assert_array_equal(view[3, 4:9, 2:25], whole[3, 4:9, 2:25])
    part = part_of(view, slice(3, 15), slice(5, 20))
    np.testing.assert_array_equal(part[:, slice(1, 4), slice(2, 6)], whole[:, 4:7, 7:11])


@pytest.mark.parametrize("method", ["panfocus", "dwt", "pca"])
def test_frames_on_disk_and_tiles_give_the_same_bits(method):
    frames = np.stack([as_bytes(gain * (0.2 + 0.6 * texture((420, 90)))) for gain in (1.0, 0.85, 1.1)])
    expected = pf.fuse(frames, method)
    assert expected.report["exposure"]["gains"][1] != [1.0]
    with scratch_frames(frames.shape, frames.dtype) as on_disk:
        for k, frame in enumerate(frames):
            on_disk[k] = frame
        result = pf.fuse(on_disk, method, threads=1)
        np.testing.assert_array_equal(result.image, expected.image)
        if method == "panfocus":
            view = measure_exposure(on_disk).correct(on_disk)
            tiled = run_method(get_method(method), view, side=150)
            np.testing.assert_array_equal(tiled.image, expected.image)
