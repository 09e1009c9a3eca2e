"""Loops of filters: down and across, every sum in the same order wherever a tile begins."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]


@compiled(fastmath={"contract"})
def filter_both_ways(maps: Array, weights: Array, step: int, out: Array) -> None:
    """Correlate maps (h, w, n), mirrored beyond their borders, down and across with weights `step` apart."""
    height, width, n = maps.shape
    rows, results = maps.reshape(height, -1), out.reshape(height, -1)
    half = len(weights) // 2
    margin = half * step
    line = np.empty((width + 2 * margin) * n, maps.dtype)  # a row, filtered down, with its mirrored ends
    within = line[margin * n : (margin + width) * n]
    for y in range(height):
        for i in range(0, len(weights), 4):  # four rows at once: sums go to memory and back less often
            places = [mirrored(y + (min(i + j, len(weights) - 1) - half) * step, height) for j in range(4)]
            a, b, c, d = rows[places[0]], rows[places[1]], rows[places[2]], rows[places[3]]
            _add_four(a, b, c, d, weights[i:], within, i == 0)
        for k in range(margin):
            before, behind = mirrored(-1 - k, width), mirrored(width + k, width)
            for j in range(n):
                line[(margin - 1 - k) * n + j] = within[before * n + j]
                line[(margin + width + k) * n + j] = within[behind * n + j]
        for i in range(0, len(weights), 4):
            starts = [min(i + j, len(weights) - 1) * step * n for j in range(4)]
            a, b, c, d = (
                line[starts[0] : starts[0] + width * n],
                line[starts[1] : starts[1] + width * n],
                line[starts[2] : starts[2] + width * n],
                line[starts[3] : starts[3] + width * n],
            )
            _add_four(a, b, c, d, weights[i:], results[y], i == 0)


@compiled(fastmath={"contract"})
def _add_four(a: Array, b: Array, c: Array, d: Array, weights: Array, out: Array, first: bool) -> None:
    """Add up to four rows, weighted, to those before them; where fewer weights are left, fewer."""
    u = weights[0]
    v = weights[1] if len(weights) > 1 else weights.dtype.type(0)
    w = weights[2] if len(weights) > 2 else weights.dtype.type(0)
    z = weights[3] if len(weights) > 3 else weights.dtype.type(0)
    if first:
        for x in range(len(out)):
            out[x] = u * a[x] + v * b[x] + w * c[x] + z * d[x]
    else:
        for x in range(len(out)):
            out[x] += u * a[x] + v * b[x] + w * c[x] + z * d[x]


@compiled()
def mirrored(i: int, length: int) -> int:
    """Index of what is seen at place i of a row that is mirrored at both ends, again and again."""
    i %= 2 * length
    return i if i < length else 2 * length - 1 - i
