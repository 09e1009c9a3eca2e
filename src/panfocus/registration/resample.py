"""Resampling of frames to the pixels of the reference, in their own dtype and tile by tile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import for_all
from panfocus.registration._kernel_resample import MARGIN, local_range, sample_splines, to_coefficients
from panfocus.registration.models import Matrix, apply, corners
from panfocus.stack import Frames

TILE_ROWS, TILE_COLS = 256, 512  # fixed: the last bits of a pixel depend on where tiles start


def resample(
    frames: Frames, k: int, H: Matrix, area: tuple[slice, slice], *, onto: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Return frame k sampled at H(x, y) for all pixels (x, y) of an area of the reference.

    Pixels that the frame does not show are copied from `onto`, or 0.
    """
    rows, cols = area
    size = (rows.stop - rows.start, cols.stop - cols.start)
    out = np.zeros((*size, *frames.shape[3:]), frames.dtype) if onto is None else onto.copy()
    target = out.reshape(*size, -1)
    tiles = [(y, x) for y in range(0, size[0], TILE_ROWS) for x in range(0, size[1], TILE_COLS)]

    def fill(tile: tuple[int, int]) -> None:
        y, x = tile
        part = target[y : y + TILE_ROWS, x : x + TILE_COLS]
        here = H @ np.array([[1, 0, cols.start + x], [0, 1, rows.start + y], [0, 0, 1.0]])
        _fill_tile(frames, k, here, part)

    for_all(fill, tiles)
    return out


def _fill_tile(frames: Frames, k: int, H: Matrix, out: NDArray[Any]) -> None:
    """Fill one tile from the part of a frame that it shows."""
    height, width = frames.shape[1:3]
    outline = apply(H, corners(out.shape))
    low, high = np.floor(outline.min(axis=0)) - MARGIN, np.ceil(outline.max(axis=0)) + MARGIN + 1
    left, top = (int(v) for v in np.maximum(low, 0))
    right, bottom = (int(v) for v in np.minimum(high, [width, height]))
    if left >= right or top >= bottom:
        return
    values = np.asarray(frames[k, top:bottom, left:right])
    values = np.ascontiguousarray(values.reshape(bottom - top, right - left, -1))
    working = np.float64 if values.dtype == np.float64 else np.float32
    coefficients = values.astype(working)
    to_coefficients(coefficients)
    least, most = np.empty_like(values), np.empty_like(values)
    local_range(values, least, most)
    sample_splines(
        coefficients,
        least,
        most,
        H,
        np.array([top, left]),
        np.array([height, width]),
        values.dtype.kind == "u",
        out,
    )
