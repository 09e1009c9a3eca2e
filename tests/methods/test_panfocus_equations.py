"""Compare the method with steps 1 to 5 of docs/panfocus-method.md in float64, with SciPy's filters."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.ndimage import correlate1d, gaussian_filter, uniform_filter

import panfocus as pf
from panfocus.decide.gray import to_gray
from panfocus.simulate import apply_defocus

SHAPE = (120, 150)


def smoothed(plane, width, *, cut, step=1):
    """Apply a Gaussian on every `step`th pixel, cut off at the first one at `cut` widths or beyond."""
    places = np.arange(-np.ceil(cut * width / step), np.ceil(cut * width / step) + 1) * step
    weights = np.zeros(int(places[-1] - places[0]) + 1)
    weights[::step] = np.exp(-(places**2) / (2 * width**2))
    for axis in (0, 1):
        plane = correlate1d(plane, weights / weights.sum(), axis=axis)
    return plane


def reblur_error(sharp, soft, noise):
    """Return E of step 2 without its floor: the error of the best width over 15 x 15 pixels."""
    attempts, width_before = [], 0.0
    for width, step in ((0.7, 1), (1.5, 1), (3.0, 2), (6.0, 3)):
        added = np.sqrt(width**2 - width_before**2)
        sharp = np.stack([smoothed(plane, added, cut=2, step=step) for plane in sharp])
        attempts.append(np.mean((sharp - soft) ** 2, axis=0))
        width_before = width
    best = np.argmin([uniform_filter(attempt, 15) for attempt in attempts], axis=0)
    error = np.take_along_axis(np.array(attempts), best[None], axis=0)[0]
    return smoothed(error, np.sqrt(0.6**2 + (0.2 * noise) ** 2), cut=3)


def chances(log_odds):
    """Return P of step 3."""
    likelihoods = np.exp(np.concatenate([np.zeros((1, *SHAPE)), np.cumsum(log_odds, axis=0)]))
    return likelihoods / likelihoods.sum(axis=0)


def reference(frames, noise):
    """Return image, labels, confidence and depth."""
    grays = [to_gray(frame) for frame in frames]
    dark = min(np.percentile(gray, 0.1) for gray in grays)
    span = max(np.percentile(gray, 99.9) for gray in grays) - dark
    levels = [255 * (np.moveaxis(frame.astype(np.float64), 2, 0) - dark) / span for frame in frames]
    of_pixels, nearby, of_surroundings, shares_of_doubt = [], [], [], []
    for a, b in pairwise(levels):
        ab, ba = reblur_error(a, b, noise) + 4, reblur_error(b, a, noise) + 4
        regional = 4 * np.log(ab / ba)
        doubt = 2 * np.maximum(smoothed(np.minimum(ab, ba), 5, cut=2) - 4 - noise**2, 0)
        narrow = smoothed(np.clip(regional, -8, 8), 3, cut=2)
        wider, widest = (
            smoothed(narrow, np.sqrt(width**2 - 3**2), cut=2, step=step) for width, step in ((8, 3), (20, 6))
        )
        shares_of_doubt.append(doubt / (doubt + 1000))
        share = 0.1 + 0.5 * shares_of_doubt[-1]
        of_pixels.append(4 * np.log((ab + doubt) / (ba + doubt)) + share * (narrow + wider))
        nearby.append(narrow + wider)
        of_surroundings.append(narrow + wider + widest)
    nearby = np.rint(np.array(nearby) * 127 / 16) * 16 / 127
    others = 1 - (chances(nearby / 2)[:-1] + chances(nearby / 2)[1:])
    others[:, np.max(shares_of_doubt, axis=0) <= 51.5 / 255] = 0
    of_pixels = (1 - others) * of_pixels + others * nearby
    weights = [0.9 * smoothed(p, 0.5, cut=3) + 0.1 * smoothed(p, 5, cut=2) for p in chances(of_pixels)]
    around = np.stack([smoothed(q, 15, cut=2, step=3) for q in chances(of_surroundings)])
    coupled = np.array(of_surroundings) + 4 * np.diff(around, axis=0)
    likely = chances(coupled / 3)
    labels = likely.argmax(axis=0)
    ends = np.full((1, *SHAPE), 3.0)
    rising, falling = (
        np.take_along_axis(odds, labels[None], axis=0)[0]
        for odds in (np.concatenate([ends, coupled]), np.concatenate([-coupled, ends]))
    )
    depth = np.clip(labels - 0.5 + rising / (rising + falling), 0, len(frames) - 1)
    assert np.any(others > 0.5)
    return np.einsum("nhw,nhwc->hwc", weights, frames), labels, likely.max(axis=0), depth


def stack(noise):
    """Return three float frames of a slope, with low contrast at the top and a moving object."""
    rng = np.random.default_rng(3)
    of_widths = [w * gaussian_filter(rng.normal(size=(*SHAPE, 3)), (w, w, 0)) for w in (0.7, 1.5, 4)]
    sharp = 0.5 + 0.2 * np.sum(of_widths, axis=0)
    sharp[:50] = 0.5 + 0.06 * (sharp[:50] - 0.5)
    blurs = [
        np.stack([apply_defocus(plane, radius) for plane in np.moveaxis(sharp, 2, 0)], axis=2)
        for radius in np.arange(0, 4.5, 0.5)
    ]
    frames = []
    for focus in range(3):
        radii = 1.6 * np.abs(np.linspace(-0.3, 2.3, SHAPE[1]) - focus)
        frame = np.stack([blurs[round(2 * radius)][:, col] for col, radius in enumerate(radii)], axis=1)
        frame[80:100, 40 + 12 * focus : 60 + 12 * focus] = 0.2 + 0.6 * rng.random((20, 20, 3))
        frames.append(frame + rng.normal(0, noise / 255, frame.shape))
    return np.stack(frames).astype(np.float32)


@pytest.mark.parametrize("noise", [0.5, 6.0])
def test_results_match_the_documented_equations(noise):
    frames = stack(noise)
    result = pf.fuse(frames, noise=noise)
    assert np.all(np.array(result.report["exposure"]["gains"]) == 1)
    image, labels, confidence, depth = reference(frames, noise)
    np.testing.assert_allclose(result.image, image, atol=5e-4)  # weights and doubt are quantised
    np.testing.assert_array_equal(result.labels, labels)
    np.testing.assert_allclose(result.confidence, confidence, atol=1e-4)  # ties between two widths
    np.testing.assert_allclose(result.depth, depth, atol=1e-3)
    # The test covers every frame, certain and uncertain pixels, and depths between frames.
    assert np.bincount(labels.ravel()).min() > 0.1 * labels.size
    assert np.mean(confidence < 0.8) > 0.1
    assert np.mean(np.abs(depth - np.rint(depth)) > 0.1) > 0.1
