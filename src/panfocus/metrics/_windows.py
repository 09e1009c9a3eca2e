"""Weighted means in windows, as the local metrics take them."""

import numpy as np
from scipy.ndimage import correlate1d

from panfocus.metrics._inputs import Plane


def gaussian(side: int, sigma: float) -> Plane:
    """Taps of a Gaussian window of `side` pixels; they sum to one."""
    offsets = np.arange(side) - (side - 1) / 2
    taps = np.exp(-(offsets**2) / (2 * sigma**2))
    return np.asarray(taps / taps.sum())


def box(side: int) -> Plane:
    """Taps of a uniform window of `side` pixels; they sum to one."""
    return np.full(side, 1 / side)


def windowed(plane: Plane, taps: Plane) -> Plane:
    """Means of all windows that lie within the plane: an array smaller by len(taps) - 1 on each axis."""
    height, width = plane.shape
    first, lost = len(taps) // 2, len(taps) - 1
    down: Plane = correlate1d(plane, taps, axis=0, mode="constant")[first : first + height - lost]
    across: Plane = correlate1d(down, taps, axis=1, mode="constant")[:, first : first + width - lost]
    return across
