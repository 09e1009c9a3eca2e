"""Compiled loops of resampling by interpolating quintic B-splines."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

# Roots of the quintic B-spline's samples 1/120, 26/120, 66/120, and 1 / their gains (Unser 1999).
POLES = (
    math.sqrt(135 / 2 - math.sqrt(17745 / 4)) + math.sqrt(105 / 4) - 13 / 2,
    math.sqrt(135 / 2 + math.sqrt(17745 / 4)) - math.sqrt(105 / 4) - 13 / 2,
)
ROW_BLOCK = 16  # rows that are transposed together
EDGE = 0.05  # pixels beyond the centre of an outermost pixel that still count as inside the frame
ROW_VALUES = 24  # values that are summed together: six pixels of up to four channels
MARGIN = 24  # pixels: support of the prefilter; the larger pole to this power is 2e-9


@compiled()
def mirror(i: int, n: int) -> int:
    """Return the index for position i of a row of n pixels, mirrored at the centres of its end pixels."""
    if n == 1:
        return 0
    i = abs(i) % (2 * n - 2)
    return i if i < n else 2 * n - 2 - i


@compiled()
def to_coefficients(values: Array) -> None:
    """Replace values (h, w, c) by the coefficients of the B-spline that interpolates them."""
    height, width, channels = values.shape
    down = values.reshape(height, width * channels)
    if height > 1:
        _filter_columns(down)
    if width > 1:
        for top in range(0, height, ROW_BLOCK):  # transposed: the filter then runs along memory
            rows = values[top : top + ROW_BLOCK]
            transposed = np.empty((width, len(rows), channels), values.dtype)
            for x in range(width):
                for y in range(len(rows)):
                    for c in range(channels):
                        transposed[x, y, c] = rows[y, x, c]
            _filter_columns(transposed.reshape(width, len(rows) * channels))
            for y in range(len(rows)):
                for x in range(width):
                    for c in range(channels):
                        rows[y, x, c] = transposed[x, y, c]


@compiled()
def _filter_columns(lines: Array) -> None:
    """Apply the recursive prefilter to all columns of an array (n, m)."""
    n = len(lines)
    one = lines.dtype.type(1)
    for root in POLES:
        pole = one * lines.dtype.type(root)
        gain = (one - pole) * (one - one / pole)
        _scale(lines.reshape(lines.size), gain)
        first = lines[0].copy()
        power = one
        for k in range(1, MARGIN + 1):
            power *= pole
            _add(first, power, lines[mirror(k, n)], first)
        lines[0] = first
        for i in range(1, n):
            _add(lines[i], pole, lines[i - 1], lines[i])
        end = pole / (pole * pole - one)
        _add(lines[n - 1], pole, lines[n - 2], lines[n - 1])
        _scale(lines[n - 1], end)
        for i in range(n - 2, -1, -1):
            _add(lines[i], -one, lines[i + 1], lines[i])
            _scale(lines[i], -pole)


@compiled()
def _scale(line: Array, factor: float) -> None:
    for x in range(len(line)):
        line[x] *= factor


@compiled(fastmath={"contract"})
def _add(line: Array, factor: float, other: Array, out: Array) -> None:
    for x in range(len(line)):
        out[x] = line[x] + factor * other[x]


@compiled(fastmath={"contract"})
def _map_row(H: Array, y: int, across: Array, down: Array) -> None:
    """Write the positions H(x, y) of all pixels x of row y."""
    at_x, at_y, at_z = H[0, 1] * y + H[0, 2], H[1, 1] * y + H[1, 2], H[2, 1] * y + H[2, 2]
    for x in range(len(across)):
        z = H[2, 0] * x + at_z
        across[x] = (H[0, 0] * x + at_x) / z
        down[x] = (H[1, 0] * x + at_y) / z


@compiled(fastmath={"contract"})
def _split_positions(positions: Array, size: int, pixels: Array, fraction: Array) -> None:
    """Split positions, clipped to the frame, into a pixel index and the fraction beyond that pixel."""
    last = size - 1.0
    for x in range(len(positions)):
        position = positions[x] if positions[x] > 0.0 else 0.0  # also replaces NaN
        position = position if position < last else last
        pixels[x] = np.int32(position)
        fraction[x] = position - pixels[x]


@compiled(fastmath={"contract"})
def _spline_weights(fraction: Array, a: Array, b: Array, c: Array, d: Array, e: Array, f: Array) -> None:
    """Write the quintic B-spline weights of the six pixels around each position."""
    k = fraction.dtype.type(1 / 120)
    k5, k10, k20, k26, k30, k50, k60, k66 = 5 * k, 10 * k, 20 * k, 26 * k, 30 * k, 50 * k, 60 * k, 66 * k
    for x in range(len(fraction)):
        t = fraction[x]
        s = fraction.dtype.type(1) - t
        t2, s2 = t * t, s * s
        a[x] = s2 * s2 * s * k
        b[x] = k26 + t * (t * (k20 + t * (k20 + t * (k5 * t - k20))) - k50)
        c[x] = k66 + t2 * (t2 * (k30 - k10 * t) - k60)
        d[x] = k66 + s2 * (s2 * (k30 - k10 * s) - k60)
        e[x] = k26 + s * (s * (k20 + s * (k20 + s * (k5 * s - k20))) - k50)
        f[x] = t2 * t2 * t * k


@compiled()
def local_range(values: Array, least: Array, most: Array) -> None:
    """Write the smallest and largest value of the 4 x 4 pixels around each position between pixels."""
    height, width, channels = values.shape
    flat = values.reshape(height, width * channels)
    small, large = np.empty(width * channels, values.dtype), np.empty(width * channels, values.dtype)
    for y in range(height):
        small[:] = flat[y]
        large[:] = flat[y]
        for i in range(max(y - 1, 0), min(y + 3, height)):
            _extend(small, large, flat[i], flat[i])
        low, high = least[y].reshape(width * channels), most[y].reshape(width * channels)
        low[:] = small
        high[:] = large
        for j in (-1, 1, 2):
            skip = abs(j) * channels
            if j < 0:
                _extend(low[skip:], high[skip:], small[:-skip], large[:-skip])
            elif skip < len(low):
                _extend(low[:-skip], high[:-skip], small[skip:], large[skip:])


@compiled()
def _extend(low: Array, high: Array, small: Array, large: Array) -> None:
    for x in range(len(low)):
        low[x] = min(low[x], small[x])
        high[x] = max(high[x], large[x])


@compiled(fastmath={"contract"})
def _sum_rows(flat: Array, start: int, stride: int, weights: Array, out: Array) -> None:
    """Write the weighted sum of six rows, from index `start` on."""
    for m in range(np.uintp(ROW_VALUES)):
        out[m] = (
            weights[0] * flat[start + m]
            + weights[1] * flat[start + stride + m]
            + weights[2] * flat[start + np.uintp(2) * stride + m]
            + weights[3] * flat[start + np.uintp(3) * stride + m]
            + weights[4] * flat[start + np.uintp(4) * stride + m]
            + weights[5] * flat[start + np.uintp(5) * stride + m]
        )


@compiled(fastmath={"contract"})
def _sum_rows_mirrored(
    coefficients: Array, y: int, x: int, corner: Array, size: Array, weights: Array, out: Array
) -> None:
    """Write the weighted sum of six rows near the border, beyond which the frame is mirrored."""
    channels = coefficients.shape[2]
    out[:] = 0
    for i in range(6):
        source = coefficients[mirror(y - 2 + i, size[0]) - corner[0]]
        for j in range(6):
            for c in range(channels):
                out[j * channels + c] += weights[i] * source[mirror(x - 2 + j, size[1]) - corner[1], c]


@compiled(fastmath={"contract"})
def sample_splines(  # noqa: PLR0912  # one loop: a function call for each pixel would be slow
    coefficients: Array,
    least: Array,
    most: Array,
    H: Array,
    corner: Array,
    size: Array,
    whole: bool,
    out: Array,
) -> None:
    """Evaluate B-splines (h, w, c) at the positions H(x, y) and write the values to `out` (h, w, c).

    `corner` is the row and column of the first coefficient in the frame, whose size is `size`. Splines
    overshoot at edges, so values are limited to the range of the surrounding pixels. Integers are rounded.
    Positions outside the frame leave `out` unchanged.
    """
    height, width, channels = coefficients.shape
    flat = coefficients.reshape(coefficients.size)
    n = out.shape[1]
    positions, pixels = np.empty((2, n), np.float64), np.empty((2, n), np.int32)
    fraction, weights = np.empty((2, n), coefficients.dtype), np.empty((2, 6, n), coefficients.dtype)
    down, line = np.empty(6, coefficients.dtype), np.empty(max(ROW_VALUES, 6 * channels), coefficients.dtype)
    top, left = corner
    stride = np.uintp(width * channels)
    for y in range(out.shape[0]):
        _map_row(H, y, positions[0], positions[1])
        for k in range(2):
            _split_positions(positions[k], size[1 - k], pixels[k], fraction[k])
            w = weights[k]
            _spline_weights(fraction[k], w[0], w[1], w[2], w[3], w[4], w[5])
        for x in range(n):
            at_x, at_y = positions[0, x], positions[1, x]
            if not (-EDGE <= at_x <= size[1] - 1 + EDGE and -EDGE <= at_y <= size[0] - 1 + EDGE):
                continue
            near_x, near_y = pixels[0, x], pixels[1, x]
            row, col = near_y - top, near_x - left
            for i in range(6):
                down[i] = weights[1, i, x]
            start = ((row - 2) * width + col - 2) * channels
            inside = 2 <= col < width - 3 and 2 <= row < height - 3
            if (
                inside
                and 6 * channels <= ROW_VALUES
                and start + 5 * width * channels + ROW_VALUES <= len(flat)
            ):
                _sum_rows(flat, np.uintp(start), stride, down, line)
            else:
                _sum_rows_mirrored(coefficients, near_y, near_x, corner, size, down, line)
            for c in range(channels):
                total = weights[0, 0, x] * line[c]
                for j in range(1, 6):
                    total += weights[0, j, x] * line[j * channels + c]
                if whole:
                    total = np.rint(total)
                if total < least[row, col, c]:
                    out[y, x, c] = least[row, col, c]
                elif total > most[row, col, c]:
                    out[y, x, c] = most[row, col, c]
                else:
                    out[y, x, c] = total
