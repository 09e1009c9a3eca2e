"""Loops of the re-blur test."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled
from panfocus._kernel_filters import mirrored

Array = NDArray[Any]

SIDE = 15  # of the square over which attempts are judged, made of threes of threes and fives of those
REACH = SIDE // 2
ROWS = 16  # that are kept of an attempt: those a square needs, and one more


@compiled(fastmath={"contract"})
def keep_better(blurred: Array, other: Array, error: Array, least: Array) -> None:
    """Take the squared differences of two pictures (c, h, w) as `error` (h, w), where they are better.

    Better is a smaller mean over the square around a pixel, mirrored beyond the borders, than the `least`
    (h, w) so far. Rows pass through the cache once.
    """
    height, width = error.shape
    attempts, threes = np.empty((ROWS, width), np.float32), np.empty((ROWS, width), np.float32)
    down, across = np.empty(width + 2, np.float32), np.empty(width + 12, np.float32)
    near, of_threes = down[1 : width + 1], across[6 : width + 6]
    share = np.float32(1 / SIDE**2)
    n_attempts = n_threes = 0
    for y in range(height):
        while n_attempts < min(height, y + REACH + 1):
            _mean_squares(blurred, other, n_attempts, attempts[n_attempts % ROWS])
            n_attempts += 1
        while n_threes < min(height, y + REACH):
            above, below = mirrored(n_threes - 1, height), mirrored(n_threes + 1, height)
            _sum_three(
                attempts[above % ROWS],
                attempts[n_threes % ROWS],
                attempts[below % ROWS],
                threes[n_threes % ROWS],
            )
            n_threes += 1
        _sum_five(
            threes[mirrored(y - 6, height) % ROWS],
            threes[mirrored(y - 3, height) % ROWS],
            threes[y % ROWS],
            threes[mirrored(y + 3, height) % ROWS],
            threes[mirrored(y + 6, height) % ROWS],
            near,
        )
        down[0], down[width + 1] = near[0], near[width - 1]
        _sum_three(down[:width], near, down[2:], of_threes)
        for k in range(6):
            across[5 - k] = of_threes[mirrored(-1 - k, width)]
            across[width + 6 + k] = of_threes[mirrored(width + k, width)]
        _sum_five(across[:width], across[3 : width + 3], of_threes, across[9 : width + 9], across[12:], near)
        attempt, best, smallest = attempts[y % ROWS], error[y], least[y]
        for x in range(width):
            mean = share * near[x]
            better = mean < smallest[x]
            smallest[x] = mean if better else smallest[x]
            best[x] = attempt[x] if better else best[x]


@compiled(fastmath={"contract"})
def _mean_squares(a: Array, b: Array, y: int, out: Array) -> None:
    """Mean over the channels of the squared differences in a row of two pictures (c, h, w)."""
    n = len(a)
    share = np.float32(1 / n)
    if n == 3:  # in one pass
        a0, a1, a2, b0, b1, b2 = a[0, y], a[1, y], a[2, y], b[0, y], b[1, y], b[2, y]
        for x in range(len(out)):
            d0, d1, d2 = a0[x] - b0[x], a1[x] - b1[x], a2[x] - b2[x]
            out[x] = share * (d0 * d0 + d1 * d1 + d2 * d2)
        return
    out[:] = 0
    for i in range(n):  # in a fixed order
        of_a, of_b = a[i, y], b[i, y]
        for x in range(len(out)):
            difference = of_a[x] - of_b[x]
            out[x] += share * (difference * difference)


@compiled()
def _sum_three(a: Array, b: Array, c: Array, out: Array) -> None:
    for x in range(len(out)):
        out[x] = a[x] + b[x] + c[x]


@compiled()
def _sum_five(a: Array, b: Array, c: Array, d: Array, e: Array, out: Array) -> None:
    for x in range(len(out)):
        out[x] = a[x] + b[x] + c[x] + d[x] + e[x]
