"""Frames without their hot pixels, repaired where they are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.stack import Frames, LazyFrames, colours

Places = NDArray[np.intp]  # (m, 3): row, column, channel; sorted, and none at the border

MIDDLE = 3  # of 8 values in their order, the lower of two: a value that is there


class RepairedFrames(LazyFrames):
    """Frames in which values at some places, different ones in each, are the median of the 8 around them."""

    def __init__(self, frames: Frames, places: Sequence[Places]) -> None:
        super().__init__(frames.shape, frames.dtype)
        self.source = frames
        self._places = places
        self._values = [_medians_beside(frames, k, of_frame) for k, of_frame in enumerate(places)]

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        part = np.asarray(self.source[k, *place])
        spans = [*place, slice(None), slice(None)][:2]
        rows, cols = (range(length)[span] for length, span in zip(self.shape[1:3], spans, strict=True))
        first, end = np.searchsorted(self._places[k][:, 0], (rows.start, rows.stop))
        y, x, c = self._places[k][first:end].T
        inside = (x >= cols.start) & (x < cols.stop)
        if not inside.any():
            return part
        part = part.copy()
        repaired = y[inside] - rows.start, x[inside] - cols.start, c[inside]
        colours(part)[repaired] = self._values[k][first:end][inside]
        return part


def _medians_beside(frames: Frames, k: int, places: Places) -> NDArray[Any]:
    values = np.empty(len(places), frames.dtype)
    for i, (y, x, c) in enumerate(places):
        around = colours(np.asarray(frames[k, slice(y - 1, y + 2), slice(x - 1, x + 2)]))[..., c].ravel()
        values[i] = np.sort(np.delete(around, around.size // 2))[MIDDLE]
    return values
