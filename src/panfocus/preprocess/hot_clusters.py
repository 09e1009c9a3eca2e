"""Clusters of hot pixels: defects that demosaicing or JPEG has spread over several pixels.

A cluster stands out at the same place of every frame, with the same pattern, however the focus of its
surroundings changes.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import for_all
from panfocus.preprocess._kernel_hot_pixels import APART, WINDOW, find_compact
from panfocus.stack import Frames, colours

# A cluster differs from its rim in every frame: by this share of the range of values, and by this many median
# deviations of the rim.
LEAST, DEVIATIONS = 0.08, 4.0
QUIET = 0.5  # of its difference: 95 % of the values of the rim differ from their median by less
MOST_WIDE = 12  # values that differ by half as much as the largest one: 3 x 3 pixels and some of chroma
# Its pattern in the 5 x 5 pixels around its centre correlates with that of the first frame by at least this
# value; the weakest pattern has at least this share of the strongest.
ALIKE, STEADY = 0.8, 0.5
# Detail that is as sharp in all frames is as steady. The squared Laplacian around a cluster, relative to the
# contrast there, must therefore vary through the stack: the smallest has at most this share of the largest.
CHANGES = 0.7
CORE, SPREAD, RIM = 2, 3, 4  # pixels: radius of the pattern, of the repaired pixels, of those they come from
AREA = 32  # pixels: radius of the surroundings whose focus is compared
SPREAD_SHARE = 0.12  # of the largest difference: repaired are pixels that differ by more, on average
STRONG = 0.25  # the same: a cluster is dropped if all stronger pixels are repaired singly
CLUSTER_REACH = SPREAD + RIM  # pixels around a repaired one that its value may depend on
SEARCH_MARGIN = AREA + 1  # pixels around a value that the search reads
BAND = 128  # rows that a thread searches at once

Clusters = NDArray[np.int64]  # (m, 3): row and column of the centre, and bits of the repaired pixels


_BITS = (np.int64(1) << np.arange((2 * SPREAD + 1) ** 2)).reshape(2 * SPREAD + 1, -1)  # 49 pixels


class ClusterSearch:
    """Search of one part of every frame; `add` takes the part of each frame in turn.

    Parameters
    ----------
    span : float
        Range of values.
    inside : (slice, slice)
        The rows and columns of the part that are searched, if they are WINDOW pixels from its edges. The part
        has SEARCH_MARGIN more pixels on each side, unless the frame ends before.
    most : int
        More candidates in the first frame are a pattern of the scene.
    """

    def __init__(self, span: float, inside: tuple[slice, slice], most: int) -> None:
        self.n_first = 0  # number of candidates in the first frame
        self._least, self._inside, self._most = LEAST * span, inside, most
        self._places: NDArray[np.intp] | None = None  # (m, 3): row, column, channel

    def add(self, part: NDArray[Any]) -> None:
        """Find candidates in the first frame; drop those that another frame contradicts."""
        planes = np.ascontiguousarray(colours(part))
        if self._places is None:
            self._start(planes)
        elif len(self._places):
            self._compare(planes)

    @property
    def is_over(self) -> bool:
        """Whether no candidate is left."""
        return self._places is not None and not len(self._places)

    def found(self) -> NDArray[np.float64]:
        """Return row, column, bits of repaired and of strong pixels, and change of focus (m, 5)."""
        if self._places is None or not len(self._places):
            return np.empty((0, 5))
        sizes = np.abs(self._sums)
        sizes = (sizes / sizes.max(axis=(1, 2, 3), keepdims=True)).max(axis=3)
        bits = [np.sum(np.where(sizes >= share, _BITS, 0), axis=(1, 2)) for share in (SPREAD_SHARE, STRONG)]
        change = np.ones(len(sizes))
        smallest, largest = self._detail.T
        np.divide(smallest, largest, out=change, where=largest > 0)
        return np.column_stack([self._places[:, :2], *bits, change])

    def _start(self, planes: NDArray[Any]) -> None:
        rows, cols = self._inside
        out = np.empty((self._most + 1, 3), np.intp)
        if self._least > 0:
            spans = (rows.start, rows.stop, cols.start, cols.stop)
            self.n_first = find_compact(planes, spans, self._least, DEVIATIONS, QUIET, MOST_WIDE, out)
        self._places = out[: self.n_first if self.n_first <= self._most else 0]
        self._sums, _, _, detail = _measure(planes, self._places)
        self._first = _core(self._sums)
        self._strength = np.ones((len(detail), 2))  # smallest and largest
        self._detail = np.stack([detail, detail], axis=1)

    def _compare(self, planes: NDArray[Any]) -> None:
        assert self._places is not None
        differences, amounts, is_quiet, detail = _measure(planes, self._places)
        core, first = _core(differences), self._first
        product, square = np.sum(core * first, axis=1), np.sum(first * first, axis=1)
        strength = product / square
        for ends, now in ((self._strength, strength), (self._detail, detail)):
            ends[:, 0] = np.minimum(ends[:, 0], now)
            ends[:, 1] = np.maximum(ends[:, 1], now)
        self._sums += differences
        kept = is_quiet & (amounts >= self._least)
        kept &= product >= ALIKE * np.sqrt(np.sum(core * core, axis=1) * square)
        kept &= self._strength[:, 0] >= STEADY * self._strength[:, 1]
        self._places, self._first, self._sums = self._places[kept], first[kept], self._sums[kept]
        self._strength, self._detail = self._strength[kept], self._detail[kept]


def find_clusters(frames: Frames, span: float, most: int) -> NDArray[np.float64]:
    """Search frames, before alignment, one at a time in bands of rows; return what `found` returns."""
    if most == 0:
        return np.empty((0, 5))
    height, width = frames.shape[1:3]
    searches = {}
    for top in range(0, height, BAND):
        rows = slice(max(0, top - SEARCH_MARGIN), min(height, top + BAND + SEARCH_MARGIN))
        inner = slice(top - rows.start, min(top + BAND, height) - rows.start)
        searches[rows.start, rows.stop] = ClusterSearch(span, (inner, slice(0, width)), most)
    for k in range(len(frames)):

        def search(band: tuple[int, int], k: int = k) -> None:
            searches[band].add(np.asarray(frames[k, slice(*band), slice(0, width)]))

        for_all(search, [band for band, each in searches.items() if not each.is_over])
        if sum(each.n_first for each in searches.values()) > most:
            return np.empty((0, 5))
    return np.concatenate(
        [each.found() + np.array([start, 0, 0, 0, 0]) for (start, _), each in searches.items()]
    )


def choose_clusters(found: NDArray[np.float64], *, doubtful: bool) -> tuple[Clusters, int]:
    """Return the clusters to repair, and the number of those that may be detail of the scene.

    The surroundings of a defect change with the focus. Plain ones cannot show it: if those of a third of all
    clusters change, all are defects. With `doubtful` all are repaired anyway.
    """
    changes = found[:, 4] <= CHANGES
    if doubtful or 3 * np.count_nonzero(changes) >= len(found):
        changes[:] = True
    chosen = found[changes, :3].astype(np.int64)
    return chosen[np.lexsort((chosen[:, 1], chosen[:, 0]))], int(np.count_nonzero(~changes))


def cluster_pixels(row: int, column: int, bits: int) -> NDArray[np.intp]:
    """Return row and column (m, 2) of the pixels of a cluster."""
    y, x = np.nonzero(bits & _BITS)
    return np.column_stack([y + row - SPREAD, x + column - SPREAD])


def fill_clusters(planes: NDArray[Any], clusters: Clusters) -> None:
    """Replace the pixels of clusters in planes (h, w, c) by weighted means of the pixels around them."""
    side = slice(-RIM, RIM + 1)
    down, right = np.mgrid[side, side]
    for y, x, bits in clusters:
        window = planes[y - RIM : y + RIM + 1, x - RIM : x + RIM + 1]
        is_bad = np.pad((bits & _BITS) != 0, RIM - SPREAD)
        good = window[~is_bad].astype(np.float64)  # a copy: (m, c)
        squares = (down[is_bad][:, None] - down[~is_bad]) ** 2 + (
            right[is_bad][:, None] - right[~is_bad]
        ) ** 2
        weights = 1.0 / (squares * squares)
        values = np.stack([(weights * channel).sum(axis=1) for channel in good.T], axis=1)
        values /= weights.sum(axis=1, keepdims=True)
        window[is_bad] = np.rint(values) if planes.dtype.kind == "u" else values


def _core(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    margin = SPREAD - CORE
    core = differences[:, margin:-margin, margin:-margin]
    return core.reshape(len(core), math.prod(core.shape[1:]))


def _measure(
    planes: NDArray[Any], places: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Measure places (m, 3: row, column, channel) in planes (h, w, c).

    Return the differences (m, 7, 7, c) from the median of the rim, their size in the centre, whether the rim
    is quiet, and the detail of the surroundings.
    """
    away = np.abs(np.arange(-WINDOW, WINDOW + 1))
    is_rim, margin = np.maximum.outer(away, away) >= APART, WINDOW - SPREAD
    differences = np.empty((len(places), 2 * SPREAD + 1, 2 * SPREAD + 1, planes.shape[2]))
    amounts, detail = np.empty((2, len(places)))
    is_quiet = np.empty(len(places), np.bool_)
    for i, (y, x, c) in enumerate(places):
        window = planes[y - WINDOW : y + WINDOW + 1, x - WINDOW : x + WINDOW + 1].astype(np.float64)
        middle = np.median(window[is_rim], axis=0)
        differences[i] = window[margin:-margin, margin:-margin] - middle
        amounts[i] = abs(differences[i, SPREAD, SPREAD, c])
        deviations = np.sort(np.abs(window[is_rim][:, c] - middle[c]))
        n = len(deviations)
        is_quiet[i] = deviations[n - n // 20 - 1] <= QUIET * amounts[i]
        is_quiet[i] &= DEVIATIONS * deviations[n // 2] <= amounts[i]
        detail[i] = _surrounding_detail(planes, y, x)
    return differences, amounts, is_quiet, detail


def _surrounding_detail(planes: NDArray[Any], y: int, x: int) -> float:
    """Return the squared Laplacian around a place relative to the squared contrast.

    Exposure does not change it, and percentiles ignore other defects.
    """
    top, left = max(0, y - AREA), max(0, x - AREA)
    area = planes[top : y + AREA + 1, left : x + AREA + 1].mean(axis=2, dtype=np.float64)
    detail = 4 * area[1:-1, 1:-1] - area[:-2, 1:-1] - area[2:, 1:-1] - area[1:-1, :-2] - area[1:-1, 2:]
    dark, bright = np.percentile(area, (5, 95))
    return float(np.percentile(detail * detail, 90) / (bright - dark) ** 2) if bright > dark else 0.0
