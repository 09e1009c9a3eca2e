"""Means, variances and similarity in sliding windows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.ndimage import correlate1d, sobel

from panfocus.metrics._images import Grey, Part, Plane, UndefinedError, sum_bands
from panfocus.metrics._kernel_numba import valid_filter

# Variances below this are 0. In a constant window E[x^2] - E[x]^2 is about 1e-12 by rounding, and a quotient
# of such numbers is noise. The smallest true variance of 8-bit images is 4 orders of magnitude larger.
FLAT = 1e-6


class Statistics(NamedTuple):
    """Means, variances and covariance of two images, window by window."""

    mean_x: Plane
    mean_y: Plane
    var_x: Plane
    var_y: Plane
    cov: Plane


def gaussian(side: int, sigma: float) -> Plane:
    """Return the taps of a Gaussian window of `side` pixels; they sum to one."""
    offsets = np.arange(side) - (side - 1) / 2
    taps = np.exp(-(offsets**2) / (2 * sigma**2))
    return np.asarray(taps / taps.sum())


def box(side: int) -> Plane:
    """Return the taps of a uniform window of `side` pixels; they sum to one."""
    return np.full(side, 1 / side)


def window_means(plane: Plane, taps: Plane) -> Plane:
    """Return the means of all windows inside the plane; each axis is shorter by len(taps) - 1."""
    means: Plane = valid_filter(np.ascontiguousarray(plane), taps)
    return means


def zero_padded_filter(plane: Plane, taps: Plane) -> Plane:
    """Correlate with the taps along columns and rows, with zeros outside the plane."""
    for axis in (0, 1):
        plane = correlate1d(plane, taps, axis=axis, mode="constant")
    return plane


def check_size(image: Grey, side: int, metric: str) -> None:
    """Raise if the image is smaller than a window of `side` pixels."""
    height, width = image.shape
    if min(height, width) < side:
        raise UndefinedError(
            f"{metric} needs images of at least {side} x {side} pixels, got {width} x {height}.",
            needed=side,
            got=image.shape,
        )


def sum_windows(part: Callable[[slice], Part], image: Grey, side: int, metric: str) -> tuple[Part, int]:
    """Return the sum of `part` over bands of windows inside the image, and the number of windows.

    `part` gets the rows of the image that a band of windows covers.
    """
    check_size(image, side, metric)
    height, width = (length - side + 1 for length in image.shape)
    total = sum_bands(lambda band: part(slice(band.start, band.stop + side - 1)), (height, width))
    return total, height * width


def squared_sobel(plane: Plane) -> Plane:
    """Return the squared Sobel magnitude (weights 1, 2, 1, not divided), with the border repeated."""
    gx, gy = (sobel(plane, axis=axis, mode="nearest") for axis in (1, 0))
    return np.asarray(gx * gx + gy * gy)


def window_statistics(x: Plane, y: Plane, taps: Plane, *, flat: float = FLAT) -> Statistics:
    """Return the statistics of all windows. A variance below `flat`, and its covariances, become 0."""
    mean_x, mean_y = window_means(x, taps), window_means(y, taps)
    var_x = window_means(x * x, taps) - mean_x * mean_x
    var_y = window_means(y * y, taps) - mean_y * mean_y
    cov = window_means(x * y, taps) - mean_x * mean_y
    flat_x, flat_y = var_x < flat, var_y < flat
    var_x[flat_x], var_y[flat_y], cov[flat_x | flat_y] = 0, 0, 0
    return Statistics(mean_x, mean_y, var_x, var_y, cov)


def local_ssim(s: Statistics, c: float) -> Plane:
    """Return the SSIM of each window with C1 = C2 = c.

    With c = 0 it is the universal quality index; 0 / 0 is 1.
    """
    luminance = _quotient(2 * s.mean_x * s.mean_y + c, s.mean_x**2 + s.mean_y**2 + c)
    return luminance * _quotient(2 * s.cov + c, s.var_x + s.var_y + c)


def normalize_weights(weights: Plane) -> Plane:
    """Divide weights (k, ...) by their sum over the first axis; weights are equal where the sum is 0."""
    whole = weights.sum(axis=0)
    equal = np.full_like(weights, 1 / len(weights))
    return np.asarray(np.divide(weights, whole, out=equal, where=whole != 0))


def _quotient(part: Plane, whole: Plane) -> Plane:
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)
