"""Loops that find values which stand alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

REACH = 3  # pixels around one that are looked at
MOST_ALIKE = 2  # others among them that may stand out as well: defects of two or three pixels
ALIKE = 0.5  # as far as this part of it
AT_ONCE = 512  # values that are ruled out together


@compiled()
def isolated(planes: Array, least: float, spreads: float, found: Array) -> int:
    """Find values of planes (h, w, c) that stand alone; write row, column, channel, by how much into `found`.

    Such a value is off the median of the 7 x 7 around it by `least`, and by so many times their median
    deviation from it; but for two, none of them goes half as far. What an optic draws is wider. Return the
    number, of which those beyond the length of `found` are not kept.
    """
    height, width, n = planes.shape
    rows = planes.reshape(height, width * n)
    around = np.empty((2 * REACH + 1) ** 2 - 1)
    suspect = np.empty(width * n, np.bool_)
    count = 0
    for y in range(REACH, height - REACH):
        above, here, below = rows[y - REACH], rows[y], rows[y + REACH]
        for start in range(REACH * n, (width - REACH) * n, AT_ONCE):
            end = min(start + AT_ONCE, (width - REACH) * n)
            if not _off_those_far(above, here, below, start, end, REACH * n, least, suspect):
                continue
            for i in range(start, end):
                x, c = i // n, i % n
                if not suspect[i] or _alike_beside(planes, y, x, c) > MOST_ALIKE:
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
    rows = planes.reshape(height, width * n)
    around = np.empty((2 * REACH + 1) ** 2 - 1)
    suspect = np.empty(width * n, np.bool_)
    sure = (1 - share) * least  # by so much it differs from each of the 8
    count = 0
    for y in range(REACH, height - REACH):
        above, here, below = rows[y - 1], rows[y], rows[y + 1]
        for start in range(REACH * n, (width - REACH) * n, AT_ONCE):
            end = min(start + AT_ONCE, (width - REACH) * n)
            if not _off_those_beside(above, here, below, start, end, n, sure, suspect):
                continue
            for i in range(start, end):
                if not suspect[i]:
                    continue
                x, c = i // n, i % n
                off = _stands_out(planes, y, x, c, least, spreads, around)
                if off == 0 or not _alone(planes, y, x, c, off, share):
                    continue
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = y, x, c, off
                count += 1
    return count


# What rules most values out at once, in loops that are made into vectors: hence the unsigned indices, which
# cannot count from the end, and no branches.


@compiled()
def _off_those_far(
    above: Array, here: Array, below: Array, start: int, end: int, apart: int, least: float, suspect: Array
) -> int:
    """Mark, and count, values of a row (w * n,) that are off the mean of four at a distance by `least`."""
    step, count = np.uintp(apart), 0
    for i in range(np.uintp(start), np.uintp(end)):
        far = 0.25 * (
            np.float64(above[i])
            + np.float64(below[i])
            + np.float64(here[i - step])
            + np.float64(here[i + step])
        )
        suspect[i] = abs(np.float64(here[i]) - far) >= least
        count += suspect[i]
    return count


@compiled()
def _off_those_beside(
    above: Array, here: Array, below: Array, start: int, end: int, apart: int, sure: float, suspect: Array
) -> int:
    """Mark, and count, values of a row (w * n,) that are off all four beside them by `sure`."""
    step, count = np.uintp(apart), 0
    for i in range(np.uintp(start), np.uintp(end)):
        value = np.float64(here[i])
        suspect[i] = (
            (abs(value - np.float64(here[i - step])) >= sure)
            & (abs(value - np.float64(here[i + step])) >= sure)
            & (abs(value - np.float64(above[i])) >= sure)
            & (abs(value - np.float64(below[i])) >= sure)
        )
        count += suspect[i]
    return count


@compiled()
def _alike_beside(planes: Array, y: int, x: int, c: int) -> int:
    """Count those of the 8 beside a value that are as far off as it is, by those at a distance."""
    far = 0.25 * (
        np.float64(planes[y - REACH, x, c])
        + np.float64(planes[y + REACH, x, c])
        + np.float64(planes[y, x - REACH, c])
        + np.float64(planes[y, x + REACH, c])
    )
    off = np.float64(planes[y, x, c]) - far
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
