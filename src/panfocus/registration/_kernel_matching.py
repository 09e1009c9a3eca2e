"""Compiled loops of registration: grey pyramids, block comparison, and least squares."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import REGROUPED, compiled

Array = NDArray[Any]

SUMS = 9  # values that `compare_blocks` returns for a block
BORDER = 2.001  # pixels: smallest distance to the far edge at which all four neighbours exist


@compiled()
def add_gray(frame: Array, n_colours: int, times: int, out: Array) -> None:
    """Write the means over `times` x `times` pixels and all colours of rows (h, w, c) to `out`."""
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
    """Halve a plane: smooth by (1, 3, 3, 1) / 8 both ways, sample at the centres of 2 x 2 blocks."""
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
def warp(plane: Array, H: Array, out: Array) -> None:
    """Sample a plane at the positions H(x, y); write 0 where the position is outside the plane."""
    height, width = plane.shape
    n = out.shape[1]
    positions = np.empty((2, n), np.float64)
    pixels, weights = np.empty((2, n), np.int32), np.empty((8, n), np.float32)
    for y in range(out.shape[0]):
        _interpolate_row(plane, H, y, positions, pixels, weights, out[y])
        for x in range(n):
            if not (1 <= positions[0, x] < width - BORDER and 1 <= positions[1, x] < height - BORDER):
                out[y, x] = 0.0


@compiled()
def _interpolate_row(
    plane: Array, H: Array, y: int, positions: Array, pixels: Array, weights: Array, out: Array
) -> None:
    """Interpolate a plane by Keys' cubic at H(x, y) for all x of row y; undefined outside the plane."""
    _map_row(H, y, positions[0], positions[1])
    _cubic_weights(positions[0], plane.shape[1], pixels[0], weights[0], weights[1], weights[2], weights[3])
    _cubic_weights(positions[1], plane.shape[0], pixels[1], weights[4], weights[5], weights[6], weights[7])
    _interpolate(plane, pixels, weights, out)


@compiled(fastmath=REGROUPED)
def _map_row(H: Array, y: int, across: Array, down: Array) -> None:
    at_x, at_y, at_z = H[0, 1] * y + H[0, 2], H[1, 1] * y + H[1, 2], H[2, 1] * y + H[2, 2]
    for x in range(len(across)):
        scale = 1.0 / (H[2, 0] * x + at_z)
        across[x] = (H[0, 0] * x + at_x) * scale
        down[x] = (H[1, 0] * x + at_y) * scale


@compiled(fastmath=REGROUPED)
def _cubic_weights(
    positions: Array, size: int, pixels: Array, a: Array, b: Array, c: Array, d: Array
) -> None:
    """Find the first of the four pixels around each position, and the weights of all four."""
    half, one, two = np.float32(0.5), np.float32(1), np.float32(2)
    more, most = np.float32(1.5), np.float32(2.5)
    last = size - BORDER
    for x in range(len(positions)):
        position = positions[x] if positions[x] > 1.0 else 1.0  # also replaces NaN
        position = position if position < last else last
        pixel = np.int32(position)
        pixels[x] = pixel - 1
        t = np.float32(position - pixel)
        a[x] = ((one - half * t) * t - half) * t
        b[x] = (more * t - most) * t * t + one
        c[x] = ((two - more * t) * t + half) * t
        d[x] = (half * t - half) * t * t


@compiled(fastmath=REGROUPED)
def _interpolate(plane: Array, pixels: Array, weights: Array, out: Array) -> None:
    """Write the weighted sum of the 4 x 4 pixels around each position."""
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
    """Compare rows of blocks of `fixed`, from row `first` on, with `moving` sampled through H.

    For each block of `side` x `side` pixels, `out` gets nine sums: products of gradients xx, xy, yy;
    gradient times difference, for x and y; squared difference; squares of both blocks, and their product.
    Blocks are centred and brought to the same contrast; gradients are the mean of both frames. All sums are
    0 for a block that is not completely inside both frames.
    """
    width = fixed.shape[1]
    sampled = np.empty((side + 2, width), np.float32)  # one extra pixel per side for gradients
    positions = np.empty((2, width), np.float64)
    pixels, weights = np.empty((2, width), np.int32), np.empty((8, width), np.float32)
    out[:] = 0.0
    for row in range(out.shape[0]):
        top = (first + row) * side
        if top < 1 or top + side >= fixed.shape[0]:
            continue
        for i in range(side + 2):
            _interpolate_row(moving, H, top + i - 1, positions, pixels, weights, sampled[i])
        for block in range(out.shape[1]):
            left = block * side
            if (
                left < 1
                or left + side >= width
                or not _contains_square(moving, H, left - 1, top - 1, side + 2)
            ):
                continue
            ends = slice(left - 1, left + side + 1)
            _block_sums(fixed[top - 1 : top + side + 1, ends], sampled[:, ends], out[row, block])


@compiled()
def _contains_square(plane: Array, H: Array, left: int, top: int, side: int) -> bool:
    """Return whether H maps a whole square inside the plane. Checking its corners is enough for lines."""
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
def _block_sums(fixed: Array, moving: Array, out: Array) -> None:
    n = fixed.shape[0]
    zero, quarter = np.float32(0), np.float32(0.25)
    mean_fixed, mean_moving = zero, zero
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            mean_fixed += fixed[i, j]
            mean_moving += moving[i, j]
    count = np.float32((n - 2) * (n - 2))
    mean_fixed, mean_moving = mean_fixed / count, mean_moving / count
    energy_fixed, energy_moving, product = zero, zero, zero
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            a, b = fixed[i, j] - mean_fixed, moving[i, j] - mean_moving
            energy_fixed += a * a
            energy_moving += b * b
            product += a * b
    if energy_fixed <= 0 or energy_moving <= 0:
        return
    gain = np.float32(min(4.0, max(0.25, math.sqrt(energy_fixed / energy_moving))))
    xx, xy, yy, dx, dy, squares = zero, zero, zero, zero, zero, zero
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            along = quarter * (
                fixed[i, j + 1] - fixed[i, j - 1] + gain * (moving[i, j + 1] - moving[i, j - 1])
            )
            down = quarter * (
                fixed[i + 1, j] - fixed[i - 1, j] + gain * (moving[i + 1, j] - moving[i - 1, j])
            )
            difference = fixed[i, j] - mean_fixed - gain * (moving[i, j] - mean_moving)
            xx += along * along
            xy += along * down
            yy += down * down
            dx += along * difference
            dy += down * difference
            squares += difference * difference
    out[0], out[1], out[2], out[3], out[4], out[5] = xx, xy, yy, dx, dy, squares
    out[6], out[7], out[8] = energy_fixed, gain * gain * energy_moving, gain * product


@compiled(fastmath={"contract"})
def find_errors(
    back: Array, points: Array, found: Array, precision: Array, errors: Array, squares: Array
) -> None:
    """Map the points `found` (n, 2) back to the first frame and compare them with `points` (n, 2).

    Write the errors (2, n), and to `squares` (n) their squares weighted by `precision` (n, 2, 2).
    """
    for i in range(len(squares)):
        x, y = found[i, 0], found[i, 1]
        z = back[2, 0] * x + back[2, 1] * y + back[2, 2]
        dx = (back[0, 0] * x + back[0, 1] * y + back[0, 2]) / z - points[i, 0]
        dy = (back[1, 0] * x + back[1, 1] * y + back[1, 2]) / z - points[i, 1]
        errors[0, i], errors[1, i] = dx, dy
        squares[i] = (
            precision[i, 0, 0] * dx * dx + 2 * precision[i, 0, 1] * dx * dy + precision[i, 1, 1] * dy * dy
        )


@compiled()
def normal_equations(
    directions: Array, weighted: Array, errors: Array, weights: Array, matrix: Array, right: Array
) -> None:
    """Write the normal equations of weighted least squares.

    Shapes: `directions` and `weighted` (p, 2, n), `errors` (2, n), `weights` (n).
    """
    for p in range(len(right)):
        right[p] = _weighted_dot(weighted[p, 0], weighted[p, 1], errors[0], errors[1], weights)
        for q in range(p + 1):
            matrix[p, q] = matrix[q, p] = _weighted_dot(
                weighted[p, 0], weighted[p, 1], directions[q, 0], directions[q, 1], weights
            )


@compiled(fastmath=REGROUPED)
def _weighted_dot(a: Array, b: Array, c: Array, d: Array, weights: Array) -> float:
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * (a[i] * c[i] + b[i] * d[i])
    return total
