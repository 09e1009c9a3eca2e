"""Loops of retouching: how far a brush covers each pixel, and mixing by that."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]

FEW = 4  # pixels a side of parts that are not quartered
SLACK = 1e-6  # pixels: far more than distances are rounded by


@compiled()
def _distance_squared(row: float, col: float, line: Array, i: int) -> float:
    """From a place to the piece of the line that begins at point i; a line of one point is that point."""
    j = min(i + 1, line.shape[0] - 1)
    down, right = line[j, 0] - line[i, 0], line[j, 1] - line[i, 1]
    length = down * down + right * right
    along = 0.0
    if length > 0:
        along = ((row - line[i, 0]) * down + (col - line[i, 1]) * right) / length
        along = min(max(along, 0.0), 1.0)
    y: float = row - (line[i, 0] + along * down)
    x: float = col - (line[i, 1] + along * right)
    return y * y + x * x


@compiled()
def is_near(line: Array, row: float, col: float, far: float) -> bool:
    """Tell whether a place may be within `far` of the line, and surely if it is."""
    for i in range(max(1, line.shape[0] - 1)):
        if math.sqrt(_distance_squared(row, col, line, i)) <= far + SLACK:
            return True
    return False


@compiled()
def _cover(
    line: Array,
    pieces: Array,
    top: int,
    left: int,
    part: tuple[int, int, int, int],
    inner: float,
    outer: float,
    opacity: float,
    out: Array,
) -> bool:
    """Do `cover` for a part of the rectangle, and for pieces of the line among which is the nearest."""
    y0, y1, x0, x1 = part
    middle_row, middle_col = top + (y0 + y1 - 1) / 2, left + (x0 + x1 - 1) / 2
    distances = np.empty(pieces.size, np.float64)
    for n in range(pieces.size):
        distances[n] = math.sqrt(_distance_squared(middle_row, middle_col, line, pieces[n]))
    least = distances.min()
    half = math.hypot((y1 - 1 - y0) / 2, (x1 - 1 - x0) / 2) + SLACK
    if least - half > outer:
        out[y0:y1, x0:x1] = 0.0
        return False
    if least + half <= inner:
        out[y0:y1, x0:x1] = opacity
        return opacity > 0
    near = pieces[distances <= least + 2 * half]
    touched = False
    if max(y1 - y0, x1 - x0) <= FEW:
        for y in range(y0, y1):
            for x in range(x0, x1):
                squared = np.inf
                for n in range(near.size):
                    squared = min(squared, _distance_squared(top + y, left + x, line, near[n]))
                distance = math.sqrt(squared)
                if distance <= inner:
                    out[y, x] = opacity
                elif distance < outer:
                    out[y, x] = opacity * ((outer - distance) / (outer - inner))
                else:
                    out[y, x] = 0.0
                touched = touched or out[y, x] > 0
        return touched
    y, x = (y0 + y1 + 1) // 2, (x0 + x1 + 1) // 2
    for quarter in ((y0, y, x0, x), (y0, y, x, x1), (y, y1, x0, x), (y, y1, x, x1)):
        if quarter[0] < quarter[1] and quarter[2] < quarter[3]:
            found = _cover(line, near, top, left, quarter, inner, outer, opacity, out)
            touched = touched or found
    return touched


@compiled()
def cover(line: Array, top: int, left: int, inner: float, outer: float, opacity: float, out: Array) -> bool:
    """Write how much of each pixel of a rectangle is painted, 0 to 1; return whether any is.

    `line` (n, 2) are the points of the stroke, row and column. Up to `inner` from the line it is `opacity`,
    from there it falls evenly to 0 at `outer`. The rectangle is quartered, again and again, until a part is
    covered alike or small; pieces of the line that are too far to count are left out on the way. What is
    found for a pixel does not depend on that.
    """
    pieces = np.arange(max(1, line.shape[0] - 1))
    whole = (0, out.shape[0], 0, out.shape[1])
    return bool(_cover(line, pieces, top, left, whole, inner, outer, opacity, out))


@compiled()
def mix(picture: Array, frame: Array, alpha: Array, gains: Array, white: float) -> None:
    """Paint `frame` (h, w, c), times one gain a channel, over `picture` by `alpha` (h, w), in place.

    Whole numbers, which end at `white`, are rounded; for others white is infinite. Where alpha is 1 nothing
    is left of the picture; where it is 0, or both are equal, nothing changes.
    """
    height, width, n = picture.shape
    whole = white < np.inf
    for y in range(height):
        for x in range(width):
            part = alpha[y, x]
            if part == 0:
                continue
            for i in range(n):
                below = np.float64(picture[y, x, i])
                value = gains[i] * np.float64(frame[y, x, i])
                if whole:
                    value = min(value, white)
                if part < 1:
                    value = below + part * (value - below)
                picture[y, x, i] = np.rint(value) if whole else value
