"""Paint strokes on an image, or on any rectangle of it with the same bits."""

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

SIDE = 256  # pixels per side of the tiles that threads paint; it does not change the result

Rectangle = tuple[slice, slice]  # rows and columns, with start and stop


def apply_strokes(
    image: NDArray[Any], frames: ArrayLike | Sequence[ArrayLike] | Frames, strokes: Strokes
) -> NDArray[Any]:
    """Return a retouched copy of a fused image.

    Parameters
    ----------
    image : ndarray (h, w) or (h, w, c)
        The fused image.
    frames : ndarray (n, h, w) or (n, h, w, c), or sequence of frames
        The aligned frames that it was fused from; only painted parts are read.
    strokes : Strokes
        The strokes, in painting order. A hard stroke of opacity 1 without gain copies values of the frame.
    """
    stack = frames_array(frames)
    if image.shape != stack.shape[1:] or image.dtype != stack.dtype:
        raise InputError(
            f"The image has shape {image.shape} and dtype {image.dtype.name}, but the frames have "
            f"{stack.shape[1:]} and {stack.dtype.name}. Use the frames that it was fused from.",
            setting="frames",
            got=(stack.shape[1:], stack.dtype.name),
            needed=(image.shape, image.dtype.name),
        )
    height, width = image.shape[:2]
    strokes.check_frames(len(stack), colours(image).shape[2])
    strokes.check_size(width, height)
    return paint_strokes(image, stack, strokes.strokes)


def paint_strokes(
    below: NDArray[Any], frames: Frames, strokes: Sequence[Stroke], corner: tuple[int, int] = (0, 0)
) -> NDArray[Any]:
    """Return a painted copy of a rectangle of the image; its top left pixel is at `corner`.

    `frames` are the full frames, in the dtype of the image. Each pixel is independent of the others.
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

    for_all(paint, _tiles(height, width))
    return picture


def reach_of(stroke: Stroke, beyond: float = 0.0) -> Rectangle:
    """Return the bounding rectangle of a stroke, or of one wider by `beyond`; it may exceed the image."""
    top, bottom, left, right = stroke.extent
    far = stroke.radius + beyond
    return (
        slice(math.floor(top - far), math.ceil(bottom + far) + 1),
        slice(math.floor(left - far), math.ceil(right + far) + 1),
    )


def count_alike(before: Strokes, after: Strokes) -> int:
    """Return the number of equal strokes at the start of both lists."""
    alike = 0
    for old, new in zip(before.strokes, after.strokes, strict=False):
        if old != new:
            break
        alike += 1
    return alike


def changed_parts(before: Strokes, after: Strokes) -> list[Rectangle]:
    """Return the tiles of the image in which the two lists of strokes may paint differently."""
    alike = count_alike(before, after)
    changed = (*before.strokes[alike:], *after.strokes[alike:])
    every_tile = _tiles(after.height, after.width)
    return [tile for tile in every_tile if any(_may_reach(stroke, tile) for stroke in changed)]


def _tiles(height: int, width: int) -> Iterator[Rectangle]:
    for top in range(0, height, SIDE):
        for left in range(0, width, SIDE):
            yield slice(top, min(top + SIDE, height)), slice(left, min(left + SIDE, width))


def _may_reach(stroke: Stroke, tile: Rectangle) -> bool:
    """Return whether a stroke may paint in a tile; never False if it does."""
    if not all(a.start < b.stop and b.start < a.stop for a, b in zip(reach_of(stroke), tile, strict=True)):
        return False
    (row, half_height), (col, half_width) = (
        ((a.start + a.stop - 1) / 2, (a.stop - a.start) / 2) for a in tile
    )
    return bool(is_near(stroke.line, row, col, stroke.radius + math.hypot(half_height, half_width)))
