"""Grey image pyramids for registration."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus._threads import for_all
from panfocus.registration._kernel_matching import add_gray, halve
from panfocus.stack import Frames

FINEST_PIXELS = 1_600_000  # largest finest level; positions are subpixel, so more would not improve them
SMALLEST_SIDE = 24  # pixels of the shorter side of the coarsest level
READ_ROWS = 128  # rows of a frame that a thread reads at once


class Pyramid:
    """Pyramid of one grey frame: level k is halved k times, levels below `finest` are not stored."""

    def __init__(self, frames: Frames, k: int) -> None:
        self.shape = frames.shape[1:3]
        self.finest = finest_level(self.shape)
        self._levels = [_read_gray(frames, k, self.finest)]
        while min(self._levels[-1].shape) >= 2 * SMALLEST_SIDE:
            finer = self._levels[-1]
            coarser = np.empty((finer.shape[0] // 2, finer.shape[1] // 2), np.float32)
            halve(finer, coarser)
            self._levels.append(coarser)
        self.coarsest = self.finest + len(self._levels) - 1

    def __getitem__(self, level: int) -> FloatArray:
        return self._levels[level - self.finest]


def finest_level(shape: tuple[int, ...]) -> int:
    """Return the finest level on which frames of this shape are measured."""
    level = 0
    while (shape[0] >> level) * (shape[1] >> level) > FINEST_PIXELS:
        level += 1
    return level


def _read_gray(frames: Frames, k: int, level: int) -> FloatArray:
    """Return frame k in grey without alpha, halved `level` times, read in bands of rows."""
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
