"""Loops of the re-blur test."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]


@compiled(fastmath={"contract"})
def mean_squares(a: Array, b: Array, out: Array) -> None:
    """Mean over the channels of the squared difference of two pictures (c, h, w): out (h, w)."""
    n, height, width = a.shape
    share = np.float32(1 / n)
    for y in range(height):
        for i in range(n):  # in a fixed order
            of_a, of_b, total = a[i, y], b[i, y], out[y]
            for x in range(width):
                difference = of_a[x] - of_b[x]
                square = difference * difference * share
                total[x] = square if i == 0 else total[x] + square


@compiled()
def keep_better(attempt: Array, nearby: Array, error: Array, least: Array) -> None:
    """Where `nearby` is the smallest so far, take it as `least` and `attempt` as `error`."""
    height, width = attempt.shape
    for y in range(height):
        for x in range(width):
            better = nearby[y, x] < least[y, x]
            error[y, x] = attempt[y, x] if better else error[y, x]
            least[y, x] = nearby[y, x] if better else least[y, x]
