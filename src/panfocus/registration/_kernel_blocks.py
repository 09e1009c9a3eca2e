"""Loops of registration: grey frames of half size, and how blocks of one frame lie on another."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]

SUMS = 9  # numbers that are kept of a block


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
def sample(plane: Array, x: float, y: float) -> float:
    """Interpolate a plane by Keys' cubic; the four pixels each way have to be inside."""
    left, top = math.floor(x), math.floor(y)
    s, t = x - left, y - top
    a0 = ((-0.5 * s + 1.0) * s - 0.5) * s
    a1 = (1.5 * s - 2.5) * s * s + 1.0
    a2 = ((-1.5 * s + 2.0) * s + 0.5) * s
    a3 = (0.5 * s - 0.5) * s * s
    b0 = ((-0.5 * t + 1.0) * t - 0.5) * t
    b1 = (1.5 * t - 2.5) * t * t + 1.0
    b2 = ((-1.5 * t + 2.0) * t + 0.5) * t
    b3 = (0.5 * t - 0.5) * t * t
    i, j = np.uintp(top - 1), np.uintp(left - 1)
    total = 0.0
    for k in range(4):
        row = plane[i + np.uintp(k)]
        weight = b0 if k == 0 else b1 if k == 1 else b2 if k == 2 else b3
        total += weight * (
            a0 * row[j] + a1 * row[j + np.uintp(1)] + a2 * row[j + np.uintp(2)] + a3 * row[j + np.uintp(3)]
        )
    return total


@compiled()
def warped(plane: Array, H: Array, out: Array) -> None:
    """Put what a plane shows at the places that H names into `out`; 0 where that is outside."""
    height, width = plane.shape
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            z = H[2, 0] * x + H[2, 1] * y + H[2, 2]
            at_x = (H[0, 0] * x + H[0, 1] * y + H[0, 2]) / z
            at_y = (H[1, 0] * x + H[1, 1] * y + H[1, 2]) / z
            inside = 1 <= at_x < width - 2 and 1 <= at_y < height - 2
            out[y, x] = sample(plane, at_x, at_y) if inside else 0.0


@compiled()
def compare_blocks(fixed: Array, moving: Array, H: Array, side: int, row: int, out: Array) -> None:
    """Compare one row of blocks with what `moving` shows there through H, for a Gauss-Newton step.

    A block of `side` x `side` pixels gets: the sums of products of gradients xx, xy, yy; those of gradients
    and the difference, x and y; the sum of squares of the difference; those of both blocks and their product.
    Both are without their mean, and equally strong. Gradients are means of both frames'. All are 0 for a
    block that is not wholly inside of both frames.
    """
    height, width = moving.shape
    n = side + 2  # with what gradients need
    there, here = np.empty((n, n), np.float64), np.empty((n, n), np.float64)
    top = row * side
    for block in range(out.shape[0]):
        out[block, :] = 0.0
        left = block * side
        if top < 1 or left < 1 or top + side >= fixed.shape[0] or left + side >= fixed.shape[1]:
            continue
        inside = True
        for i in range(n):
            for j in range(n):
                x, y = left + j - 1.0, top + i - 1.0
                z = H[2, 0] * x + H[2, 1] * y + H[2, 2]
                at_x = (H[0, 0] * x + H[0, 1] * y + H[0, 2]) / z
                at_y = (H[1, 0] * x + H[1, 1] * y + H[1, 2]) / z
                if not (1 <= at_x < width - 2 and 1 <= at_y < height - 2):
                    inside = False
                    break
                there[i, j] = sample(moving, at_x, at_y)
                here[i, j] = fixed[top + i - 1, left + j - 1]
            if not inside:
                break
        if inside:
            _sums(here, there, out[block])


@compiled()
def _sums(here: Array, there: Array, out: Array) -> None:
    n = here.shape[0]
    count = (n - 2) * (n - 2)
    mean_here, mean_there = 0.0, 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            mean_here += here[i, j]
            mean_there += there[i, j]
    mean_here, mean_there = mean_here / count, mean_there / count
    energy_here, energy_there, product = 0.0, 0.0, 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            a, b = here[i, j] - mean_here, there[i, j] - mean_there
            energy_here += a * a
            energy_there += b * b
            product += a * b
    if energy_here <= 0.0 or energy_there <= 0.0:
        return
    gain = min(4.0, max(0.25, math.sqrt(energy_here / energy_there)))
    xx, xy, yy, dx, dy, squares = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            along = 0.25 * (here[i, j + 1] - here[i, j - 1] + gain * (there[i, j + 1] - there[i, j - 1]))
            down = 0.25 * (here[i + 1, j] - here[i - 1, j] + gain * (there[i + 1, j] - there[i - 1, j]))
            difference = here[i, j] - mean_here - gain * (there[i, j] - mean_there)
            xx += along * along
            xy += along * down
            yy += down * down
            dx += along * difference
            dy += down * difference
            squares += difference * difference
    out[0], out[1], out[2], out[3], out[4], out[5] = xx, xy, yy, dx, dy, squares
    out[6], out[7], out[8] = energy_here, gain * gain * energy_there, gain * product
