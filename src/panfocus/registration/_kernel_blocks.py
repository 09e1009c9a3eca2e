"""Loops of registration: grey frames of half size, and how blocks of one frame lie on another."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import REGROUPED, compiled

Array = NDArray[Any]

SUMS = 9  # numbers that are kept of a block
BORDER = 2.001  # pixels from a plane's end that a place needs at least, for the four pixels around it


@compiled()
def add_gray(frame: Array, n_colours: int, times: int, out: Array) -> None:
    """Put means over `times` x `times` pixels, and the colours, of rows (h, w, c) of a frame into `out`."""
    scale = 1.0 / (n_colours * times * times)
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            total = 0.0
            for i in range(times):
                for j in range(times):
                    for c in range(n_colours):
                        total += frame[y * times + i, x * times + j, c]
            out[y, x] = total * scale


@compiled()
def halve(plane: Array, out: Array) -> None:
    """Smooth by 1, 3, 3, 1 both ways, and keep every second pixel: each is then in the middle of 2 x 2."""
    height, width = plane.shape
    line = np.empty(width, np.float32)
    for y in range(out.shape[0]):
        above, below = max(2 * y - 1, 0), min(2 * y + 2, height - 1)
        for x in range(width):
            line[x] = (
                plane[above, x] + plane[below, x] + 3 * (plane[2 * y, x] + plane[2 * y + 1, x])
            ) * np.float32(0.125)
        for x in range(out.shape[1]):
            left, right = max(2 * x - 1, 0), min(2 * x + 2, width - 1)
            out[y, x] = (line[left] + line[right] + 3 * (line[2 * x] + line[2 * x + 1])) * np.float32(0.125)


@compiled()
def warped(plane: Array, H: Array, out: Array) -> None:
    """Put what a plane shows at the places that H names into `out`; 0 where that is outside."""
    height, width = plane.shape
    n = out.shape[1]
    places = np.empty((2, n), np.float64)
    pixels, weights = np.empty((2, n), np.int32), np.empty((8, n), np.float32)
    for y in range(out.shape[0]):
        _look_along(plane, H, y, places, pixels, weights, out[y])
        for x in range(n):
            if not (1 <= places[0, x] < width - BORDER and 1 <= places[1, x] < height - BORDER):
                out[y, x] = 0.0


@compiled()
def _look_along(
    plane: Array, H: Array, y: int, places: Array, pixels: Array, weights: Array, out: Array
) -> None:
    """Interpolate a plane by Keys' cubic at the places that H names for a row; outside it is not defined."""
    _find_places(H, y, places[0], places[1])
    _find_weights(places[0], plane.shape[1], pixels[0], weights[0], weights[1], weights[2], weights[3])
    _find_weights(places[1], plane.shape[0], pixels[1], weights[4], weights[5], weights[6], weights[7])
    _interpolate(plane, pixels, weights, out)


@compiled(fastmath=REGROUPED)
def _find_places(H: Array, y: int, across: Array, down: Array) -> None:
    at_x, at_y, at_z = H[0, 1] * y + H[0, 2], H[1, 1] * y + H[1, 2], H[2, 1] * y + H[2, 2]
    for x in range(len(across)):
        scale = 1.0 / (H[2, 0] * x + at_z)
        across[x] = (H[0, 0] * x + at_x) * scale
        down[x] = (H[1, 0] * x + at_y) * scale


@compiled(fastmath=REGROUPED)
def _find_weights(places: Array, size: int, pixels: Array, a: Array, b: Array, c: Array, d: Array) -> None:
    """Find the first of the four pixels around each place, and the weights of all four."""
    half, one, two = np.float32(0.5), np.float32(1), np.float32(2)
    more, most = np.float32(1.5), np.float32(2.5)
    last = size - BORDER
    for x in range(len(places)):
        place = places[x] if places[x] > 1.0 else 1.0  # also where it is no number
        place = place if place < last else last
        pixel = np.int32(place)
        pixels[x] = pixel - 1
        t = np.float32(place - pixel)
        a[x] = ((one - half * t) * t - half) * t
        b[x] = (more * t - most) * t * t + one
        c[x] = ((two - more * t) * t + half) * t
        d[x] = (half * t - half) * t * t


@compiled(fastmath=REGROUPED)
def _interpolate(plane: Array, pixels: Array, weights: Array, out: Array) -> None:
    """Add up the sixteen pixels around each place by their weights."""
    for x in range(len(out)):
        col, row = np.uintp(pixels[0, x]), np.uintp(pixels[1, x])
        a, b, c, d = weights[0, x], weights[1, x], weights[2, x], weights[3, x]
        total = np.float32(0)
        for i in range(4):
            line = row + np.uintp(i)
            total += weights[4 + i, x] * (
                a * plane[line, col]
                + b * plane[line, col + np.uintp(1)]
                + c * plane[line, col + np.uintp(2)]
                + d * plane[line, col + np.uintp(3)]
            )
        out[x] = total


@compiled()
def compare_blocks(fixed: Array, moving: Array, H: Array, side: int, first: int, out: Array) -> None:
    """Compare rows of blocks, from `first` on, with what `moving` shows there through H, to match them.

    A block of `side` x `side` pixels gets: the sums of products of gradients xx, xy, yy; those of gradients
    and the difference, x and y; the sum of squares of the difference; those of both blocks and their product.
    Both are without their mean, and equally strong. Gradients are means of both frames'. All are 0 for a
    block that is not wholly inside of both frames.
    """
    width = fixed.shape[1]
    seen = np.empty((side + 2, width), np.float32)  # with what gradients need
    places = np.empty((2, width), np.float64)
    pixels, weights = np.empty((2, width), np.int32), np.empty((8, width), np.float32)
    out[:] = 0.0
    for row in range(out.shape[0]):
        top = (first + row) * side
        if top < 1 or top + side >= fixed.shape[0]:
            continue
        for i in range(side + 2):
            _look_along(moving, H, top + i - 1, places, pixels, weights, seen[i])
        for block in range(out.shape[1]):
            left = block * side
            if left < 1 or left + side >= width or not _sees(moving, H, left - 1, top - 1, side + 2):
                continue
            ends = slice(left - 1, left + side + 1)
            _sums(fixed[top - 1 : top + side + 1, ends], seen[:, ends], out[row, block])


@compiled()
def _sees(plane: Array, H: Array, left: int, top: int, side: int) -> bool:
    """Tell whether a plane shows all of a square: it does if it shows the corners, as lines stay straight."""
    height, width = plane.shape
    for y in (top, top + side - 1):
        for x in (left, left + side - 1):
            z = H[2, 0] * x + H[2, 1] * y + H[2, 2]
            at_x = (H[0, 0] * x + H[0, 1] * y + H[0, 2]) / z
            at_y = (H[1, 0] * x + H[1, 1] * y + H[1, 2]) / z
            if not (z > 0 and 1 <= at_x < width - BORDER and 1 <= at_y < height - BORDER):
                return False
    return True


@compiled(fastmath=REGROUPED)
def _sums(here: Array, there: Array, out: Array) -> None:
    n = here.shape[0]
    nothing, quarter = np.float32(0), np.float32(0.25)
    mean_here, mean_there = nothing, nothing
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            mean_here += here[i, j]
            mean_there += there[i, j]
    count = np.float32((n - 2) * (n - 2))
    mean_here, mean_there = mean_here / count, mean_there / count
    energy_here, energy_there, product = nothing, nothing, nothing
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            a, b = here[i, j] - mean_here, there[i, j] - mean_there
            energy_here += a * a
            energy_there += b * b
            product += a * b
    if energy_here <= 0 or energy_there <= 0:
        return
    gain = np.float32(min(4.0, max(0.25, math.sqrt(energy_here / energy_there))))
    xx, xy, yy, dx, dy, squares = nothing, nothing, nothing, nothing, nothing, nothing
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            along = quarter * (here[i, j + 1] - here[i, j - 1] + gain * (there[i, j + 1] - there[i, j - 1]))
            down = quarter * (here[i + 1, j] - here[i - 1, j] + gain * (there[i + 1, j] - there[i - 1, j]))
            difference = here[i, j] - mean_here - gain * (there[i, j] - mean_there)
            xx += along * along
            xy += along * down
            yy += down * down
            dx += along * difference
            dy += down * difference
            squares += difference * difference
    out[0], out[1], out[2], out[3], out[4], out[5] = xx, xy, yy, dx, dy, squares
    out[6], out[7], out[8] = energy_here, gain * gain * energy_there, gain * product
