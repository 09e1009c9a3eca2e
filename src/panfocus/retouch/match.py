"""Brightness matching: gains that blend a painted frame into its surroundings."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.retouch._kernel_strokes import cover
from panfocus.retouch.paint import Rectangle, paint_strokes, reach_of
from panfocus.retouch.strokes import Stroke, Strokes
from panfocus.stack import Frames, colours

BLOCK = 8  # pixels per side: smaller blocks would compare texture, not brightness
RING = 0.5  # of the radius: width of the surroundings of a stroke
LEAST, MOST = 0.5, 2.0  # limits of gains
LEAST_BLOCKS = 4  # needed for an estimate
DARK = 1 / 256  # of white: darker blocks are noise


def with_gains(strokes: Strokes, image: Any, frames: Frames) -> Strokes:
    """Return the strokes with gains for those with `match`.

    The fused `image` and the `frames` are read only in rectangles around such strokes.
    """
    done: list[Stroke] = []
    for stroke in strokes.strokes:
        if stroke.match:
            rows, cols = part = _surroundings(stroke, strokes.height, strokes.width)
            below = paint_strokes(np.asarray(image[part]), frames, done, (rows.start, cols.start))
            gain = matching_gain(below, np.asarray(frames[stroke.frame, rows, cols]), stroke, part)
            stroke = dataclasses.replace(stroke, gain=gain, match=False)  # noqa: PLW2901
        done.append(stroke)
    return dataclasses.replace(strokes, strokes=tuple(done))


def matching_gain(
    below: NDArray[Any], frame: NDArray[Any], stroke: Stroke, part: Rectangle
) -> tuple[float, ...]:
    """Return the gain of each colour channel of the frame, from 0.5 to 2.

    It is the median ratio of mean values of the image below and of the frame, over blocks of 8 x 8 pixels
    under and around the stroke. Blocks that are black or clipped in either are ignored.
    """
    rows, cols = part
    n_down, n_across = (rows.stop - rows.start) // BLOCK, (cols.stop - cols.start) // BLOCK
    n_colours: int = colours(below).shape[2]
    if n_down * n_across < LEAST_BLOCKS:
        return (1.0,) * n_colours
    alpha = np.empty((n_down * BLOCK, n_across * BLOCK))
    wide = stroke.radius + _ring(stroke)
    cover(stroke.line, rows.start, cols.start, wide, wide, 1.0, alpha)
    inside = _block_means(alpha[..., None])[..., 0] > 0.5
    white = float(np.iinfo(below.dtype).max) if below.dtype.kind == "u" else 1.0
    (valid, light), (frame_valid, frame_light) = (
        _usable_blocks(colours(values), white) for values in (below, frame)
    )
    usable = inside[..., None] & valid & frame_valid
    gains = []
    for i in range(n_colours):
        ratios = light[usable[..., i], i] / frame_light[usable[..., i], i]
        ratio = float(np.median(ratios)) if ratios.size >= LEAST_BLOCKS else 1.0
        gains.append(round(min(max(ratio, LEAST), MOST), 4))
    return tuple(gains)


def _usable_blocks(values: NDArray[Any], white: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which blocks are neither dark nor clipped, and the mean of each block, per channel."""
    means = _block_means(values)
    clipped = _block_means(values >= white) > 0
    return (means > DARK * white) & ~clipped, means


def _block_means(values: NDArray[Any]) -> NDArray[np.float64]:
    n_down, n_across = values.shape[0] // BLOCK, values.shape[1] // BLOCK
    blocks = values[: n_down * BLOCK, : n_across * BLOCK].reshape(n_down, BLOCK, n_across, BLOCK, -1)
    return np.asarray(blocks.mean(axis=(1, 3), dtype=np.float64))


def _surroundings(stroke: Stroke, height: int, width: int) -> Rectangle:
    """Return the rectangle of whole blocks around a stroke, within the image."""
    spans = []
    for reach, length in zip(reach_of(stroke, _ring(stroke)), (height, width), strict=True):
        start = max(0, reach.start) // BLOCK * BLOCK
        stop = min(length, -(-reach.stop // BLOCK) * BLOCK)
        spans.append(slice(min(start, length), max(stop, min(start, length))))
    return spans[0], spans[1]


def _ring(stroke: Stroke) -> float:
    return max(2.0 * BLOCK, RING * stroke.radius)
