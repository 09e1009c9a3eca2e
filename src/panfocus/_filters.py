"""Filters that leave a map as large as it is; beyond its borders it is mirrored."""

import math

import numpy as np

from panfocus._float import FloatArray
from panfocus._kernel_filters import filter_both_ways


def gaussian(width: float, *, cut: float = 3.0) -> FloatArray:
    """Weights of a Gaussian with a standard deviation of `width` pixels, cut off at `cut` times that."""
    radius = math.ceil(cut * width)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / width) ** 2)
    return np.asarray(weights / weights.sum(), np.float32)


def box(side: int) -> FloatArray:
    """Weights of a mean over an odd number of pixels."""
    return np.full(side, 1 / side, np.float32)


def reach(weights: FloatArray) -> int:
    """Pixels to each side that a filter looks at."""
    return len(weights) // 2


def filtered(planes: FloatArray, weights: FloatArray) -> FloatArray:
    """Correlate float32 planes (h, w) or (h, w, c) with the weights, down and across.

    A pixel far enough from the borders depends on what is around it alone, bit for bit.
    """
    margin = (reach(weights), reach(weights))
    stacked = planes.reshape(*planes.shape[:2], -1)
    extended = np.ascontiguousarray(np.pad(stacked, (margin, margin, (0, 0)), mode="symmetric"))
    result = np.empty(stacked.shape, stacked.dtype)
    filter_both_ways(extended, weights, result)
    return result.reshape(planes.shape)
