"""Paint strokes: frames' pixels over those of a picture, or of any rectangle of it with the same bits."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._checks import frames_array
from panfocus._threads import for_all
from panfocus.errors import InputError
from panfocus.retouch._kernel_strokes import cover, is_near, mix
from panfocus.retouch.strokes import Stroke, Strokes
from panfocus.stack import Frames, colours

SIDE = 256  # of the tiles that are painted beside each other; it changes no bit

Rectangle = tuple[slice, slice]  # rows and columns, with start and stop


def apply_strokes(
    image: NDArray[Any], frames: ArrayLike | Sequence[ArrayLike] | Frames, strokes: Strokes
) -> NDArray[Any]:
    """Return a retouched copy of a fused picture.

    Parameters
    ----------
    image : ndarray (h, w) or (h, w, c)
        The fused picture.
    frames : ndarray (n, h, w) or (n, h, w, c), or sequence of frames
        The aligned frames that it was fused from; only what is painted is read of them.
    strokes : Strokes
        What to paint, in its order. A hard stroke without gain, of opacity 1, copies the frame's own values.
    """
    stack = frames_array(frames)
    if image.shape != stack.shape[1:] or image.dtype != stack.dtype:
        raise InputError(
            f"the picture is {image.dtype.name} {image.shape}, the frames are {stack.dtype.name} "
            f"{stack.shape[1:]}; needed are those that it was fused from"
        )
    height, width = image.shape[:2]
    strokes.check_frames(len(stack), colours(image).shape[2])
    strokes.check_size(width, height)
    return painted(image, stack, strokes.strokes)


def painted(
    below: NDArray[Any], frames: Frames, strokes: Sequence[Stroke], corner: tuple[int, int] = (0, 0)
) -> NDArray[Any]:
    """Return a painted copy of the rectangle of a picture whose top left pixel is at `corner`.

    `frames` are those of the whole picture, in its type. Each pixel depends on its own place alone.
    """
    picture = np.array(below, order="C")
    planes = picture.reshape(*picture.shape[:2], math.prod(picture.shape[2:]))
    height, width, n_channels = planes.shape
    n_colours = colours(picture).shape[2]
    white = float(np.iinfo(picture.dtype).max) if picture.dtype.kind == "u" else np.inf

    def paint(tile: Rectangle) -> None:
        rows, cols = (
            slice(at.start + first, at.stop + first) for at, first in zip(tile, corner, strict=True)
        )
        reaching = [stroke for stroke in strokes if _may_reach(stroke, (rows, cols))]
        if not reaching:
            return
        alpha = np.empty((rows.stop - rows.start, cols.stop - cols.start))
        mixed = planes[tile].copy()  # contiguous, for the kernel
        read: dict[int, NDArray[Any]] = {}
        for stroke in reaching:
            inner = stroke.hardness * stroke.radius
            if cover(stroke.line, rows.start, cols.start, inner, stroke.radius, stroke.opacity, alpha):
                if stroke.frame not in read:
                    part = np.array(frames[stroke.frame, rows, cols], picture.dtype)
                    read[stroke.frame] = part.reshape(mixed.shape)
                gains = np.ones(n_channels)
                gains[:n_colours] = stroke.gain or 1.0
                mix(mixed, read[stroke.frame], alpha, gains, white)
        planes[tile] = mixed

    for_all(paint, _tiles((slice(0, height), slice(0, width))))
    return picture


def reach_of(stroke: Stroke, beyond: float = 0.0) -> Rectangle:
    """Return the rectangle outside which a stroke, or one wider by `beyond`, paints nothing.

    It may lie outside the picture, in part or all.
    """
    top, bottom, left, right = stroke.extent
    far = stroke.radius + beyond
    return (
        slice(math.floor(top - far), math.ceil(bottom + far) + 1),
        slice(math.floor(left - far), math.ceil(right + far) + 1),
    )


def count_alike(before: Strokes, after: Strokes) -> int:
    """Return how many strokes both lists begin with."""
    alike = 0
    for old, new in zip(before.strokes, after.strokes, strict=False):
        if old != new:
            break
        alike += 1
    return alike


def changed_parts(before: Strokes, after: Strokes) -> list[Rectangle]:
    """Return rectangles of the picture, of one tile or less, outside which both lists paint the same."""
    alike = count_alike(before, after)
    changed = (*before.strokes[alike:], *after.strokes[alike:])
    every_tile = _tiles((slice(0, after.height), slice(0, after.width)))
    return [tile for tile in every_tile if any(_may_reach(stroke, tile) for stroke in changed)]


def _tiles(whole: Rectangle) -> Iterator[Rectangle]:
    rows, cols = whole
    for top in range(rows.start, rows.stop, SIDE):
        for left in range(cols.start, cols.stop, SIDE):
            yield slice(top, min(top + SIDE, rows.stop)), slice(left, min(left + SIDE, cols.stop))


def _may_reach(stroke: Stroke, tile: Rectangle) -> bool:
    """Tell whether a stroke paints in a tile; it may be said of a tile that it passes just by."""
    if not all(a.start < b.stop and b.start < a.stop for a, b in zip(reach_of(stroke), tile, strict=True)):
        return False
    (row, half_height), (col, half_width) = (
        ((a.start + a.stop - 1) / 2, (a.stop - a.start) / 2) for a in tile
    )
    return bool(is_near(stroke.line, row, col, stroke.radius + math.hypot(half_height, half_width)))
