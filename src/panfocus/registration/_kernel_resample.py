"""Loops of resampling: quintic B-splines through the pixels, looked at between them."""

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
AT_ONCE = 16  # rows
EDGE = 0.05  # pixels beyond the middle of an outermost pixel that it still counts for, instead of a row less
WIDE = 24  # values of a row that are added up at once: six pixels of up to four channels
MARGIN = 24  # pixels beyond which what is there changes nothing: the larger root to this power is 2e-9


@compiled()
def mirror(i: int, n: int) -> int:
    """Index of what is seen at place i of a row that is mirrored at the middles of its end pixels."""
    if n == 1:
        return 0
    i = abs(i) % (2 * n - 2)
    return i if i < n else 2 * n - 2 - i


@compiled()
def to_coefficients(values: Array) -> None:
    """Turn values (h, w, c), in place, into weights of B-splines whose sum goes through the values."""
    height, width, channels = values.shape
    down = values.reshape(height, width * channels)
    if height > 1:
        _filter_down(down)
    if width > 1:
        for top in range(0, height, AT_ONCE):  # rows become columns: some lie beside each other then
            rows = values[top : top + AT_ONCE]
            turned = np.empty((width, len(rows), channels), values.dtype)
            for x in range(width):
                for y in range(len(rows)):
                    for c in range(channels):
                        turned[x, y, c] = rows[y, x, c]
            _filter_down(turned.reshape(width, len(rows) * channels))
            for y in range(len(rows)):
                for x in range(width):
                    for c in range(channels):
                        rows[y, x, c] = turned[x, y, c]


@compiled()
def _filter_down(lines: Array) -> None:
    """Filter the columns of an array (n, m), all at once."""
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
def _find_places(H: Array, y: int, across: Array, down: Array) -> None:
    """Put where H takes the pixels of a row."""
    at_x, at_y, at_z = H[0, 1] * y + H[0, 2], H[1, 1] * y + H[1, 2], H[2, 1] * y + H[2, 2]
    for x in range(len(across)):
        z = H[2, 0] * x + at_z
        across[x] = (H[0, 0] * x + at_x) / z
        down[x] = (H[1, 0] * x + at_y) / z


@compiled(fastmath={"contract"})
def _find_pixels(places: Array, size: int, pixels: Array, beyond: Array) -> None:
    """Put the pixel before each place, those outside moved to the end, and how far beyond it the place is."""
    last = size - 1.0
    for x in range(len(places)):
        place = places[x] if places[x] > 0.0 else 0.0  # also where it is no number
        place = place if place < last else last
        pixels[x] = np.int32(place)
        beyond[x] = place - pixels[x]


@compiled(fastmath={"contract"})
def _find_weights(beyond: Array, a: Array, b: Array, c: Array, d: Array, e: Array, f: Array) -> None:
    """Put the quintic B-splines of the six pixels around each place, so far beyond the third."""
    k = beyond.dtype.type(1 / 120)
    k5, k10, k20, k26, k30, k50, k60, k66 = 5 * k, 10 * k, 20 * k, 26 * k, 30 * k, 50 * k, 60 * k, 66 * k
    for x in range(len(beyond)):
        t = beyond[x]
        s = beyond.dtype.type(1) - t
        t2, s2 = t * t, s * s
        a[x] = s2 * s2 * s * k
        b[x] = k26 + t * (t * (k20 + t * (k20 + t * (k5 * t - k20))) - k50)
        c[x] = k66 + t2 * (t2 * (k30 - k10 * t) - k60)
        d[x] = k66 + s2 * (s2 * (k30 - k10 * s) - k60)
        e[x] = k26 + s * (s * (k20 + s * (k20 + s * (k5 * s - k20))) - k50)
        f[x] = t2 * t2 * t * k


@compiled()
def local_range(values: Array, least: Array, most: Array) -> None:
    """Find the smallest and the largest of the 4 x 4 pixels around each place between pixels."""
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
def _add_rows(flat: Array, start: int, stride: int, weights: Array, out: Array) -> None:
    """Add up six rows by their weights, from `start` on."""
    for m in range(np.uintp(WIDE)):
        out[m] = (
            weights[0] * flat[start + m]
            + weights[1] * flat[start + stride + m]
            + weights[2] * flat[start + np.uintp(2) * stride + m]
            + weights[3] * flat[start + np.uintp(3) * stride + m]
            + weights[4] * flat[start + np.uintp(4) * stride + m]
            + weights[5] * flat[start + np.uintp(5) * stride + m]
        )


@compiled(fastmath={"contract"})
def _add_mirrored(
    coefficients: Array, y: int, x: int, corner: Array, size: Array, weights: Array, out: Array
) -> None:
    """Add up six rows by their weights next to the frame's border, where it is mirrored."""
    channels = coefficients.shape[2]
    out[:] = 0
    for i in range(6):
        source = coefficients[mirror(y - 2 + i, size[0]) - corner[0]]
        for j in range(6):
            for c in range(channels):
                out[j * channels + c] += weights[i] * source[mirror(x - 2 + j, size[1]) - corner[1], c]


@compiled(fastmath={"contract"})
def look_up(  # noqa: PLR0912  # one loop, in which a call for each pixel would count
    coefficients: Array,
    least: Array,
    most: Array,
    H: Array,
    corner: Array,
    size: Array,
    whole: bool,
    out: Array,
) -> None:
    """Fill `out` (h, w, c) with what B-splines (h, w, c) show at the places that H names.

    Row and column `corner` of a frame, which has `size` in all, are the first of the splines. Next to an
    edge a spline swings beyond the pixels around it; it is cut to their range. Whole numbers are rounded.
    Places beyond the outermost pixels are left as they are.
    """
    height, width, channels = coefficients.shape
    flat = coefficients.reshape(coefficients.size)
    n = out.shape[1]
    places, pixels = np.empty((2, n), np.float64), np.empty((2, n), np.int32)
    beyond, weights = np.empty((2, n), coefficients.dtype), np.empty((2, 6, n), coefficients.dtype)
    down, line = np.empty(6, coefficients.dtype), np.empty(max(WIDE, 6 * channels), coefficients.dtype)
    top, left = corner
    stride = np.uintp(width * channels)
    for y in range(out.shape[0]):
        _find_places(H, y, places[0], places[1])
        for k in range(2):
            _find_pixels(places[k], size[1 - k], pixels[k], beyond[k])
            w = weights[k]
            _find_weights(beyond[k], w[0], w[1], w[2], w[3], w[4], w[5])
        for x in range(n):
            at_x, at_y = places[0, x], places[1, x]
            if not (-EDGE <= at_x <= size[1] - 1 + EDGE and -EDGE <= at_y <= size[0] - 1 + EDGE):
                continue
            near_x, near_y = pixels[0, x], pixels[1, x]
            row, col = near_y - top, near_x - left
            for i in range(6):
                down[i] = weights[1, i, x]
            start = ((row - 2) * width + col - 2) * channels
            inside = 2 <= col < width - 3 and 2 <= row < height - 3
            if inside and 6 * channels <= WIDE and start + 5 * width * channels + WIDE <= len(flat):
                _add_rows(flat, np.uintp(start), stride, down, line)
            else:
                _add_mirrored(coefficients, near_y, near_x, corner, size, down, line)
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
