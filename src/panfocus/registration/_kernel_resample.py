"""Loops of resampling: quintic B-splines through the pixels, looked at between them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]

# Roots of the quintic B-spline's samples 1/120, 26/120, 66/120, and 1 / their gains (Unser 1999).
POLES = (
    math.sqrt(135 / 2 - math.sqrt(17745 / 4)) + math.sqrt(105 / 4) - 13 / 2,
    math.sqrt(135 / 2 + math.sqrt(17745 / 4)) - math.sqrt(105 / 4) - 13 / 2,
)
AT_ONCE = 16  # rows
EDGE = 0.05  # pixels beyond the middle of an outermost pixel that it still counts for, instead of a row less
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


@compiled()
def _weights(t: float, out: Array) -> None:
    """Put the quintic B-splines of the six pixels around a place, t beyond the third, into `out`."""
    s = 1.0 - t
    t2, s2 = t * t, s * s
    out[0] = s2 * s2 * s / 120
    out[5] = t2 * t2 * t / 120
    out[2] = _near(t)
    out[3] = _near(s)
    out[1] = _far(1.0 + t)
    out[4] = _far(1.0 + s)


@compiled()
def _near(d: float) -> float:
    """B-spline at a distance of up to 1."""
    d2 = d * d
    return 0.55 + d2 * (-0.5 + d2 * (0.25 - d / 12))


@compiled()
def _far(d: float) -> float:
    """B-spline at a distance of 1 to 2."""
    return 0.425 + d * (0.625 + d * (-1.75 + d * (1.25 + d * (-0.375 + d / 24))))


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
    flat = coefficients.reshape(height * width * channels)
    across, down = np.empty(6, coefficients.dtype), np.empty(6, coefficients.dtype)
    line = np.empty(6 * channels, coefficients.dtype)
    top, left = corner
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            z = H[2, 0] * x + H[2, 1] * y + H[2, 2]
            at_x = (H[0, 0] * x + H[0, 1] * y + H[0, 2]) / z
            at_y = (H[1, 0] * x + H[1, 1] * y + H[1, 2]) / z
            if not (-EDGE <= at_x <= size[1] - 1 + EDGE and -EDGE <= at_y <= size[0] - 1 + EDGE):
                continue
            at_x, at_y = min(max(at_x, 0.0), size[1] - 1.0), min(max(at_y, 0.0), size[0] - 1.0)
            near_x, near_y = int(at_x), int(at_y)
            _weights(at_x - near_x, across)
            _weights(at_y - near_y, down)
            row, col = near_y - top, near_x - left
            if 2 <= col < width - 3 and 2 <= row < height - 3:
                start = np.uintp(((row - 2) * width + col - 2) * channels)
                stride = np.uintp(width * channels)
                for m in range(np.uintp(6 * channels)):
                    line[m] = (
                        down[0] * flat[start + m]
                        + down[1] * flat[start + stride + m]
                        + down[2] * flat[start + np.uintp(2) * stride + m]
                        + down[3] * flat[start + np.uintp(3) * stride + m]
                        + down[4] * flat[start + np.uintp(4) * stride + m]
                        + down[5] * flat[start + np.uintp(5) * stride + m]
                    )
            else:  # next to the frame's border, where it is mirrored
                line[:] = 0
                for i in range(6):
                    source = coefficients[mirror(near_y - 2 + i, size[0]) - top]
                    for j in range(6):
                        for c in range(channels):
                            line[j * channels + c] += (
                                down[i] * source[mirror(near_x - 2 + j, size[1]) - left, c]
                            )
            for c in range(channels):
                total = across[0] * line[c]
                for j in range(1, 6):
                    total += across[j] * line[j * channels + c]
                if whole:
                    total = np.rint(total)
                if total < least[row, col, c]:
                    out[y, x, c] = least[row, col, c]
                elif total > most[row, col, c]:
                    out[y, x, c] = most[row, col, c]
                else:
                    out[y, x, c] = total
