from itertools import pairwise

import numpy as np
import pytest
from scipy.ndimage import correlate1d, gaussian_filter, uniform_filter

from panfocus.decide.reblur import DOUBT, FLOOR, GAIN, WINDOW, estimate_noise, log_odds, log_odds_reach


def texture(shape=(90, 110, 3), seed=5):
    """Return a texture with detail at every scale, in levels of 255."""
    rng = np.random.default_rng(seed)
    layers = [s * gaussian_filter(rng.normal(size=shape), (s, s, 0)) for s in (0.7, 1.5, 3.0, 6.0)]
    return (128 + 60 * np.sum(layers, axis=0)).astype(np.float32)


def blurred(frame, width):
    return gaussian_filter(frame, (width, width, 0))


def between(a, b, *, noise):
    """Return the log odds of two frames (h, w, c)."""
    (odds,) = log_odds([np.ascontiguousarray(np.moveaxis(frame, 2, 0)) for frame in (a, b)], noise=noise)
    return odds


@pytest.mark.parametrize("width", [0.7, 1.5, 2.5, 5.0])
def test_frame_that_reproduces_the_other_when_blurred_is_sharper(width):
    sharp = texture()
    soft = blurred(sharp, width)
    odds, other = between(soft, sharp, noise=0.0), between(sharp, soft, noise=0.0)
    assert np.mean(odds.regional > 0) > 0.97
    assert np.mean(odds.single > 0) > 0.97
    np.testing.assert_array_equal(other.regional, -odds.regional)
    np.testing.assert_array_equal(other.single, -odds.single)
    np.testing.assert_array_equal(other.doubt, odds.doubt)


def test_less_blurred_of_two_blurred_frames_is_sharper():
    sharp = texture()
    for odds in between(blurred(sharp, 3.0), blurred(sharp, 2.0), noise=0.0)[:2]:
        assert np.mean(odds > 0) > 0.9


@pytest.mark.parametrize(("contrast", "least", "most"), [(1.5, 0.9, 1.0), (2.0, 0.5, 0.75), (3.0, 0.1, 0.4)])
def test_sharp_frame_wins_at_lower_contrast_but_not_at_a_third(contrast, least, most):
    # Known limit: no blur restores contrast. Below about half of the contrast, that error outweighs fine
    # detail.
    sharp = texture()
    odds = between(blurred(sharp, 2.0), 128 + (sharp - 128) / contrast, noise=0.0)
    assert least < np.mean(odds.regional > 0) < most


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_log_odds_of_flat_areas_are_near_zero(level):
    rng = np.random.default_rng(6)
    a, b = (np.full((60, 60, 3), 100, np.float32) + level * rng.normal(size=(60, 60, 3)) for _ in range(2))
    for odds in between(a.astype(np.float32), b.astype(np.float32), noise=level)[:2]:
        assert np.abs(odds).max() < 1.5  # odds of at most 1 : 4.5 at any of 3600 pixels
        assert abs(odds.mean()) < 0.02


@pytest.mark.parametrize("noise", [0.0, 5.0])
def test_log_odds_match_a_float64_reference(noise):
    # An independent implementation with SciPy's filters: widths of 0.7, 1.5, 3 and 6 px in succession, cut
    # off at twice the added width; the wider ones use every second and third pixel.
    a, b = texture(seed=8), blurred(texture(seed=8), 1.3) + texture(seed=9) / 20

    def with_holes(width, radius, step):
        weights = np.zeros(2 * radius + 1)
        weights[::step] = np.exp(-(np.arange(-radius, radius + 1, step) ** 2) / (2 * width**2))
        return weights / weights.sum()

    def error(sharp, soft):
        attempts, again = [], sharp.astype(np.float64)
        for variance, radius, step in ((0.49, 2, 1), (1.76, 3, 1), (6.75, 6, 2), (27.0, 12, 3)):
            for axis in (0, 1):
                again = correlate1d(again, with_holes(variance**0.5, radius, step), axis=axis)
            attempts.append(((again - soft) ** 2).mean(axis=2))
        best = np.argmin([uniform_filter(attempt, 15) for attempt in attempts], axis=0)
        least = np.take_along_axis(np.array(attempts), best[None], axis=0)[0]
        window = np.hypot(WINDOW, 0.2 * noise)
        return gaussian_filter(least, window, radius=int(np.ceil(3 * window)))

    either, other = error(a, b), error(b, a)
    doubt = DOUBT * np.maximum(gaussian_filter(np.minimum(either, other), 5, radius=10) - noise**2, 0)
    actual = between(a, b, noise=noise)
    np.testing.assert_allclose(actual.doubt, doubt / (doubt + 1000), atol=1e-3)
    for odds, more in ((actual.regional, 0), (actual.single, doubt)):
        expected = GAIN * np.log((either + FLOOR + more) / (other + FLOOR + more))
        assert np.quantile(np.abs(odds - expected), 0.999) < 1e-3  # except for ties between blurs


def test_log_odds_of_a_stack_equal_those_of_its_pairs():
    frames = [blurred(texture(), width) for width in (0.5, 1.0, 3.0, 2.0)]
    of_stack = log_odds([np.ascontiguousarray(np.moveaxis(frame, 2, 0)) for frame in frames], noise=1.0)
    for odds, pair in zip(of_stack, pairwise(frames), strict=True):
        np.testing.assert_array_equal(odds, between(*pair, noise=1.0))


def test_differences_that_no_blur_explains_cause_doubt():
    # Two different scenes: neither is a blurred version of the other.
    odds = between(texture(seed=8), texture(seed=9), noise=0.0)
    assert np.abs(odds.regional).mean() > 2
    assert np.abs(odds.single).mean() < np.abs(odds.regional).mean() / 2
    assert odds.doubt.min() > 0.3


def test_reach_covers_all_pixels_that_matter():
    a, b = texture(), blurred(texture(), 2.0)
    reach = log_odds_reach(0.0)
    changed = b.copy()
    changed[:, 100:] += 40
    difference = np.not_equal(between(a, changed, noise=0.0), between(a, b, noise=0.0)).any(axis=0)
    first = np.flatnonzero(difference.any(axis=0))[0]
    assert 100 - reach <= first < 100


@pytest.mark.parametrize("level", [1.0, 5.0])
def test_noise_is_estimated_despite_edges(level):
    rng = np.random.default_rng(7)
    picture = 100 * (gaussian_filter(rng.normal(size=(200, 200)), 20) > 0)
    noisy = (picture + rng.normal(0, level, picture.shape)).astype(np.float32)
    assert estimate_noise([noisy]) == pytest.approx(level, rel=0.1)


def test_noise_of_a_tiny_image_is_zero():
    assert estimate_noise([np.zeros((2, 9), np.float32)]) == 0
