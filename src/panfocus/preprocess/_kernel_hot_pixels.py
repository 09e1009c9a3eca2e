"""Compiled loops that find isolated values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

REACH = 3  # pixels: radius of the surroundings
MOST_SIMILAR = 2  # similar values in the surroundings: a defect may cover two or three pixels
SIMILAR = 0.5  # of the difference: values that differ by more than this share are similar
WINDOW, APART = 6, 4  # pixels: radius of the window of a cluster, and of its rim's inner edge
AT_ONCE = 512  # values that are ruled out together


@compiled()
def find_isolated(
    planes: Array, least: float, deviations: float, single: bool, share: float, found: Array
) -> int:
    """Find isolated values in planes (h, w, c); write row, column, channel and difference to `found`.

    An isolated value differs from the median of the surrounding 7 x 7 pixels by `least` and by `deviations`
    times their median deviation. At most two of them differ by half as much: optics blur real detail wider.
    With `single`, none of the 8 neighbours differs by `share` of its difference.
    Return the number found; values beyond the length of `found` are counted but not written.
    """
    height, width, n = planes.shape
    rows = planes.reshape(height, width * n)
    around = np.empty((2 * REACH + 1) ** 2 - 1)
    suspect = np.empty(width * n, np.bool_)
    sure = (1 - share) * least  # smallest difference from each neighbour
    count = 0
    for y in range(REACH, height - REACH):
        for start in range(REACH * n, (width - REACH) * n, AT_ONCE):
            end = min(start + AT_ONCE, (width - REACH) * n)
            if single:
                n_suspect = _mark_unlike_neighbours(
                    rows[y - 1], rows[y], rows[y + 1], start, end, n, sure, suspect
                )
            else:
                n_suspect = _mark_unlike_distant(
                    rows[y - REACH], rows[y], rows[y + REACH], start, end, REACH * n, least, suspect
                )
            if n_suspect == 0:
                continue
            for i in range(start, end):
                x, c = i // n, i % n
                if not suspect[i] or (not single and _count_similar(planes, y, x, c) > MOST_SIMILAR):
                    continue
                difference = _difference(planes, y, x, c, least, deviations, around)
                if difference == 0:
                    continue
                if single:
                    is_isolated = _is_single(planes, y, x, c, difference, share)
                else:
                    alike = (around - (planes[y, x, c] - difference)) / difference > SIMILAR
                    is_isolated = np.sum(alike) <= MOST_SIMILAR
                if not is_isolated:
                    continue
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = y, x, c, difference
                count += 1
    return count


# These loops rule out most values quickly. They have unsigned indices and no branches, so that the compiler
# can vectorise them.


@compiled()
def _mark_unlike_distant(
    above: Array, here: Array, below: Array, start: int, end: int, apart: int, least: float, suspect: Array
) -> int:
    """Mark and count values of a row (w * n,) that differ from the mean of four distant ones by `least`."""
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
def _mark_unlike_neighbours(
    above: Array, here: Array, below: Array, start: int, end: int, apart: int, sure: float, suspect: Array
) -> int:
    """Mark and count values of a row (w * n,) that differ from all four direct neighbours by `sure`."""
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
def _count_similar(planes: Array, y: int, x: int, c: int) -> int:
    """Count the 8 neighbours that differ from distant values by about as much as the value itself."""
    far = 0.25 * (
        np.float64(planes[y - REACH, x, c])
        + np.float64(planes[y + REACH, x, c])
        + np.float64(planes[y, x - REACH, c])
        + np.float64(planes[y, x + REACH, c])
    )
    difference = np.float64(planes[y, x, c]) - far
    similar = -1  # the value itself is counted too
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if (np.float64(planes[y + dy, x + dx, c]) - far) / difference > SIMILAR:
                similar += 1
    return similar


@compiled()
def _difference(
    planes: Array, y: int, x: int, c: int, least: float, deviations: float, around: Array
) -> float:
    """Return the difference from the median of the surroundings, or 0 if too small; fill `around`."""
    i = 0
    for dy in range(-REACH, REACH + 1):
        for dx in range(-REACH, REACH + 1):
            if dy != 0 or dx != 0:
                around[i] = planes[y + dy, x + dx, c]
                i += 1
    median = _median(around.copy())
    difference = np.float64(planes[y, x, c]) - median
    if abs(difference) < least or abs(difference) < deviations * _median(np.abs(around - median)):
        return 0.0
    return float(difference)


@compiled()
def _median(values: Array) -> float:
    """Return the median of an even number of values, sorting them in place; quick to compile."""
    for i in range(1, len(values)):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    half = len(values) // 2
    return float((values[half - 1] + values[half]) / 2)


@compiled()
def _is_single(planes: Array, y: int, x: int, c: int, difference: float, share: float) -> bool:
    median = np.float64(planes[y, x, c]) - difference
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            is_neighbour = dy != 0 or dx != 0
            if is_neighbour and abs(np.float64(planes[y + dy, x + dx, c]) - median) > share * abs(difference):
                return False
    return True


@compiled()
def find_compact(
    planes: Array, spans: Any, least: float, deviations: float, quiet: float, most_wide: int, found: Array
) -> int:
    """Find centres of compact clusters in rows and columns `spans` of planes (h, w, c).

    Write row, column and channel to `found`. A cluster differs by `least` from the median of its rim. Its
    centre differs most, of all channels and of the 7 x 7 pixels around it. At most `most_wide` of the 13 x 13
    pixels differ by half as much; 95 % of the rim by less than `quiet` of it, and half by less than
    1/`deviations`. Return the number found; more than the length of `found` are counted, but not written.
    """
    height, width, n = planes.shape
    first_row, last_row, first_col, last_col = spans
    rim = np.empty((2 * WINDOW + 1) ** 2 - (2 * APART - 1) ** 2)
    count = 0
    for y in range(max(first_row, WINDOW), min(last_row, height - WINDOW)):
        for x in range(max(first_col, WINDOW), min(last_col, width - WINDOW)):
            for c in range(n):
                value = np.float64(planes[y, x, c])
                above, below = np.float64(planes[y - APART, x, c]), np.float64(planes[y + APART, x, c])
                left, right = np.float64(planes[y, x - APART, c]), np.float64(planes[y, x + APART, c])
                low = min(above, below, left, right)
                high = max(above, below, left, right)
                # At least half of the difference from each of the four: the rim is quiet.
                if value - high < 0.5 * least and low - value < 0.5 * least:
                    continue
                sign = 1.0 if value > high else -1.0
                if not _is_extreme(planes, y, x, c, sign):
                    continue
                _fill_rim(planes, y, x, c, rim)
                middle = _median(rim.copy())
                size = sign * (value - middle)
                if size < least or not _is_quiet(rim, middle, size, deviations, quiet):
                    continue
                if _count_wide(planes, y, x, c, sign, middle, size) > most_wide:
                    continue
                if not _is_strongest(planes, y, x, c, size):
                    continue
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2] = y, x, c
                count += 1
                break
    return count


@compiled()
def _is_extreme(planes: Array, y: int, x: int, c: int, sign: float) -> bool:
    """Whether a value is the largest, or smallest, of the 7 x 7 around it; of equal ones the first is."""
    value = sign * np.float64(planes[y, x, c])
    for dy in range(-3, 4):
        for dx in range(-3, 4):
            other = sign * np.float64(planes[y + dy, x + dx, c])
            if other > value or (other == value and (dy < 0 or (dy == 0 and dx < 0))):
                return False
    return True


@compiled()
def _fill_rim(planes: Array, y: int, x: int, c: int, rim: Array) -> None:
    """Fill `rim` with the values of a window's rim."""
    i = 0
    for dy in range(-WINDOW, WINDOW + 1):
        for dx in range(-WINDOW, WINDOW + 1):
            if abs(dy) >= APART or abs(dx) >= APART:
                rim[i] = planes[y + dy, x + dx, c]
                i += 1


@compiled()
def _is_quiet(rim: Array, middle: float, size: float, deviations: float, quiet: float) -> bool:
    n_loud = n_far = 0
    for value in rim:
        n_loud += abs(value - middle) > quiet * size
        n_far += deviations * abs(value - middle) > size
    return bool(n_loud <= len(rim) // 20 and n_far <= len(rim) // 2)


@compiled()
def _count_wide(planes: Array, y: int, x: int, c: int, sign: float, middle: float, size: float) -> int:
    count = 0
    for dy in range(-WINDOW, WINDOW + 1):
        for dx in range(-WINDOW, WINDOW + 1):
            if sign * (np.float64(planes[y + dy, x + dx, c]) - middle) > 0.5 * size:
                count += 1
    return count


@compiled()
def _is_strongest(planes: Array, y: int, x: int, c: int, size: float) -> bool:
    """Whether no other channel differs more from the mean of four values of its rim."""
    for other in range(planes.shape[2]):
        far = 0.25 * (
            np.float64(planes[y - APART, x, other])
            + np.float64(planes[y + APART, x, other])
            + np.float64(planes[y, x - APART, other])
            + np.float64(planes[y, x + APART, other])
        )
        if other != c and abs(np.float64(planes[y, x, other]) - far) > size:
            return False
    return True
