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

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        spans = [*place, slice(None), slice(None)][:2]
        rows, cols = (range(length)[span] for length, span in zip(self.shape[1:3], spans, strict=True))
        first, end = np.searchsorted(self._places[k][:, 0], (rows.start, rows.stop))
        y, x, c = self._places[k][first:end].T
        inside = (x >= cols.start) & (x < cols.stop)
        if not inside.any():
            return np.asarray(self.source[k, *place])
        # With a pixel around it, by which those at its edges are repaired.
        top, left = max(0, rows.start - 1), max(0, cols.start - 1)
        around = (
            slice(top, min(rows.stop + 1, self.shape[1])),
            slice(left, min(cols.stop + 1, self.shape[2])),
        )
        wide = np.asarray(self.source[k, *around])
        part = wide[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left].copy()
        y, x, c = y[inside], x[inside], c[inside]
        colours(part)[y - rows.start, x - cols.start, c] = _medians_beside(
            colours(wide), y - top, x - left, c
        )
        return part


def _medians_beside(planes: NDArray[Any], *places: NDArray[np.intp]) -> NDArray[Any]:
    """Return the medians of the 8 values around each of these rows, columns and channels."""
    y, x, c = places
    beside = [planes[y + down, x + right, c] for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    return np.asarray(np.sort(np.stack(beside), axis=0)[MIDDLE])
