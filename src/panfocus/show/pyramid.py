"""Image pyramids for display: each level has half the size of the one before."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

TILE = 512  # pixels per side of displayed tiles; the last level is not larger
STRIP = 256  # rows processed at once; at least one row of the last level

How = Literal["mean", "nearest", "any"]  # how four pixels are combined


class Level(Protocol):
    """Storage of a level, in memory or on disk; rectangles are read and written by two slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        ...

    def __getitem__(self, key: Any, /) -> NDArray[Any]: ...

    def __setitem__(self, key: Any, part: NDArray[Any], /) -> None: ...


def n_levels(height: int, width: int) -> int:
    """Return the number of levels, including the full image."""
    count = 1
    while max(halved_length(height, count - 1), halved_length(width, count - 1)) > TILE:
        count += 1
    return count


def halved_length(length: int, times: int) -> int:
    """Return the length of a side after halving it `times` times, rounded up."""
    return -(-length >> times)


def strips(height: int, n: int) -> Iterator[slice]:
    """Yield spans of rows that can be halved independently."""
    rows = max(STRIP, 1 << (n - 1))  # both are powers of two
    for top in range(0, height, rows):
        yield slice(top, min(top + rows, height))


def write_smaller_levels(
    levels: Sequence[Level],
    rows: slice,
    cols: slice,
    part: NDArray[Any],
    how: How,
    *,
    frame: tuple[int, ...] = (),
) -> None:
    """Write a part of the image (h, w, ...), or of one `frame` of several, to all levels but the first.

    Its edges are at multiples of a pixel of the last level, or at the edge of the image.
    """
    for e, level in enumerate(levels[1:], start=1):
        part = halve(part, how)
        level[*frame, _halved_span(rows, e), _halved_span(cols, e)] = part


def update_smaller_levels(levels: Sequence[Level], rows: slice, cols: slice, how: How) -> None:
    """Compute the smaller levels again after a rectangle of the image has changed."""
    pixel = 1 << (len(levels) - 1)  # of the last level
    tall, wide = (
        slice(span.start // pixel * pixel, min(-(-span.stop // pixel) * pixel, length))
        for span, length in zip((rows, cols), levels[0].shape, strict=False)
    )
    for strip in strips(tall.stop - tall.start, len(levels)):
        down = slice(tall.start + strip.start, tall.start + strip.stop)
        write_smaller_levels(levels, down, wide, levels[0][down, wide], how)


def halve(part: NDArray[Any], how: How) -> NDArray[Any]:
    """Return an image (h, w, ...) of half the size; odd edges count alone.

    "mean": integers are rounded half up, NaN is ignored. "nearest": the first of four pixels. "any": true if
    one of four is.
    """
    if how == "nearest":
        return part[::2, ::2]
    if how == "any":
        tall, wide = part.shape[0] // 2, part.shape[1] // 2  # without odd edges
        down = part[::2].copy()
        down[:tall] |= part[1::2]
        across = down[:, ::2].copy()
        across[:, :wide] |= down[:, 1::2]
        return across
    from panfocus.show._kernel_pyramid import halve_floats, halve_integers  # imports numba

    height, width, *channels = part.shape
    out = np.empty((halved_length(height, 1), halved_length(width, 1), *channels), part.dtype)
    kernel = halve_floats if part.dtype.kind == "f" else halve_integers
    kernel(part.reshape(height, width, -1), out.reshape(*out.shape[:2], -1))
    return out


def _halved_span(span: slice, times: int) -> slice:
    return slice(span.start >> times, halved_length(span.stop, times))
