"""Hot and dead pixels: isolated values at the same place of every frame, or very clear ones in one frame.

Clusters of them, as in JPEG files, are in `hot_clusters.py`.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import map_blocks
from panfocus.preprocess._kernel_hot_pixels import REACH, find_isolated
from panfocus.preprocess.hot_clusters import (
    CLUSTER_REACH,
    RIM,
    SPREAD,
    Clusters,
    choose_clusters,
    cluster_pixels,
    fill_clusters,
    find_clusters,
)
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
MOST_CLUSTERS = 0.0001  # share of all values
MOST = 0.001  # share of all values: more are not defects but a pattern
BAND = 128  # rows that a thread searches at once
SEARCH_REACH = REACH  # pixels around a value that the search reads
REPAIR_REACH = CLUSTER_REACH  # pixels around a repaired value that it may depend on
MIDDLE = 3  # index of the lower median of 8 sorted values: always an existing value

Places = NDArray[np.intp]  # (m, 3): row, column, channel; sorted, none at the border
Candidates = NDArray[np.float64]  # (m, 4): row, column, channel, difference from the surroundings


class RepairedFrames(LazyFrames):
    """Frames in which defects are replaced when read.

    Values at given places become the median of their 8 neighbours; clusters are filled from their rims.
    """

    def __init__(self, frames: Frames, places: Sequence[Places], clusters: Clusters) -> None:
        super().__init__(frames.shape, frames.dtype)
        self.source = frames
        self._places = places  # of each frame
        self._clusters = clusters

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        spans = [*place, slice(None), slice(None)][:2]
        rows, cols = (range(length)[span] for length, span in zip(self.shape[1:3], spans, strict=True))
        places = _inside(self._places[k], rows, cols)
        clusters = _inside(self._clusters, _wider(rows, SPREAD), _wider(cols, SPREAD))
        if not len(places) + len(clusters):
            return np.asarray(self.source[k, *place])
        around = [
            range(max(0, span.start - REPAIR_REACH), min(span.stop + REPAIR_REACH, length))
            for span, length in zip((rows, cols), self.shape[1:3], strict=True)
        ]
        top, left = around[0].start, around[1].start
        wide = np.array(self.source[k, *(slice(span.start, span.stop) for span in around)])
        y, x, c = (places - (top, left, 0)).T
        medians = _neighbour_medians(colours(wide), y, x, c)
        fill_clusters(colours(wide), clusters - (top, left, 0))
        colours(wide)[y, x, c] = medians
        return wide[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left].copy()


def _wider(span: range, margin: int) -> range:
    return range(span.start - margin, span.stop + margin)


def _inside(places: Places, rows: range | slice, cols: range | slice) -> Places:
    """Return the places, sorted by row, that are inside a rectangle."""
    first, end = np.searchsorted(places[:, 0], (rows.start, rows.stop))
    x = places[first:end, 1]
    return np.asarray(places[first:end][(x >= cols.start) & (x < cols.stop)])


def _neighbour_medians(planes: NDArray[Any], *places: NDArray[np.intp]) -> NDArray[Any]:
    """Return the median of the 8 neighbours of each row, column and channel."""
    y, x, c = places
    neighbours = [
        planes[y + down, x + right, c] for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right
    ]
    return np.asarray(np.sort(np.stack(neighbours), axis=0)[MIDDLE])


@dataclass(frozen=True, eq=False)
class HotPixels:
    """Places of defects: the same in every frame (`fixed` and `clusters`), and those of single frames."""

    fixed: Places
    single: tuple[Places, ...]  # of each frame
    clusters: Clusters
    n_doubtful: int = 0  # clusters that are not repaired, because they may be detail of the scene

    @property
    def n_fixed(self) -> int:
        """Number of pixels that are defective in every frame, in one channel or several."""
        return _count_pixels(self.fixed)

    @property
    def n_single(self) -> int:
        """Number of pixels that are defective in one frame, over all frames."""
        return sum(map(_count_pixels, self.single))

    def repair(self, frames: Frames) -> Frames:
        """Return the frames with each defect replaced, when read, by values around it."""
        if not len(self.fixed) + len(self.clusters) + sum(map(len, self.single)):
            return frames
        places = [np.unique(np.concatenate([self.fixed, single]), axis=0) for single in self.single]
        return RepairedFrames(frames, places, self.clusters)

    def within(self, rows: slice, cols: slice) -> "HotPixels":
        """Return the defects inside a rectangle, relative to its corner; clusters with their rims inside."""
        inner = (slice(span.start + RIM, span.stop - RIM) for span in (rows, cols))
        corner = (rows.start, cols.start, 0)
        fixed, *single = (_inside(places, rows, cols) - corner for places in (self.fixed, *self.single))
        return HotPixels(fixed, tuple(single), _inside(self.clusters, *inner) - corner)

    def report(self) -> dict[str, int]:
        """Return the counts as plain data."""
        return {
            "fixed": self.n_fixed,
            "single": self.n_single,
            "clusters": len(self.clusters),
            "doubtful_clusters": self.n_doubtful,
        }


def find_hot_pixels(frames: Frames, *, in_pairs: bool = False) -> HotPixels:
    """Search frames, before alignment, one at a time.

    Fine detail may be in focus in both of two frames. Fixed defects of two frames are therefore searched only
    with `in_pairs`; clusters need three frames. With `in_pairs`, doubtful clusters are repaired too.
    """
    span = value_span(frames)

    def candidates(*, single: bool) -> Iterator[Candidates]:
        return (_search_frame(frames, k, span, single) for k in range(len(frames)))

    return combine_candidates(
        candidates(single=False),
        candidates(single=True),
        find_clusters(frames, span, cluster_limit(frames.shape)),
        frames.shape,
        in_pairs=in_pairs,
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


def cluster_limit(shape: tuple[int, ...]) -> int:
    """Return the largest number of clusters in the first of frames (n, h, w[, c]) that may be defects."""
    return max(1000, int(MOST_CLUSTERS * math.prod(shape[1:]))) if shape[0] > 2 else 0


def combine_candidates(
    fixed: Iterable[Candidates],
    single: Iterable[Candidates],
    clusters: NDArray[np.float64],
    shape: tuple[int, ...],
    *,
    in_pairs: bool,
) -> HotPixels:
    """Decide from the candidates of each frame, for frames of this shape, which values are defects.

    Frames with too many candidates have a pattern, not defects. The iterables are read frame by frame, only
    as far as needed.
    """
    most, planes = defect_limit(shape), (*shape[1:3], *(shape[3:] or (1,)))
    steady = np.empty(0, np.intp)
    if shape[0] > 2 or in_pairs:
        steady = _steady_places(_number(each if len(each) <= most else each[:0], planes) for each in fixed)

    def pixels(row: float, column: float, bits: float) -> NDArray[np.intp]:
        places = cluster_pixels(int(row), int(column), int(bits))
        return places[:, 0] * planes[1] + places[:, 1]

    is_new = [
        not np.isin(pixels(row, column, strong), steady // planes[2]).all()
        for row, column, _, strong, _ in clusters
    ]
    chosen, n_doubtful = choose_clusters(clusters[is_new], doubtful=in_pairs)
    defective = np.concatenate([steady[:0], *(pixels(*each) for each in chosen)])
    in_clusters = np.add.outer(defective * planes[2], np.arange(planes[2]))
    of_frames = []
    for each in single:
        numbers, _ = _number(each if len(each) <= most else each[:0], planes)
        of_frames.append(_places(np.setdiff1d(numbers, np.union1d(steady, in_clusters)), planes))
    steady = np.setdiff1d(steady, in_clusters)
    return HotPixels(_places(steady, planes), tuple(of_frames), chosen, n_doubtful)


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
