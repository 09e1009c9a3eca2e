"""Checks of a prepared stack: whether it is one of optical sections, and whether something moved.

docs/exposure.md has the measurements.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from panfocus._downscale import reduced, reduction
from panfocus._filters import Filter, box, filtered, gaussian
from panfocus._intensity import FloatArray
from panfocus._threads import map_blocks
from panfocus.errors import Notice
from panfocus.stack import Frames, colours

DOMINANT = 0.97  # share of the image that is taken from one frame
CONFIDENT = 0.5  # mean confidence below which labels tell little about single frames
NOTHING = 1e-4  # share of the image below which a frame does not contribute
MOST_NAMES = 3  # frames named in a notice

LARGEST = 640  # pixels: frames are reduced until no side is longer
LEAST_SIDE = 64  # pixels: smaller frames are not checked
BAND = 1 << 20  # values of a frame that are read at once

PLACES = 16  # blocks along the longer side, each wider than the blur of most stacks
# Blur keeps the light of a block, so it is alike in all frames. In optical sections planes go dark: less than
# this share of the light of the blocks, each in its brightest frame, is left in their darkest frames.
LEFT = 0.4

# In a window of a frame, something moved if the next frame does not correlate with it, whichever of the two
# is blurred further, but does elsewhere.
WINDOW = 25  # pixels of the reduced frame
SMOOTH = gaussian(1.5)
AROUND = box(WINDOW // 2 + 1, step=2)  # the window, in steps that smooth frames allow
BLURS = tuple(gaussian(width, cut=2.5) for width in (2.0, 4.0, 7.0))
UNLIKE, ALIKE = 0.5, 0.85  # largest correlation in place, and least correlation elsewhere
NEAR, FAR = 3, 24  # pixels: distances to that place
MOST_WINDOWS = 400  # more that do not correlate are frames that do not match as a whole
CONTRAST = 0.03  # least standard deviation in a window, of the range of the frame
EVERY = 4  # pixels between windows
LEAST_WINDOWS = 6  # of a place where something moved
RATIO = 2.5  # of the contrast of both windows


@dataclass(frozen=True)
class Movement:
    """A place (centre and size in pixels) where something moved between a frame and the next one."""

    frame: int
    x: int
    y: int
    size: int
    n_windows: int


def check_stack(frames: Frames, names: Sequence[str], report: dict[str, Any]) -> list[Notice]:
    """Return notices on a fused stack, from its aligned frames and the report of its fusion."""
    notices = check_shares(names, report)
    if min(frames.shape[1:3]) < LEAST_SIDE:
        return notices
    light: list[FloatArray] = []

    def small_frames() -> Iterator[FloatArray]:
        for small in map_blocks(lambda k: reduced_frame(frames, k), range(len(frames))):
            light.append(light_of_blocks(small))
            yield small

    places = find_movements(small_frames(), reduction(frames.shape[1:3], LARGEST))
    if "projection" not in report["method"] and are_sections(light):
        notices.append(
            Notice(
                "The stack looks like optical sections: structures vanish out of focus instead of blurring. "
                "Use the method max-projection."
            )
        )
    elif places:
        largest = max(places, key=lambda place: place.n_windows)
        others = f" and at {len(places) - 1} other places" if len(places) > 1 else ""
        notices.append(
            Notice(
                f"Something moved near x {largest.x}, y {largest.y} ({largest.size} px) between "
                f"{names[largest.frame]} and {names[largest.frame + 1]}{others}; it may appear twice. "
                "Retouch it from one frame."
            )
        )
    return notices


def check_shares(names: Sequence[str], report: dict[str, Any]) -> list[Notice]:
    """Return notices on frames that are the source of nearly all of the image, or of none."""
    shares = report.get("frame_shares", [])
    if not shares or report.get("mean_confidence", 1.0) < CONFIDENT:
        return []
    best = int(np.argmax(shares))
    if shares[best] >= DOMINANT:
        return [
            Notice(
                f"{names[best]} is the sharpest frame almost everywhere ({shares[best]:.1%}); "
                f"the other frames contribute {1 - shares[best]:.1%}."
            )
        ]
    idle = [name for name, share in zip(names, shares, strict=True) if share < NOTHING]
    if not idle:
        return []
    more = f" and {len(idle) - MOST_NAMES} more" if len(idle) > MOST_NAMES else ""
    verb = "are" if len(idle) > 1 else "is"
    return [Notice(f"{', '.join(idle[:MOST_NAMES])}{more} {verb} sharpest nowhere and can be left out.")]


def reduced_frame(frames: Frames, k: int) -> FloatArray:
    """Return the mean of the channels of frame k, reduced to at most LARGEST pixels per side."""
    height, width = frames.shape[1:3]
    factor = reduction((height, width), LARGEST)
    rows = max(1, BAND // (width * factor)) * factor
    bands = []
    for top in range(0, height, rows):
        band = colours(np.asarray(frames[k, slice(top, min(top + rows, height)), slice(0, width)]))
        bands.append(reduced(band, factor).mean(axis=2, dtype=np.float32))
    return np.concatenate(bands)


def light_of_blocks(small: FloatArray) -> FloatArray:
    """Return the mean of each block of a reduced frame."""
    return reduced(small, reduction(small.shape, PLACES)).ravel()


def are_sections(light: Sequence[FloatArray]) -> bool:
    """Return whether blocks lose their light in some frames, as in confocal microscopy."""
    if len(light) < 3:
        return False
    above = np.stack(light).astype(np.float64)
    above = np.maximum(above - np.percentile(above, 1), 0)
    above /= np.maximum(above.mean(axis=1, keepdims=True), np.finfo(float).tiny)
    return bool(above.min(axis=0).sum() < LEFT * above.max(axis=0).sum())


def find_movements(small: Iterable[FloatArray], factor: int) -> list[Movement]:
    """Return the places where something moved between neighbouring frames, in pixels of full size."""
    movements = []
    for k, (before, after) in enumerate(pairwise(map_blocks(_Plane.of_frame, small))):
        for ys, xs in _groups(_moved_windows(before, after)):
            spans = [(each.min(), each.max() + 1) for each in (ys, xs)]
            size = max(end - start for start, end in spans) + WINDOW // 2
            y, x = (int(factor * (start + end) / 2) for start, end in spans)
            movements.append(Movement(k, x, y, int(factor * size), len(ys)))
    return movements


@dataclass(frozen=True)
class _Plane:
    """Values (h, w), with the mean and standard deviation of the window around each pixel."""

    values: FloatArray
    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> "_Plane":
        mean = filtered(values, AROUND)
        variance = filtered(values * values, AROUND) - mean * mean
        return cls(values, mean, np.sqrt(np.maximum(variance, 0)))

    @classmethod
    def of_frame(cls, frame: FloatArray) -> "_Plane":
        """Return a smooth frame, relative to its range of values."""
        dark, bright = np.percentile(frame, (0.5, 99.5))
        unit = (frame - np.float32(frame.mean())) / np.float32(max(bright - dark, np.finfo(np.float32).tiny))
        return cls.of(filtered(unit, SMOOTH))

    def blurred(self, blur: Filter) -> "_Plane":
        return _Plane.of(filtered(self.values, blur))

    def correlation(self, other: "_Plane") -> FloatArray:
        """Return the correlation with another plane in the window around each pixel."""
        product = filtered(self.values * other.values, AROUND)
        deviations = np.maximum(self.deviation * other.deviation, np.float32(1e-9))
        return np.asarray((product - self.mean * other.mean) / deviations)


def _moved_windows(before: _Plane, after: _Plane) -> NDArray[np.intp]:
    """Return rows and columns (2, m) of the windows whose content is elsewhere in the next frame."""
    margin = WINDOW // 2 + FAR
    inside = slice(margin, -margin, EVERY)
    is_suspect = np.minimum(before.deviation, after.deviation)[inside, inside] > CONTRAST
    is_suspect &= before.correlation(after)[inside, inside] < UNLIKE
    for blur in BLURS:
        if is_suspect.any():
            is_suspect &= before.blurred(blur).correlation(after)[inside, inside] < UNLIKE
            is_suspect &= before.correlation(after.blurred(blur))[inside, inside] < UNLIKE
    places = np.argwhere(is_suspect) * EVERY + margin
    if len(places) > MOST_WINDOWS:
        return np.empty((2, 0), np.intp)
    moved = [place for place in places if _is_elsewhere(before.values, after.values, *place)]
    return np.array(moved, np.intp).reshape(-1, 2).T


def _is_elsewhere(before: FloatArray, after: FloatArray, y: int, x: int) -> bool:
    half, far = WINDOW // 2, FAR // 2
    reach = half + FAR
    # Every second pixel of every second window: the frames are smooth.
    content = before[y - half : y + half + 1 : 2, x - half : x + half + 1 : 2]
    around = after[y - reach : y + reach + 1 : 2, x - reach : x + reach + 1 : 2]
    others = sliding_window_view(around, content.shape)
    content = content - content.mean()
    others = others - others.mean(axis=(2, 3), keepdims=True)
    sizes = np.sqrt((others * others).sum(axis=(2, 3)))
    size = np.sqrt((content * content).sum())
    likeness = (others * content).sum(axis=(2, 3)) / np.maximum(sizes * size, np.float32(1e-9))
    best = np.unravel_index(np.argmax(likeness), likeness.shape)
    down, right = (abs(int(shift) - far) for shift in best)
    is_same = size < RATIO * sizes[best] < RATIO * RATIO * size
    return bool(
        max(down, right) < far and 2 * math.hypot(down, right) >= NEAR and is_same and likeness[best] > ALIKE
    )


def _groups(windows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the windows (2, m) of each connected place that has enough of them."""
    left = dict.fromkeys(zip(*windows.tolist(), strict=True))
    while left:
        group = [left.popitem()[0]]
        for y, x in group:
            for place in [(y + dy, x + dx) for dy in (-EVERY, 0, EVERY) for dx in (-EVERY, 0, EVERY)]:
                if place in left:
                    del left[place]
                    group.append(place)
        if len(group) >= LEAST_WINDOWS:
            yield np.array(group).T
