"""What methods share that choose a frame per patch and let the patches over a pixel vote."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._float import FloatArray, IntArray
from panfocus.compose import by_votes
from panfocus.gray import to_gray
from panfocus.methods._method import FusionResult, Tile
from panfocus.patches import patch_origins, spread
from panfocus.select import RunningBest, majority

PATCHES_PER_BLOCK = 8192  # gathered at once: 2 MB of patches of 64 pixels

# Activity (n,) of the patches of a grey frame (h, w) with origins rows x cols, row by row.
Activity = Callable[[FloatArray, IntArray, IntArray], FloatArray]


def fuse_by_votes(
    frames: NDArray[Any], tile: Tile, *, size: int, stride: int, activity: Activity
) -> FusionResult:
    """Give each patch to the frame most active there, and each pixel the mean of the patches over it.

    The halo is `size - 1`: all patches over a pixel of the inner part lie in the outer one.
    """
    rows, cols = patch_grid(tile, size, stride)
    winners = most_active(frames, rows, cols, activity)
    votes = np.stack(
        [
            spread((winners == k).astype(np.uint16), frames.shape[1:3], rows, cols, size)[tile.core]
            for k in range(len(frames))
        ]
    )
    labels, confidence = majority(votes)
    return FusionResult(by_votes(frames[:, *tile.core], votes), labels, confidence)


def patch_grid(tile: Tile, size: int, stride: int) -> tuple[IntArray, IntArray]:
    """Origins, counted from a tile's outer corner, of the whole image's patches that lie in that part."""
    rows, cols = (
        origins[slice(*np.searchsorted(origins, [span.start, span.stop - size + 1]))] - span.start
        for origins, span in zip(
            (patch_origins(length, size, stride) for length in tile.shape), tile.outer, strict=True
        )
    )
    return rows, cols


def most_active(frames: NDArray[Any], rows: IntArray, cols: IntArray, activity: Activity) -> IntArray:
    """Return the frame of largest activity for every patch (len(rows), len(cols))."""
    best = RunningBest(len(rows) * len(cols), len(frames))
    for k, frame in enumerate(frames):
        best.offer(k, activity(to_gray(frame), rows, cols))
    return best.labels.reshape(len(rows), len(cols))


def in_blocks(work: Callable[[IntArray], FloatArray], rows: IntArray, n_cols: int) -> FloatArray:
    """Join `work(rows)` over blocks of rows that hold few enough patches to stay in the cache."""
    step = max(1, PATCHES_PER_BLOCK // n_cols)
    return np.concatenate([work(rows[start : start + step]) for start in range(0, len(rows), step)])
