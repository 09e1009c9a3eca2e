"""Compiled loop of block statistics."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]


@compiled()
def block_statistics(planes: Array, height: int, width: int, out: Array) -> None:
    """Write mean, variance and largest value (3, rows, cols, c) of the blocks of planes (h, w, c).

    Sums are relative to the first value of each block: they stay small, and an offset does not change their
    rounding.
    """
    _, rows, cols, n = out.shape
    for row in range(rows):
        for col in range(cols):
            for c in range(n):
                first = np.float64(planes[row * height, col * width, c])
                total, squares, largest = 0.0, 0.0, first
                for y in range(row * height, (row + 1) * height):
                    for x in range(col * width, (col + 1) * width):
                        value = np.float64(planes[y, x, c])
                        total += value - first
                        squares += (value - first) ** 2
                        largest = max(largest, value)
                mean = total / (height * width)
                out[0, row, col, c] = first + mean
                out[1, row, col, c] = max(squares / (height * width) - mean**2, 0.0)
                out[2, row, col, c] = largest
