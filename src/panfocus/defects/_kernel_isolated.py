"""Loops that find values which stand alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]

REACH = 3  # pixels around one that are looked at
MOST_ALIKE = 2  # others among them that may stand out as well: defects of two or three pixels
ALIKE = 0.5  # as far as this part of it


@compiled()
def isolated(planes: Array, least: float, spreads: float, found: Array) -> int:
    """Find values of planes (h, w, c) that stand alone; write row, column, channel, by how much into `found`.

    Such a value is off the median of the 7 x 7 around it by `least`, and by so many times their median
    deviation from it; but for two, none of them goes half as far. What an optic draws is wider. Return the
    number, of which those beyond the length of `found` are not kept.
    """
    height, width, n = planes.shape
    around = np.empty((2 * REACH + 1) ** 2 - 1)
    count = 0
    for y in range(REACH, height - REACH):
        for x in range(REACH, width - REACH):
            for c in range(n):
                # First what rules most pixels out at once: those at a distance, and those beside it.
                far = 0.25 * (
                    np.float64(planes[y - REACH, x, c])
                    + np.float64(planes[y + REACH, x, c])
                    + np.float64(planes[y, x - REACH, c])
                    + np.float64(planes[y, x + REACH, c])
                )
                off = np.float64(planes[y, x, c]) - far
                if abs(off) < least or _alike_beside(planes, y, x, c, far, off) > MOST_ALIKE:
                    continue
                off = _stands_out(planes, y, x, c, least, spreads, around)
                if off == 0 or np.sum((around - (planes[y, x, c] - off)) / off > ALIKE) > MOST_ALIKE:
                    continue
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = y, x, c, off
                count += 1
    return count


@compiled()
def impulses(planes: Array, least: float, spreads: float, share: float, found: Array) -> int:
    """Find values as `isolated` does, but single ones: none of the 8 beside goes this share as far."""
    height, width, n = planes.shape
    around = np.empty((2 * REACH + 1) ** 2 - 1)
    sure = (1 - share) * least  # by so much it differs from each of the 8
    count = 0
    for y in range(REACH, height - REACH):
        for x in range(REACH, width - REACH):
            for c in range(n):
                value = np.float64(planes[y, x, c])
                if abs(value - planes[y, x - 1, c]) < sure or abs(value - planes[y, x + 1, c]) < sure:
                    continue
                off = _stands_out(planes, y, x, c, least, spreads, around)
                if off == 0 or not _alone(planes, y, x, c, off, share):
                    continue
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = y, x, c, off
                count += 1
    return count


@compiled()
def _alike_beside(planes: Array, y: int, x: int, c: int, far: float, off: float) -> int:
    alike = -1  # it is like itself
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if (np.float64(planes[y + dy, x + dx, c]) - far) / off > ALIKE:
                alike += 1
    return alike


@compiled()
def _stands_out(planes: Array, y: int, x: int, c: int, least: float, spreads: float, around: Array) -> float:
    """By how much a value is off the median of those around it, which are left in `around`; 0: too little."""
    i = 0
    for dy in range(-REACH, REACH + 1):
        for dx in range(-REACH, REACH + 1):
            if dy != 0 or dx != 0:
                around[i] = planes[y + dy, x + dx, c]
                i += 1
    median = _median(around.copy())
    off = np.float64(planes[y, x, c]) - median
    if abs(off) < least or abs(off) < spreads * _median(np.abs(around - median)):
        return 0.0
    return float(off)


@compiled()
def _median(values: Array) -> float:
    """Median of an even number of values, which are sorted: few at a time, and quick to compile."""
    for i in range(1, len(values)):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    half = len(values) // 2
    return float((values[half - 1] + values[half]) / 2)


@compiled()
def _alone(planes: Array, y: int, x: int, c: int, off: float, share: float) -> bool:
    median = np.float64(planes[y, x, c]) - off
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            beside = dy != 0 or dx != 0
            if beside and abs(np.float64(planes[y + dy, x + dx, c]) - median) > share * abs(off):
                return False
    return True
