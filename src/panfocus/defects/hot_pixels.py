"""Hot and dead pixels, which stand alone at one place of every frame, and what does so in one frame."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import map_blocks
from panfocus.defects._kernel_isolated import REACH, impulses, isolated
from panfocus.defects.repaired import Places, RepairedFrames
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
        if not self.n_fixed + self.n_single:
            return frames
        of_frames = [_places([*self.fixed.tolist(), *single.tolist()]) for single in self.single]
        return RepairedFrames(frames, of_frames)


def find_hot_pixels(frames: Frames, *, in_pairs: bool = False) -> HotPixels:
    """Look through frames that are not aligned yet, one at a time.

    Two frames may both have fine detail in focus: in pairs, what is alike in both is left unless told.
    """
    first = np.concatenate([colours(strip).ravel() for strip in sampled_strips(frames, 0)])
    dark, bright = np.percentile(first, (DARK, BRIGHT))
    span = max(float(bright - dark), LEAST_STEPS * float(frames.dtype.kind == "u"))
    fixed = _fixed(frames, LEAST * span) if len(frames) > 2 or in_pairs else _places(())
    known = set(map(tuple, fixed.tolist()))
    single = []
    for k in range(len(frames)):
        found = _search(frames, k, partial(_impulses, least=LEAST_SINGLE * span)) if span > 0 else ()
        single.append(_places(row for row in found if row[:3] not in known))
    return HotPixels(fixed, tuple(single))


def _fixed(frames: Frames, least: float) -> Places:
    """Find what stands out in every frame; the search ends when nothing is left that may."""
    if least <= 0:
        return _places(())
    smallest: dict[tuple[float, ...], float] = {}
    largest: dict[tuple[float, ...], float] = {}
    for k in range(len(frames)):
        found = _search(frames, k, lambda planes, out: int(isolated(planes, least, SPREADS, out)))
        here = {tuple(row[:3]): float(row[3]) for row in found}
        places = here.keys() & smallest.keys() if k else here.keys()
        smallest = {place: min(here[place], smallest.get(place, here[place])) for place in places}
        largest = {place: max(here[place], largest.get(place, here[place])) for place in places}
        if not places:
            break
    # Of one sign, both are far from 0 on the same side; of two, their quotient is below 0.
    return _places(
        (*place, 0.0)
        for place, least_off in smallest.items()
        if min(least_off / largest[place], largest[place] / least_off) >= STEADY
    )


def _impulses(planes: NDArray[Any], out: Found, *, least: float) -> int:
    return int(impulses(planes, least, SPREADS_SINGLE, SHARE, out))


def _search(frames: Frames, k: int, search: Search) -> list[tuple[float, ...]]:
    """Search frame k in bands of rows; what is found too often is no defect, and not told."""
    height, width = frames.shape[1:3]
    n_values = math.prod(frames.shape[1:])
    most = max(1, int(MOST * n_values))

    def in_band(top: int) -> list[tuple[float, ...]]:
        rows = slice(max(0, top - REACH), min(height, top + BAND + REACH))
        planes = colours(np.asarray(frames[k, rows, slice(0, width)]))
        out = np.empty((most + 1, 4))
        number = search(np.ascontiguousarray(planes), out)
        found = out[:number]
        found[:, 0] += rows.start
        return [tuple(row) for row in found.tolist()]

    found = list(chain.from_iterable(map_blocks(in_band, range(0, height, BAND))))
    return found if len(found) <= most else []


def _places(found: Any) -> Places:
    """Row, column and channel (m, 3) of what was found, sorted."""
    places = np.array([row[:3] for row in found], np.intp).reshape(-1, 3)
    return np.asarray(np.unique(places, axis=0))


def _count(places: Places) -> int:
    return len(np.unique(places[:, :2], axis=0))
