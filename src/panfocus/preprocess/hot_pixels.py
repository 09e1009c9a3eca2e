"""Hot and dead pixels, which stand alone at one place of every frame, and what does so in one frame."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import map_blocks
from panfocus.preprocess._kernel_hot_pixels import REACH, impulses, isolated
from panfocus.preprocess.repaired_frames import Places, RepairedFrames
from panfocus.stack import Frames, colours, sampled_strips

# Percentiles of the first frame: the range, which has so many steps at least, or rounding would stand out.
DARK, BRIGHT, LEAST_STEPS = 0.1, 99.9, 64
# What stands out in every frame: by so much of the range, by so many times the spread around it, and in each
# frame by at least this part of the most that it does in one.
LEAST, SPREADS, STEADY = 0.1, 10.0, 0.5
# What does so in one frame must be clearer, and none of the 8 beside it may go this share as far: detail of
# the scene, be it a pixel wide, is softer.
LEAST_SINGLE, SPREADS_SINGLE, SHARE = 0.2, 20.0, 0.1
MOST = 0.001  # of all values; more are no defects but a pattern
BAND = 128  # rows that a thread looks through at once
SEARCH_REACH = REACH  # pixels around one that tell

Found = NDArray[np.float64]  # (m, 4): row, column, channel, by how much it stands out
Search = Callable[[NDArray[Any], Found], int]  # in planes; fills in what it finds, and returns the number


@dataclass(frozen=True, eq=False)
class HotPixels:
    """Where values are not the scene's: at the same places of every frame, and at some of single frames."""

    fixed: Places
    single: tuple[Places, ...]  # of each frame

    @property
    def n_fixed(self) -> int:
        """Number of pixels that are hot or dead; one may be so in several channels."""
        return _count(self.fixed)

    @property
    def n_single(self) -> int:
        """Number of pixels that stand alone in one frame, of all frames together."""
        return sum(map(_count, self.single))

    def repair(self, frames: Frames) -> Frames:
        """Return these frames with the median of the 8 pixels around each in its place."""
        if not len(self.fixed) + sum(map(len, self.single)):
            return frames
        of_frames = [np.unique(np.concatenate([self.fixed, single]), axis=0) for single in self.single]
        return RepairedFrames(frames, of_frames)

    def within(self, rows: slice, cols: slice) -> "HotPixels":
        """Return those inside a rectangle, counted from its corner."""

        def inside(places: Places) -> Places:
            y, x = places[:, 0], places[:, 1]
            here = (y >= rows.start) & (y < rows.stop) & (x >= cols.start) & (x < cols.stop)
            return np.asarray(places[here] - (rows.start, cols.start, 0))

        return HotPixels(inside(self.fixed), tuple(map(inside, self.single)))


def find_hot_pixels(frames: Frames, *, in_pairs: bool = False) -> HotPixels:
    """Look through frames that are not aligned yet, one at a time.

    Two frames may both have fine detail in focus: in pairs, what is alike in both is left unless told.
    """
    span = value_span(frames)
    return gather_hot_pixels(
        (_search(frames, k, partial(standing_out, span=span)) for k in range(len(frames))),
        (_search(frames, k, partial(standing_alone, span=span)) for k in range(len(frames))),
        frames.shape,
        in_pairs=in_pairs,
    )


def value_span(frames: Frames) -> float:
    """Measure, in the first frame, the range beside which values are called to stand out."""
    first = np.concatenate([colours(strip).ravel() for strip in sampled_strips(frames, 0)])
    dark, bright = np.percentile(first, (DARK, BRIGHT))
    return max(float(bright - dark), LEAST_STEPS * float(frames.dtype.kind == "u"))


def standing_out(part: NDArray[Any], most: int, *, span: float) -> Found:
    """Find what stands alone in a rectangle of a frame and may be a hot pixel; `most` and one at most.

    Nothing is found within REACH of its edges.
    """
    return _found(part, most, span, lambda planes, out: int(isolated(planes, LEAST * span, SPREADS, out)))


def standing_alone(part: NDArray[Any], most: int, *, span: float) -> Found:
    """Find, in the same way, what stands alone so clearly that one frame is enough to tell."""
    least = LEAST_SINGLE * span
    return _found(
        part, most, span, lambda planes, out: int(impulses(planes, least, SPREADS_SINGLE, SHARE, out))
    )


def most_defects(shape: tuple[int, ...]) -> int:
    """Return how many values of a frame of frames (n, h, w[, c]) may be defects."""
    return max(1, int(MOST * math.prod(shape[1:])))


def gather_hot_pixels(
    out: Iterable[Found], alone: Iterable[Found], shape: tuple[int, ...], *, in_pairs: bool
) -> HotPixels:
    """Decide by what stands out in each frame, and what does so alone, of frames of this shape.

    What is found too often is no defect. Frames are asked for one by one, and no more than are needed.
    """
    most, planes = most_defects(shape), (*shape[1:3], *(shape[3:] or (1,)))
    fixed = np.empty(0, np.intp)
    if shape[0] > 2 or in_pairs:
        fixed = _steady(_numbered(found if len(found) <= most else found[:0], planes) for found in out)
    single = []
    for found in alone:
        numbers, _ = _numbered(found if len(found) <= most else found[:0], planes)
        single.append(_places(np.setdiff1d(numbers, fixed), planes))
    return HotPixels(_places(fixed, planes), tuple(single))


def _steady(of_frames: Iterable[tuple[NDArray[np.intp], NDArray[np.float64]]]) -> NDArray[np.intp]:
    """Keep what stands out in every frame, about alike; the search ends when nothing is left that may."""
    numbers: NDArray[np.intp] | None = None
    for here, off in of_frames:
        if numbers is None:
            numbers, smallest, largest = here, off, off
        else:
            numbers, before, now = np.intersect1d(numbers, here, assume_unique=True, return_indices=True)
            smallest = np.minimum(smallest[before], off[now])
            largest = np.maximum(largest[before], off[now])
        if not len(numbers):
            return numbers
    assert numbers is not None  # there are frames
    # Of one sign, both are far from 0 on the same side; of two, their quotient is below 0.
    return numbers[np.minimum(smallest / largest, largest / smallest) >= STEADY]


def _found(part: NDArray[Any], most: int, span: float, search: Search) -> Found:
    if span <= 0:
        return np.empty((0, 4))
    planes = np.ascontiguousarray(colours(part))
    out = np.empty((min(most + 1, planes.size), 4))
    return out[: search(planes, out)]


def _search(frames: Frames, k: int, search: Callable[[NDArray[Any], int], Found]) -> Found:
    """Search frame k in bands of rows, until there is more than could be defects."""
    height, width = frames.shape[1:3]
    most = most_defects(frames.shape)

    def in_band(top: int) -> Found:
        rows = slice(max(0, top - REACH), min(height, top + BAND + REACH))
        found = search(np.asarray(frames[k, rows, slice(0, width)]), most).copy()
        found[:, 0] += rows.start
        return found

    found = [np.empty((0, 4))]
    for of_band in map_blocks(in_band, range(0, height, BAND)):
        found.append(of_band)
        if sum(map(len, found)) > most:
            break
    return np.concatenate(found)


def _numbered(found: Found, planes: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the places as numbers in planes (h, w, c), ascending, and by how much each stands out."""
    numbers = np.ravel_multi_index(tuple(found[:, :3].astype(np.intp).T), planes)
    order = np.argsort(numbers)
    return numbers[order], found[order, 3]


def _places(numbers: NDArray[np.intp], planes: tuple[int, ...]) -> Places:
    return np.stack(np.unravel_index(numbers, planes), axis=1)


def _count(places: Places) -> int:
    return len(np.unique(places[:, :2], axis=0))
