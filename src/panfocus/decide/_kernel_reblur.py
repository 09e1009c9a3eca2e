"""Compiled loops of the re-blur test."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._kernel_filters import mirrored
from panfocus._numba import compiled

Array = NDArray[Any]

SIDE = 15  # px: side of the square over which blurs are compared; summed as 5 x 3 pixels in each direction
REACH = SIDE // 2
ROWS = 16  # rows of an attempt in the ring buffer: one more than a square has


@compiled(fastmath={"contract"})
def keep_best(attempts: Array, glow: Array, other: Array, error: Array) -> None:
    """Write to `error` (h, w) the squared error of the best attempt (n, c, h, w) at `other` (c, h, w).

    At each pixel, the best attempt has the smallest error over the square around it, mirrored at the borders;
    on a tie, the first. Where `glow` (n, h, w) is positive, an attempt is only a lower bound. `glow` may be
    empty. Rows pass through the cache once.
    """
    n = len(attempts)
    height, width = error.shape
    squares, threes = np.empty((n, ROWS, width), np.float32), np.empty((n, ROWS, width), np.float32)
    down, across = np.empty(width + 2, np.float32), np.empty(width + 12, np.float32)
    near, of_threes = down[1 : width + 1], across[6 : width + 6]
    least = np.empty(width, np.float32)
    n_squares = n_threes = 0
    for y in range(height):
        while n_squares < min(height, y + REACH + 1):
            for i in range(n):
                _mean_squares(attempts[i], other, n_squares, squares[i, n_squares % ROWS])
                if len(glow):
                    _keep_excess(attempts[i], glow[i], other, n_squares, squares[i, n_squares % ROWS])
            n_squares += 1
        while n_threes < min(height, y + REACH):
            above, below = mirrored(n_threes - 1, height) % ROWS, mirrored(n_threes + 1, height) % ROWS
            for i in range(n):
                rows = squares[i]
                _sum_three(rows[above], rows[n_threes % ROWS], rows[below], threes[i, n_threes % ROWS])
            n_threes += 1
        places = [mirrored(y + 3 * j, height) % ROWS for j in range(-2, 3)]
        for i in range(n):
            rows = threes[i]
            _sum_five(
                rows[places[0]], rows[places[1]], rows[places[2]], rows[places[3]], rows[places[4]], near
            )
            down[0], down[width + 1] = near[0], near[width - 1]
            _sum_three(down[:width], near, down[2:], of_threes)
            for k in range(6):
                across[5 - k] = of_threes[mirrored(-1 - k, width)]
                across[width + 6 + k] = of_threes[mirrored(width + k, width)]
            _sum_five(
                across[:width], across[3 : width + 3], of_threes, across[9 : width + 9], across[12:], near
            )
            if i == 0:
                least[:], error[y] = near, squares[i, y % ROWS]
            else:
                _keep_smaller(near, squares[i, y % ROWS], least, error[y])


@compiled(fastmath={"contract"})
def _mean_squares(a: Array, b: Array, y: int, out: Array) -> None:
    """Average the squared differences in row y of two images (c, h, w) over the channels."""
    n = len(a)
    share = np.float32(1 / n)
    if n == 3:  # one pass over memory
        a0, a1, a2, b0, b1, b2 = a[0, y], a[1, y], a[2, y], b[0, y], b[1, y], b[2, y]
        for x in range(len(out)):
            d0, d1, d2 = a0[x] - b0[x], a1[x] - b1[x], a2[x] - b2[x]
            out[x] = share * (d0 * d0 + d1 * d1 + d2 * d2)
        return
    out[:] = 0
    for i in range(n):
        of_a, of_b = a[i, y], b[i, y]
        for x in range(len(out)):
            difference = of_a[x] - of_b[x]
            out[x] += share * (difference * difference)


@compiled(fastmath={"contract"})
def _keep_excess(a: Array, glow: Array, b: Array, y: int, out: Array) -> None:
    """Where `glow` is positive, average the squares of a - b in row y over the channels where a > b."""
    share = np.float32(1 / len(a))
    for x in range(len(out)):
        if glow[y, x] > 0:
            total = np.float32(0)
            for i in range(len(a)):
                excess = max(a[i, y, x] - b[i, y, x], np.float32(0))
                total += share * (excess * excess)
            out[x] = total


@compiled()
def average_squares(frame: Array, smooth: Array, out: Array) -> None:
    """Write to `out` (h, w) the squared difference of two images (c, h, w), averaged over the channels."""
    for y in range(out.shape[0]):
        _mean_squares(frame, smooth, y, out[y])


@compiled()
def _keep_smaller(near: Array, squares: Array, least: Array, error: Array) -> None:
    for x in range(len(near)):
        # Load and store unconditionally: the compiler can vectorise this form.
        smaller, best = near[x], squares[x]
        old_least, old_error = least[x], error[x]
        if not smaller < old_least:
            smaller, best = old_least, old_error
        least[x], error[x] = smaller, best


@compiled()
def _sum_three(a: Array, b: Array, c: Array, out: Array) -> None:
    for x in range(len(out)):
        out[x] = a[x] + b[x] + c[x]


@compiled()
def _sum_five(a: Array, b: Array, c: Array, d: Array, e: Array, out: Array) -> None:
    for x in range(len(out)):
        out[x] = a[x] + b[x] + c[x] + d[x] + e[x]


@compiled()
def add_floor_and_doubt(
    a: Array, b: Array, constants: tuple[float, ...], doubt: Array, trust: Array, out: Array
) -> None:
    """Write to `out[0]` two errors (h, w) plus the floor, and to `out[1]` the same plus doubt.

    `doubt` (h, w) holds the unexplained squared error on entry, and a degree from 0 to 1 on return. `trust`
    (h, w) gets the degree from 0 to 1 to which the errors differ by more than noise.
    """
    floor, times, explained, half, by_noise = constants
    height, width = doubt.shape
    for y in range(height):
        first, second, unexplained, trusted = a[y], b[y], doubt[y], trust[y]
        a0, b0, a1, b1 = out[0, 0, y], out[0, 1, y], out[1, 0, y], out[1, 1, y]
        for x in range(width):
            a0[x] = first[x] + floor
            b0[x] = second[x] + floor
        for x in range(width):
            added = times * max(unexplained[x] - explained, np.float32(0))
            a1[x] = a0[x] + added
            b1[x] = b0[x] + added
            unexplained[x] = added / (added + half)
        for x in range(width):
            difference = (first[x] - second[x]) / by_noise
            squared = difference * difference
            trusted[x] = squared / (squared + np.float32(1))
