"""Separable filters with mirrored borders."""

import math
from typing import NamedTuple

import numpy as np

from panfocus._intensity import FloatArray
from panfocus._kernel_filters import AT_ONCE, filter_both_ways, largest_in_columns, largest_in_rows


class Filter(NamedTuple):
    """An odd number of weights, `step` pixels apart, centred on the pixel.

    Maps that are smooth already can be filtered with larger steps for a fraction of the work.
    """

    weights: FloatArray
    step: int = 1


def gaussian(width: float, *, cut: float = 3.0, step: int = 1) -> Filter:
    """Return a Gaussian with a standard deviation of `width` pixels, cut off at `cut` times that."""
    radius = math.ceil(cut * width / step)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) * step / width) ** 2)
    return Filter(np.asarray(weights / weights.sum(), np.float32), step)


def box(side: int, *, step: int = 1) -> Filter:
    """Return the mean over an odd number of pixels."""
    return Filter(np.full(side, 1 / side, np.float32), step)


def reach(*filters: Filter) -> int:
    """Return the pixels on each side that a sequence of filters reads."""
    return sum(len(weights) // 2 * step for weights, step in filters)


def filtered(planes: FloatArray, *filters: Filter) -> FloatArray:
    """Correlate planes (h, w) or (h, w, c) with the filters, one after the other, along both axes.

    Away from the borders, a pixel depends only on its surroundings, bit for bit.
    """
    for one in filters:
        result = np.empty(planes.shape, planes.dtype)
        filter_into(planes, one, result)
        planes = result
    return planes


def filtered_rows(plane: FloatArray, one: Filter, rows: slice) -> FloatArray:
    """Return some rows of a filtered plane (h, w)."""
    result = np.empty((rows.stop - rows.start, plane.shape[1]), plane.dtype)
    filter_into(plane, one, result, top=rows.start)
    return result


def filter_into(planes: FloatArray, one: Filter, out: FloatArray, *, top: int = 0) -> None:
    """Write rows of filtered planes (h, w) or (h, w, c), from `top` on, to a contiguous array."""
    weights, step = one
    n = len(weights) % AT_ONCE
    stacked = np.ascontiguousarray(planes.reshape(*planes.shape[:2], -1))
    filter_both_ways(stacked, tuple(weights[:n]), weights[n:], step, top, out.reshape(*out.shape[:2], -1))


def largest_around(plane: FloatArray, radius: int) -> FloatArray:
    """Return the largest value of a plane (h, w) within `radius` rows and columns of each pixel."""
    across, both = np.empty_like(plane), np.empty_like(plane)
    largest_in_rows(plane, radius, across)
    largest_in_columns(across, radius, both)
    return both
