"""Means, variances and likeness in windows, as the local metrics take them."""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import sobel

from panfocus.metrics._bands import Band
from panfocus.metrics._inputs import Grey, Plane, UndefinedError
from panfocus.metrics._kernel_numba import valid_filter

# In a window that is constant, E[x^2] - E[x]^2 is rounding of about 1e-12 instead of 0, and a quotient of
# such numbers is noise. The smallest true variance of 8-bit images is 4 orders above this.
FLAT = 1e-6


class Statistics(NamedTuple):
    """Means, variances and covariance of two images, window by window."""

    mean_x: Plane
    mean_y: Plane
    var_x: Plane
    var_y: Plane
    cov: Plane


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
    means: Plane = valid_filter(np.ascontiguousarray(plane), taps)
    return means


def valid_shape(image: Grey, side: int, metric: str) -> tuple[int, int]:
    """Rows and columns of windows that lie within the image; refused if there are none."""
    height, width = image.shape
    if min(height, width) < side:
        raise UndefinedError(
            f"{metric} needs at least {side} x {side} pixels, the images are {width} x {height}"
        )
    return height - side + 1, width - side + 1


def under(band: Band, side: int) -> slice:
    """Rows of the image that lie under a band of windows."""
    return slice(band.inner.start, band.inner.stop + side - 1)


def squared_sobel(plane: Plane) -> Plane:
    """Squared Sobel magnitude (weights 1, 2, 1, not divided), with the border repeated."""
    gx, gy = (sobel(plane, axis=axis, mode="nearest") for axis in (1, 0))
    return np.asarray(gx * gx + gy * gy)


def statistics(x: Plane, y: Plane, taps: Plane, *, flat: float = FLAT) -> Statistics:
    """Statistics of all windows within the planes. A variance below `flat`, and covariances with it, is 0."""
    mean_x, mean_y = windowed(x, taps), windowed(y, taps)
    var_x = windowed(x * x, taps) - mean_x * mean_x
    var_y = windowed(y * y, taps) - mean_y * mean_y
    cov = windowed(x * y, taps) - mean_x * mean_y
    flat_x, flat_y = var_x < flat, var_y < flat
    var_x[flat_x], var_y[flat_y], cov[flat_x | flat_y] = 0, 0, 0
    return Statistics(mean_x, mean_y, var_x, var_y, cov)


def likeness(s: Statistics, c: float) -> Plane:
    """SSIM of each window with C1 = C2 = c. With c = 0 it is the universal quality index; 0 / 0 is 1."""
    luminance = _quotient(2 * s.mean_x * s.mean_y + c, s.mean_x**2 + s.mean_y**2 + c)
    return luminance * _quotient(2 * s.cov + c, s.var_x + s.var_y + c)


def shares(weights: Plane) -> Plane:
    """Weights (k, ...) as parts of their sum over the first axis; equal parts where the sum is 0."""
    whole = weights.sum(axis=0)
    equal = np.full_like(weights, 1 / len(weights))
    return np.asarray(np.divide(weights, whole, out=equal, where=whole != 0))


def _quotient(part: Plane, whole: Plane) -> Plane:
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)
