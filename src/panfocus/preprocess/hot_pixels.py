"""Hot and dead pixels: isolated values at the same place of every frame, or very clear ones in one frame."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import map_blocks
from panfocus.preprocess._kernel_hot_pixels import REACH, find_isolated
from panfocus.stack import Frames, LazyFrames, colours, sampled_strips

# Percentiles of the first frame whose distance is the range of values. The range has at least this many
# integer steps; otherwise rounding would look like defects.
DARK, BRIGHT, LEAST_STEPS = 0.1, 99.9, 64
# A fixed defect differs from its surroundings in every frame: by this share of the range, by this many median
# deviations, and in each frame by this share of its largest difference.
LEAST, DEVIATIONS, STEADY = 0.1, 10.0, 0.5
# A defect of a single frame must be clearer, and none of its 8 neighbours may differ by this share of its own
# difference: real detail is softer, even if it is one pixel wide.
LEAST_SINGLE, DEVIATIONS_SINGLE, SHARE = 0.2, 20.0, 0.1
MOST = 0.001  # share of all values: more are not defects but a pattern
BAND = 128  # rows that a thread searches at once
SEARCH_REACH = REACH  # pixels around a value that the search reads
MIDDLE = 3  # index of the lower median of 8 sorted values: always an existing value

Places = NDArray[np.intp]  # (m, 3): row, column, channel; sorted, none at the border
Candidates = NDArray[np.float64]  # (m, 4): row, column, channel, difference from the surroundings


class RepairedFrames(LazyFrames):
    """Frames in which values at given places are replaced by the median of their 8 neighbours when read."""

    def __init__(self, frames: Frames, places: Sequence[Places]) -> None:
        super().__init__(frames.shape, frames.dtype)
        self.source = frames
        self._places = places  # of each frame

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        spans = [*place, slice(None), slice(None)][:2]
        rows, cols = (range(length)[span] for length, span in zip(self.shape[1:3], spans, strict=True))
        first, end = np.searchsorted(self._places[k][:, 0], (rows.start, rows.stop))
        y, x, c = self._places[k][first:end].T
        inside = (x >= cols.start) & (x < cols.stop)
        if not inside.any():
            return np.asarray(self.source[k, *place])
        # Read one more pixel on each side, to repair pixels at the edges.
        top, left = max(0, rows.start - 1), max(0, cols.start - 1)
        around = (
            slice(top, min(rows.stop + 1, self.shape[1])),
            slice(left, min(cols.stop + 1, self.shape[2])),
        )
        wide = np.asarray(self.source[k, *around])
        part = wide[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left].copy()
        y, x, c = y[inside], x[inside], c[inside]
        medians = _neighbour_medians(colours(wide), y - top, x - left, c)
        colours(part)[y - rows.start, x - cols.start, c] = medians
        return part


def _neighbour_medians(planes: NDArray[Any], *places: NDArray[np.intp]) -> NDArray[Any]:
    """Return the median of the 8 neighbours of each row, column and channel."""
    y, x, c = places
    neighbours = [
        planes[y + down, x + right, c] for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right
    ]
    return np.asarray(np.sort(np.stack(neighbours), axis=0)[MIDDLE])


@dataclass(frozen=True, eq=False)
class HotPixels:
    """Places of defects: the same in every frame (`fixed`), and those of single frames."""

    fixed: Places
    single: tuple[Places, ...]  # of each frame

    @property
    def n_fixed(self) -> int:
        """Number of pixels that are defective in every frame, in one channel or several."""
        return _count_pixels(self.fixed)

    @property
    def n_single(self) -> int:
        """Number of pixels that are defective in one frame, over all frames."""
        return sum(map(_count_pixels, self.single))

    def repair(self, frames: Frames) -> Frames:
        """Return the frames with each defect replaced, when read, by the median of its 8 neighbours."""
        if not len(self.fixed) + sum(map(len, self.single)):
            return frames
        places = [np.unique(np.concatenate([self.fixed, single]), axis=0) for single in self.single]
        return RepairedFrames(frames, places)

    def within(self, rows: slice, cols: slice) -> "HotPixels":
        """Return the defects inside a rectangle, relative to its corner."""

        def inside(places: Places) -> Places:
            y, x = places[:, 0], places[:, 1]
            here = (y >= rows.start) & (y < rows.stop) & (x >= cols.start) & (x < cols.stop)
            return np.asarray(places[here] - (rows.start, cols.start, 0))

        return HotPixels(inside(self.fixed), tuple(map(inside, self.single)))


def find_hot_pixels(frames: Frames, *, in_pairs: bool = False) -> HotPixels:
    """Search frames, before alignment, one at a time.

    Fine detail may be in focus in both of two frames. Fixed defects of two frames are therefore searched only
    with `in_pairs`.
    """
    span = value_span(frames)

    def candidates(*, single: bool) -> Iterator[Candidates]:
        return (_search_frame(frames, k, span, single) for k in range(len(frames)))

    return combine_candidates(
        candidates(single=False), candidates(single=True), frames.shape, in_pairs=in_pairs
    )


def value_span(frames: Frames) -> float:
    """Return the range of values in the first frame, the unit of differences."""
    first = np.concatenate([colours(strip).ravel() for strip in sampled_strips(frames, 0)])
    dark, bright = np.percentile(first, (DARK, BRIGHT))
    return max(float(bright - dark), LEAST_STEPS * float(frames.dtype.kind == "u"))


def find_candidates(part: NDArray[Any], most: int, *, span: float, single: bool) -> Candidates:
    """Return isolated values in a rectangle of a frame, `most` + 1 at most.

    They may be fixed defects or, with `single`, are clear enough to be defects of this frame alone. Values
    within SEARCH_REACH of the edges are not searched.
    """
    if span <= 0:
        return np.empty((0, 4))
    planes = np.ascontiguousarray(colours(part))
    out = np.empty((min(most + 1, planes.size), 4))
    least, deviations = (LEAST_SINGLE, DEVIATIONS_SINGLE) if single else (LEAST, DEVIATIONS)
    return out[: find_isolated(planes, least * span, deviations, single, SHARE, out)]


def defect_limit(shape: tuple[int, ...]) -> int:
    """Return the largest number of values per frame of frames (n, h, w[, c]) that may be defects."""
    return max(1, int(MOST * math.prod(shape[1:])))


def combine_candidates(
    fixed: Iterable[Candidates], single: Iterable[Candidates], shape: tuple[int, ...], *, in_pairs: bool
) -> HotPixels:
    """Decide from the candidates of each frame, for frames of this shape, which values are defects.

    Frames with too many candidates have a pattern, not defects. The iterables are read frame by frame, only
    as far as needed.
    """
    most, planes = defect_limit(shape), (*shape[1:3], *(shape[3:] or (1,)))
    steady = np.empty(0, np.intp)
    if shape[0] > 2 or in_pairs:
        steady = _steady_places(_number(each if len(each) <= most else each[:0], planes) for each in fixed)
    of_frames = []
    for each in single:
        numbers, _ = _number(each if len(each) <= most else each[:0], planes)
        of_frames.append(_places(np.setdiff1d(numbers, steady), planes))
    return HotPixels(_places(steady, planes), tuple(of_frames))


def _steady_places(candidates: Iterable[tuple[NDArray[np.intp], NDArray[np.float64]]]) -> NDArray[np.intp]:
    """Return the numbers of values that differ in every frame by about as much; stop when none is left."""
    numbers: NDArray[np.intp] | None = None
    for here, difference in candidates:
        if numbers is None:
            numbers, smallest, largest = here, difference, difference
        else:
            numbers, before, now = np.intersect1d(numbers, here, assume_unique=True, return_indices=True)
            smallest = np.minimum(smallest[before], difference[now])
            largest = np.maximum(largest[before], difference[now])
        if not len(numbers):
            return numbers
    assert numbers is not None  # there are frames
    # With equal signs the quotient is at most 1; with different signs it is negative.
    return numbers[np.minimum(smallest / largest, largest / smallest) >= STEADY]


def _search_frame(frames: Frames, k: int, span: float, single: bool) -> Candidates:
    """Search frame k in bands of rows; stop when there are more candidates than defects allowed."""
    height, width = frames.shape[1:3]
    most = defect_limit(frames.shape)

    def search_band(top: int) -> Candidates:
        rows = slice(max(0, top - REACH), min(height, top + BAND + REACH))
        part = np.asarray(frames[k, rows, slice(0, width)])
        candidates = find_candidates(part, most, span=span, single=single).copy()
        candidates[:, 0] += rows.start
        return candidates

    parts = [np.empty((0, 4))]
    for part in map_blocks(search_band, range(0, height, BAND)):
        parts.append(part)
        if sum(map(len, parts)) > most:
            break
    return np.concatenate(parts)


def _number(candidates: Candidates, planes: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the flat indices of candidates in planes (h, w, c), ascending, and their differences."""
    numbers = np.ravel_multi_index(tuple(candidates[:, :3].astype(np.intp).T), planes)
    order = np.argsort(numbers)
    return numbers[order], candidates[order, 3]


def _places(numbers: NDArray[np.intp], planes: tuple[int, ...]) -> Places:
    return np.stack(np.unravel_index(numbers, planes), axis=1)


def _count_pixels(places: Places) -> int:
    return len(np.unique(places[:, :2], axis=0))
