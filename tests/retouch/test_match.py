"""Gains that match the brightness of a painted frame to its surroundings."""

import numpy as np
import pytest

from panfocus.retouch import Stroke, Strokes, paint_strokes, with_gains

SIDE = 128


def scene(dtype=np.uint16):
    """Return an image and a frame of it, multiplied by a known factor per channel."""
    rng = np.random.default_rng(3)
    light = rng.uniform(0.2, 0.6, (SIDE, SIDE, 3))
    factors = np.array([0.8, 0.9, 1.25])
    white = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1
    frames = np.stack([light, light * factors]) * white
    return frames.astype(dtype), 1 / factors


def strokes_of(*strokes):
    return Strokes(SIDE, SIDE, 2, strokes)


def dab(radius=20.0, **more):
    return Stroke(1, ((60.0, 64.0), (62.0, 70.0)), radius, match=True, **more)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("radius", [1.0, 20.0, 500.0])
def test_known_gains_are_found(dtype, radius):
    frames, expected = scene(dtype)
    (stroke,) = with_gains(strokes_of(dab(radius)), frames[0], frames).strokes
    np.testing.assert_allclose(stroke.gain, expected, rtol=0.01)
    assert not stroke.match


def test_outliers_under_the_stroke_are_ignored():
    frames, expected = scene()
    frames[0, 50:74, 56:80] //= 8  # the error that the stroke corrects
    (stroke,) = with_gains(strokes_of(dab()), frames[0], frames).strokes
    np.testing.assert_allclose(stroke.gain, expected, rtol=0.01)


def test_clipped_and_black_blocks_are_ignored():
    frames, expected = scene()
    frames[0, :, :60] = 65535
    frames[1, :56] = 3
    (stroke,) = with_gains(strokes_of(dab(40.0)), frames[0], frames).strokes
    np.testing.assert_allclose(stroke.gain, expected, rtol=0.01)


def test_gains_are_limited_to_0_5_and_2():
    frames = np.full((2, SIDE, SIDE), 100, np.uint8)
    for value, gain in ((10, 2.0), (250, 0.5)):
        frames[1] = value
        (stroke,) = with_gains(strokes_of(dab()), frames[0], frames).strokes
        assert stroke.gain == (gain,)


def test_gain_is_1_without_usable_blocks():
    frames = np.full((2, SIDE, SIDE), 255, np.uint8)
    outside = Stroke(1, ((-500.0, -500.0),), 3.0, match=True)
    assert [s.gain for s in with_gains(strokes_of(dab(), outside), frames[0], frames).strokes] == [(1.0,)] * 2


def test_image_below_includes_earlier_strokes():
    frames, expected = scene()
    before = Stroke(1, ((64.0, 64.0),), 90.0)  # all is the frame already
    _, stroke = with_gains(strokes_of(before, dab()), frames[0], frames).strokes
    assert stroke.gain == (1.0, 1.0, 1.0)
    assert max(abs(expected - 1)) > 0.1


def test_strokes_without_match_stay_unchanged():
    frames, _ = scene()
    given = strokes_of(Stroke(1, ((1.0, 1.0),), 2.0), Stroke(1, ((1.0, 1.0),), 2.0, gain=(1.0, 2.0, 3.0)))
    assert with_gains(given, frames[0], frames) == given


def test_matched_stroke_leaves_no_step():
    frames, _ = scene()
    done = with_gains(strokes_of(dab()), frames[0], frames)
    smooth = paint_strokes(frames[0], frames, done.strokes)
    # The frame is the picture times a factor, so only the rounding of the gain remains.
    assert np.abs(smooth.astype(float) / frames[0] - 1).max() < 0.005
