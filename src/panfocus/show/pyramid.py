"""Pyramids: a picture, its half, the half of that, ... so that any part is quickly shown at any size."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

TILE = 512  # pixels a side of the parts that are shown; the last level is not larger
STRIP = 256  # rows of the picture that are worked on at once, or as many as one row of the last level takes

How = Literal["mean", "nearest", "any"]  # what four pixels become


class Level(Protocol):
    """What holds a level, in memory or not: a rectangle of it is read or written by two slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        ...

    def __getitem__(self, key: Any, /) -> NDArray[Any]: ...

    def __setitem__(self, key: Any, part: NDArray[Any], /) -> None: ...


def n_levels(height: int, width: int) -> int:
    """Count the levels, the picture itself among them."""
    count = 1
    while max(halved_length(height, count - 1), halved_length(width, count - 1)) > TILE:
        count += 1
    return count


def halved_length(length: int, times: int) -> int:
    """Return what is left of a side that is halved so often; half a pixel is a whole one."""
    return -(-length >> times)


def strips(height: int, n: int) -> Iterator[slice]:
    """Yield spans of rows that go through the levels each by itself."""
    rows = max(STRIP, 1 << (n - 1))  # both are powers of two
    for top in range(0, height, rows):
        yield slice(top, min(top + rows, height))


def put(
    levels: Sequence[Level],
    rows: slice,
    cols: slice,
    part: NDArray[Any],
    how: How,
    *,
    frame: tuple[int, ...] = (),
) -> None:
    """Write a part of the picture (h, w, ...), or of one `frame` of several, into all levels.

    It begins at multiples of one pixel of the last level, and ends at such or at the picture's edge.
    """
    levels[0][*frame, rows, cols] = part
    _put_halves(levels, rows, cols, part, how, frame)


def renew(levels: Sequence[Level], rows: slice, cols: slice, how: How) -> None:
    """Make the halves anew after a rectangle of the picture has changed."""
    pixel = 1 << (len(levels) - 1)  # of the last level
    tall, wide = (
        slice(span.start // pixel * pixel, min(-(-span.stop // pixel) * pixel, length))
        for span, length in zip((rows, cols), levels[0].shape, strict=False)
    )
    for strip in strips(tall.stop - tall.start, len(levels)):
        down = slice(tall.start + strip.start, tall.start + strip.stop)
        _put_halves(levels, down, wide, levels[0][down, wide], how)


def halved(part: NDArray[Any], how: How) -> NDArray[Any]:
    """Return a picture (h, w, ...) of half the size.

    Means of whole numbers are rounded half up, means of others are those of what is not NaN; an odd edge
    counts by itself. "nearest" takes the first of four; "any" is true where one of them is.
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
    from panfocus.show._kernel_halve import halve_real, halve_whole  # here: it loads a compiler

    height, width, *channels = part.shape
    out = np.empty((halved_length(height, 1), halved_length(width, 1), *channels), part.dtype)
    halve = halve_real if part.dtype.kind == "f" else halve_whole
    halve(part.reshape(height, width, -1), out.reshape(*out.shape[:2], -1))
    return out


def _put_halves(
    levels: Sequence[Level],
    rows: slice,
    cols: slice,
    part: NDArray[Any],
    how: How,
    frame: tuple[int, ...] = (),
) -> None:
    for e, level in enumerate(levels[1:], start=1):
        part = halved(part, how)
        level[*frame, _halved_span(rows, e), _halved_span(cols, e)] = part


def _halved_span(span: slice, times: int) -> slice:
    return slice(span.start >> times, halved_length(span.stop, times))
