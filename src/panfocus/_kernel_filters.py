"""Compiled loops of separable filters; sums have the same order wherever a tile starts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

AT_ONCE = 8  # weights of a sum that stays in registers; the compiler knows the length of a tuple


@compiled(fastmath={"contract"})
def filter_both_ways(
    maps: Array, head: tuple[float, ...], rest: Array, step: int, top: int, out: Array
) -> None:
    """Correlate maps (h, w, n), mirrored at their borders, along both axes with weights `step` apart.

    `head` has the first weights, fewer than `AT_ONCE`, and `rest` the others, a multiple of it. `out` gets
    rows from `top` on.
    """
    height, width, n = maps.shape
    pixels, results = maps.reshape(-1), out.reshape(-1)
    half = (len(head) + len(rest)) // 2
    margin, row = half * step, width * n
    line = np.empty(row + 2 * margin * n, maps.dtype)  # a row, filtered along columns, with mirrored ends
    within = line[margin * n : margin * n + row]
    for y in range(top, top + len(out)):
        if margin <= y < height - margin:
            _sums(pixels, (y - margin) * row, step * row, head, rest, line, margin * n, row)
        else:
            for i in range(len(head) + len(rest)):
                weight = head[i] if i < len(head) else rest[i - len(head)]
                start = mirrored(y + (i - half) * step, height) * row
                _add(pixels[start : start + row], weight, within, i == 0)
        for k in range(margin):
            before, behind = mirrored(-1 - k, width), mirrored(width + k, width)
            for j in range(n):
                line[(margin - 1 - k) * n + j] = within[before * n + j]
                line[(margin + width + k) * n + j] = within[behind * n + j]
        _sums(line, 0, step * n, head, rest, results, (y - top) * row, row)


@compiled(fastmath={"contract"})
def _sums(
    values: Array, start: int, stride: int, head: tuple[float, ...], rest: Array, out: Array, at: int, n: int
) -> None:
    """Write n weighted sums of values `stride` apart to `out`."""
    # Unsigned: possibly negative indices would prevent vectorisation.
    first, apart, to = np.uintp(start), np.uintp(stride), np.uintp(at)
    for x in range(np.uintp(n)):
        total = head[0] * values[first + x]
        for i in range(1, len(head)):
            total += head[i] * values[first + np.uintp(i) * apart + x]
        out[to + x] = total
    for j in range(0, len(rest), AT_ONCE):
        w = rest[j : j + AT_ONCE]
        weights = (w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7])
        begin = first + np.uintp(len(head) + j) * apart
        for x in range(np.uintp(n)):
            total = out[to + x]
            for i in range(AT_ONCE):
                total += weights[i] * values[begin + np.uintp(i) * apart + x]
            out[to + x] = total


@compiled(fastmath={"contract"})
def _add(row: Array, weight: float, out: Array, first: bool) -> None:
    """Add a weighted row to the sums so far."""
    if first:
        out[:] = weight * row
    else:
        for x in range(len(out)):
            out[x] += weight * row[x]


@compiled()
def mirrored(i: int, length: int) -> int:
    """Return the index for position i of a row that is mirrored at both ends, repeatedly."""
    i %= 2 * length
    return i if i < length else 2 * length - 1 - i


@compiled()
def largest_in_columns(maps: Array, radius: int, out: Array) -> None:
    """Write the largest value within `radius` rows of each pixel of a plane (h, w)."""
    height, width = maps.shape
    for y in range(height):
        out[y] = maps[y]
        for other in range(max(0, y - radius), min(height, y + radius + 1)):
            row, largest = maps[other], out[y]
            for x in range(width):
                largest[x] = max(largest[x], row[x])


@compiled()
def largest_in_rows(maps: Array, radius: int, out: Array) -> None:
    """Write the largest value within `radius` columns of each pixel of a plane (h, w)."""
    width = maps.shape[1]
    for y in range(maps.shape[0]):
        row, largest = maps[y], out[y]
        largest[:] = row
        for step in range(1, min(radius, width - 1) + 1):
            n = width - step  # slices without negative indices, which would prevent vectorisation
            ahead, left, behind, right = row[step:], largest[:n], row[:n], largest[step:]
            for x in range(n):
                left[x] = max(left[x], ahead[x])
            for x in range(n):
                right[x] = max(right[x], behind[x])
