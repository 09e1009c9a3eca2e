"""Loops of filters: down and across, every sum in the same order wherever a tile begins."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]


@compiled()
def filter_both_ways(maps: Array, weights: Array, out: Array) -> None:
    """Correlate maps (h, w, n) with the t weights down and across: out (h - t + 1, w - t + 1, n)."""
    n = maps.shape[2]
    wide = out.shape[1] * n
    rows, results = maps.reshape(maps.shape[0], -1), out.reshape(out.shape[0], -1)
    down = np.empty(rows.shape[1], maps.dtype)
    for y in range(len(results)):
        down[:] = 0
        for i in range(len(weights)):
            row, weight = rows[y + i], weights[i]
            for x in range(len(down)):
                down[x] += weight * row[x]
        result = results[y]
        result[:] = 0
        for i in range(len(weights)):
            shifted, weight = down[i * n : i * n + wide], weights[i]
            for x in range(wide):
                result[x] += weight * shifted[x]
