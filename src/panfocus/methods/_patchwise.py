"""What methods share that choose a frame per patch and let the patches over a pixel vote."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import may_end_here
from panfocus.decide import majority, vote_shares
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.patches import patch_origins, spread_each
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

PATCHES_PER_BLOCK = 8192  # gathered at once: 2 MB of patches of 64 pixels

# Activity (n,) of the patches of a grey frame (h, w) with origins rows x cols, row by row.
Activity = Callable[[FloatArray, IntArray, IntArray], FloatArray]


@dataclass(frozen=True)
class Choice:
    """Which frames each patch of a tile is given to, and what that makes of the pixels inside."""

    rows: IntArray  # origins of the patches, counted from the tile's outer corner
    cols: IntArray
    shares: IntArray  # (n_frames, rows, cols) of each patch's vote
    votes: IntArray  # (n_frames, h, w) of the inner part: what the shares of the patches over a pixel sum to


def fuse_by_votes(
    frames: NDArray[Any],
    tile: Tile,
    *,
    size: int,
    stride: int,
    activity: Activity,
    layers: Collection[str] = (),
) -> FusionResult:
    """Give each patch to the frame most active there, and each pixel the mean of the patches over it.

    The halo is `size - 1`, and what an activity looks at beyond its patch: all patches over a pixel of the
    inner part must be judged as in the whole image.
    """
    votes = choose_frames(frames, tile, size=size, stride=stride, activity=activity).votes
    kept = votes if "votes" in layers else None
    return FusionResult(by_votes(frames[:, *tile.core], votes), *majority(votes), votes=kept)


def choose_frames(frames: NDArray[Any], tile: Tile, *, size: int, stride: int, activity: Activity) -> Choice:
    """Give each patch of the tile's outer part to the frame most active there, and count the votes."""
    rows, cols = patch_grid(tile, size, stride)
    activities = np.stack([activity(to_gray(frame), rows, cols) for frame in frames])
    shares = vote_shares(activities).reshape(len(frames), len(rows), len(cols))
    votes = spread_each(shares, frames.shape[1:3], rows, cols, size)[:, *tile.core]
    return Choice(rows, cols, shares, votes)


def patch_grid(tile: Tile, size: int, stride: int) -> tuple[IntArray, IntArray]:
    """Origins, counted from a tile's outer corner, of the whole image's patches that lie in that part."""
    rows, cols = (
        origins[slice(*np.searchsorted(origins, [span.start, span.stop - size + 1]))] - span.start
        for origins, span in zip(
            (patch_origins(length, size, stride) for length in tile.shape), tile.outer, strict=True
        )
    )
    return rows, cols


def in_blocks(work: Callable[[IntArray], FloatArray], rows: IntArray, n_cols: int) -> FloatArray:
    """Join `work(rows)` over blocks of rows."""
    return np.concatenate([work(rows[block]) for block in row_blocks(len(rows), n_cols)])


def row_blocks(n_rows: int, n_cols: int) -> Iterator[slice]:
    """Cut rows of patches into blocks that hold few enough of them to stay in the cache."""
    step = max(1, PATCHES_PER_BLOCK // n_cols)
    for start in range(0, n_rows, step):
        may_end_here()
        yield slice(start, min(start + step, n_rows))
