"""The re-blur test in float64 with SciPy's filters, after the equations of docs/panfocus-method.md."""

from itertools import pairwise

import numpy as np
from scipy.ndimage import correlate1d, maximum_filter, uniform_filter

UNKNOWN = 1e12


def smoothed(plane, width, *, cut, step=1):
    """Apply a Gaussian on every `step`th pixel, cut off at the first one at `cut` widths or beyond."""
    places = np.arange(-np.ceil(cut * width / step), np.ceil(cut * width / step) + 1) * step
    weights = np.zeros(int(places[-1] - places[0]) + 1)
    weights[::step] = np.exp(-(places**2) / (2 * width**2))
    for axis in (0, 1):
        plane = correlate1d(plane, weights / weights.sum(), axis=axis)
    return plane


def reference_log_odds(frames, *, noise, clip=None, sections=False):
    """Return regional and single log odds and doubt (h, w) of neighbouring frames (c, h, w)."""
    frames = [frame.astype(np.float64) for frame in frames]
    return [_compare(a, b, noise, clip, sections) for a, b in pairwise(frames)]


def _compare(a, b, noise, clip, sections):
    window = np.hypot(0.6, 0.2 * noise)
    blurs_of_a, blurs_of_b = _blur(a), _blur(b)
    hidden_in_a, hidden_in_b = _find_hidden(a, clip), _find_hidden(b, clip)
    ab, ba = (smoothed(e, window, cut=3) for e in (_error(blurs_of_a, b), _error(blurs_of_b, a)))
    if hidden_in_a.any() or hidden_in_b.any():
        # Hidden light can only make a blur brighter.
        at_least_ab, at_least_ba = (
            smoothed(e, window, cut=3)
            for e in (_error(blurs_of_a, b, hidden_in_a), _error(blurs_of_b, a, hidden_in_b))
        )
        _, degree = _doubt(ab, ba, noise)
        share = np.clip((degree - 0.3) / (0.6 - 0.3), 0, 1)
        ab, ba = (1 - share) * ab + share * at_least_ab, (1 - share) * ba + share * at_least_ba
    if sections:
        details = []
        for frame, blurs, hidden in ((a, blurs_of_a, hidden_in_a), (b, blurs_of_b, hidden_in_b)):
            squares = np.mean((frame - blurs[-1]) ** 2, axis=0)
            around = maximum_filter(hidden[-1], 21)  # 10 px on each side
            details.append(smoothed(np.where(around, UNKNOWN, squares), window, cut=3))
        ab, ba = np.minimum(ab, details[1]), np.minimum(ba, details[0])
    doubt, degree = _doubt(ab, ba, noise)
    regional = 4 * np.log((ab + 4) / (ba + 4))
    by_noise = ((ab - ba) / (1.5 * (2 * noise**2 + 0.3))) ** 2
    single = 4 * np.log((ab + 4 + doubt) / (ba + 4 + doubt)) * by_noise / (by_noise + 1)
    return regional, single, degree


def _doubt(ab, ba, noise):
    doubt = 2 * np.maximum(smoothed(np.minimum(ab, ba), 5, cut=2) - noise**2, 0)
    return doubt, doubt / (doubt + 1000)


def _blur(planes):
    """Return planes (c, h, w) at widths of 0.7, 1.5, 3 and 6 px, each from the one before it."""
    blurs, before = [], 0.0
    for width, step in ((0.7, 1), (1.5, 1), (3.0, 2), (6.0, 3)):
        added = np.sqrt(width**2 - before**2)
        planes = np.stack([smoothed(plane, added, cut=2, step=step) for plane in planes])
        blurs.append(planes)
        before = width
    return blurs


def _find_hidden(frame, clip):
    """Return masks (h, w) of the pixels where clipped ones are over 5 % of a blur, for each blur."""
    clipped = np.zeros(frame.shape[1:]) if clip is None else (frame.max(axis=0) >= clip).astype(float)
    return np.array([shares[0] > 0.05 for shares in _blur(clipped[None])])


def _error(blurs, other, hidden=None):
    """Return the squared error of the best blur, chosen over 15 x 15 pixels; one-sided where `hidden`."""
    squares = []
    for k, blur in enumerate(blurs):
        difference = blur - other
        if hidden is not None:
            difference = np.where(hidden[k], np.maximum(difference, 0), difference)
        squares.append(np.mean(difference**2, axis=0))
    best = np.argmin([uniform_filter(square, 15) for square in squares], axis=0)
    return np.take_along_axis(np.array(squares), best[None], axis=0)[0]
