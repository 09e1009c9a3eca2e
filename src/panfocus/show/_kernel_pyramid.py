"""Compiled loops that halve images; apart, so that the page starts without numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]


@compiled(allocates=False)
def halve_integers(values: Array, out: Array) -> None:
    """Write means of integers (h, w, c), rounded half up; odd edges are repeated."""
    height, width, n = values.shape
    for y in range(out.shape[0]):
        above, below = 2 * y, min(2 * y + 1, height - 1)
        for x in range(out.shape[1]):
            left, right = 2 * x, min(2 * x + 1, width - 1)
            for i in range(n):
                total = (
                    np.uint32(values[above, left, i])
                    + np.uint32(values[above, right, i])
                    + np.uint32(values[below, left, i])
                    + np.uint32(values[below, right, i])
                )
                out[y, x, i] = (total + np.uint32(2)) >> np.uint32(2)


@compiled(allocates=False)
def halve_floats(values: Array, out: Array) -> None:
    """Write means of the values (h, w, c) that are not NaN; NaN if all four are."""
    height, width, n = values.shape
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for i in range(n):
                total, count = 0.0, 0
                for v in (2 * y, min(2 * y + 1, height - 1)):
                    for u in (2 * x, min(2 * x + 1, width - 1)):
                        value = values[v, u, i]
                        if not np.isnan(value):
                            total += value
                            count += 1
                out[y, x, i] = total / count if count else np.nan
