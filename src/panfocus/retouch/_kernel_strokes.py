"""Compiled loops of retouching: coverage of each pixel by a brush, and blending."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

FEW = 4  # pixels per side: smaller parts are not subdivided
SLACK = 1e-6  # pixels: more than the rounding error of distances


@compiled()
def _distance_squared(row: float, col: float, line: Array, i: int) -> float:
    """Return the squared distance to the line segment that starts at point i; a single point is a segment."""
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
    """Return whether a position may be within `far` of the line; never False if it is."""
    for i in range(max(1, line.shape[0] - 1)):
        if math.sqrt(_distance_squared(row, col, line, i)) <= far + SLACK:
            return True
    return False


@compiled()
def _falling(row: float, col: float, line: Array, pieces: Array, inner: float, outer: float) -> float:
    """Return 1 up to distance `inner` from the nearest segment, falling linearly to 0 at `outer`."""
    squared = np.inf
    for n in range(pieces.size):
        squared = min(squared, _distance_squared(row, col, line, pieces[n]))
    distance = math.sqrt(squared)
    if distance <= inner:
        return 1.0
    return (outer - distance) / (outer - inner) if distance < outer else 0.0


@compiled()
def cover(line: Array, top: int, left: int, inner: float, outer: float, opacity: float, out: Array) -> bool:
    """Write the coverage (0 to 1) of each pixel of a rectangle to `out`; return whether any is painted.

    `line` (n, 2) has the points of the stroke, row and column. Coverage is `opacity` up to distance `inner`
    and falls linearly to 0 at `outer`. The rectangle is subdivided until a part is small or covered
    uniformly, and segments too far away are dropped. The result does not depend on the subdivision.
    """
    touched = False
    waiting = [((0, out.shape[0], 0, out.shape[1]), np.arange(max(1, line.shape[0] - 1)))]
    while waiting:  # a stack: recursive functions crash when loaded from numba's cache
        (y0, y1, x0, x1), pieces = waiting.pop()
        middle_row, middle_col = top + (y0 + y1 - 1) / 2, left + (x0 + x1 - 1) / 2
        distances = np.empty(pieces.size, np.float64)
        for n in range(pieces.size):
            distances[n] = math.sqrt(_distance_squared(middle_row, middle_col, line, pieces[n]))
        least = distances.min()
        half = math.hypot((y1 - 1 - y0) / 2, (x1 - 1 - x0) / 2) + SLACK
        if least - half > outer:
            out[y0:y1, x0:x1] = 0.0
            continue
        if least + half <= inner:
            out[y0:y1, x0:x1] = opacity
            touched = touched or opacity > 0
            continue
        near = pieces[distances <= least + 2 * half]
        if max(y1 - y0, x1 - x0) <= FEW:
            for y in range(y0, y1):
                for x in range(x0, x1):
                    out[y, x] = opacity * _falling(top + y, left + x, line, near, inner, outer)
                    touched = touched or out[y, x] > 0
            continue
        y, x = (y0 + y1 + 1) // 2, (x0 + x1 + 1) // 2
        for part in ((y0, y, x0, x), (y0, y, x, x1), (y, y1, x0, x), (y, y1, x, x1)):
            if part[0] < part[1] and part[2] < part[3]:
                waiting.append((part, near))  # noqa: PERF401  # numba has no generators here
    return touched


@compiled()
def mix(picture: Array, frame: Array, alpha: Array, gains: Array, white: float) -> None:
    """Blend `frame` (h, w, c), times a gain per channel, over `picture` by `alpha` (h, w), in place.

    Integers are rounded and clipped at `white`; for floats white is infinite. Where alpha is 1 the frame
    replaces the picture; where it is 0, or both are equal, nothing changes.
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
