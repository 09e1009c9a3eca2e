"""A frame as registration sees it: grey, and again and again at half the size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus._threads import for_all
from panfocus.registration._kernel_blocks import add_gray, halve
from panfocus.stack import Frames

ENOUGH_PIXELS = (
    1_600_000  # of the finest level: places are found to a small part of a pixel, also of a halved one
)
LEAST_SIDE = 24  # pixels of the shorter side that the coarsest level has at least
READ_ROWS = 128  # of a frame that a thread reads at once


class Pyramid:
    """Levels of one frame; level k is halved k times. Those before `finest` are not kept."""

    def __init__(self, frames: Frames, k: int) -> None:
        self.shape = frames.shape[1:3]
        self.finest = finest_level(self.shape)
        self._levels = [_reduced(frames, k, self.finest)]
        while min(self._levels[-1].shape) >= 2 * LEAST_SIDE:
            above = self._levels[-1]
            below = np.empty((above.shape[0] // 2, above.shape[1] // 2), np.float32)
            halve(above, below)
            self._levels.append(below)
        self.coarsest = self.finest + len(self._levels) - 1

    def __getitem__(self, level: int) -> FloatArray:
        return self._levels[level - self.finest]


def finest_level(shape: tuple[int, ...]) -> int:
    """Return how often frames of a size are halved before anything is measured on them."""
    level = 0
    while (shape[0] >> level) * (shape[1] >> level) > ENOUGH_PIXELS:
        level += 1
    return level


def _reduced(frames: Frames, k: int, level: int) -> FloatArray:
    """Return frame k in grey, halved so often, read band by band; alpha is left out."""
    height, width = frames.shape[1:3]
    channels = frames.shape[3] if frames.ndim == 4 else 1
    n_colours = channels - 1 if channels in (2, 4) else channels
    times = 1 << level
    gray = np.empty((height // times, width // times), np.float32)

    band = max(1, READ_ROWS // times)

    def reduce(top: int) -> None:
        rows = gray[top : top + band]
        source: NDArray[Any] = np.asarray(frames[k, top * times : (top + len(rows)) * times, 0:width])
        add_gray(source.reshape(*source.shape[:2], channels), n_colours, times, rows)

    for_all(reduce, range(0, len(gray), band))
    return gray
