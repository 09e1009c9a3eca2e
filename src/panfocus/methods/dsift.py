"""Dense SIFT: the frame with more gradient in a sliding window, and a closer look where windows disagree.

Y. Liu, S. Liu, Z. Wang, "Multi-focus image fusion with dense SIFT", Information Fusion 23 (2015) 139-155.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import one_of, whole_number
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import map_blocks
from panfocus.decide import majority, vote_shares, without_small_regions
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.patches import spread_each
from panfocus.errors import InputError
from panfocus.methods import _dense_sift
from panfocus.methods._patchwise import patch_grid
from panfocus.methods._tile import Tile, cover
from panfocus.result import FusionResult

Refinement = Literal["matching", "sharpness", "none"]

MAX_CELL = 64  # descriptors are then 256 pixels wide: focus in details is long lost in that
UNDECIDED = -1
BLOCK = 256  # side in pixels of what is refined at a time
SHARPNESS_RADIUS = 3  # of the square whose squared differences tell how sharp its centre is
SEARCH_RADIUS = 3  # how far off, in rows and columns, another frame may show the same thing


class View(NamedTuple):
    """What decides between frames: how sharp each place is, and where to find what the other shows."""

    sharpness: FloatArray
    searchable: _dense_sift.Searchable | None


@dataclass(frozen=True, kw_only=True)
class DSIFT:
    """Give a pixel to the frame whose dense SIFT activity is the largest in all windows over it.

    A pixel that is not decided so goes to the sharper of the two frames most active there, or to both. Frames
    that tie are averaged: their order does not matter.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels",)
    uses_all_threads: ClassVar[bool] = False

    cell: int = field(
        default=6,
        metadata={
            "help": "side in pixels of a descriptor's 4 x 4 cells; larger decides by wider surroundings"
        },
    )
    window: int = field(
        default=8,
        metadata={"help": "side in pixels of the sliding window; larger leaves more pixels undecided"},
    )
    refinement: Refinement = field(
        default="matching",
        metadata={
            "help": "matching: clean the regions, settle the rest by sharpness at matching places; "
            "sharpness: the same at the pixel alone; none: mean of the frames by the windows they win"
        },
    )
    min_region: int = field(
        default=3600,
        metadata={"help": "pixels of the smallest region, and of the smallest hole, that refinement leaves"},
    )

    def __post_init__(self) -> None:
        whole_number("cell", self.cell, at_least=1, at_most=MAX_CELL)
        for name in ("window", "min_region"):
            whole_number(name, getattr(self, name), at_least=1)
        one_of("refinement", self.refinement, get_args(Refinement))

    @property
    def halo(self) -> int | None:
        """What all windows over a pixel see; with refinement a region may go through the whole image."""
        return self._reach if self.refinement == "none" else None

    @property
    def _reach(self) -> int:
        return self.window - 1 + _dense_sift.reach(self.cell)

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Activities and votes of every frame; with refinement these are of a block, and a whole decision."""
        per_pixel = 10 + 28 * n_frames if self.refinement == "none" else 25 + 4 * n_frames
        return per_pixel * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile; with refinement, a whole image."""
        if self.window > min(tile.shape):
            raise InputError(
                f"window {self.window}: windows of {self.window} x {self.window} pixels do not fit into "
                f"an image side of {min(tile.shape)} pixels"
            )
        if self.refinement == "none":
            votes = self._votes(self._activities(frames), tile)
            return FusionResult(by_votes(frames[:, *tile.core], votes), majority(votes)[0])
        blocks = cover(tile.shape, BLOCK, self._reach)
        decided: IntArray = np.empty(tile.shape, np.int32)
        contenders = np.empty((len(frames), *tile.shape), np.bool_)
        decide = partial(self._decide, frames)
        for block, part in zip(blocks, map_blocks(decide, blocks), strict=True):
            decided[block.inner], contenders[:, *block.inner] = part
        decided = _cleaned(decided, len(frames), self.min_region)
        image = np.empty(frames.shape[1:], frames.dtype)
        labels = np.empty(tile.shape, np.uint8 if len(frames) <= 256 else np.uint16)
        settle = partial(self._settle, frames, decided, contenders)
        for block, (part_image, part_labels) in zip(blocks, map_blocks(settle, blocks), strict=True):
            image[block.inner], labels[block.inner] = part_image, part_labels
        return FusionResult(image, labels)

    def _activities(self, frames: NDArray[Any]) -> FloatArray:
        return np.stack([_dense_sift.activity(to_gray(frame), self.cell) for frame in frames])

    def _votes(self, activities: FloatArray, tile: Tile) -> IntArray:
        """Add up for each frame (n, h, w) its shares of the votes of the windows over a pixel of the tile."""
        rows, cols = patch_grid(tile, self.window, 1)
        sums = np.stack([window_sums(activity, self.window, self.window) for activity in activities])
        return spread_each(vote_shares(sums), activities.shape[1:], rows, cols, self.window)[:, *tile.core]

    def _decide(self, frames: NDArray[Any], block: Tile) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the frame that alone wins all windows over a pixel, and who contends for it otherwise."""
        activities = self._activities(frames[:, *block.outer])
        votes = self._votes(activities, block)
        alone = votes.sum(axis=0) == votes.max(axis=0)
        return np.where(alone, votes.argmax(axis=0), UNDECIDED), _contenders(activities[:, *block.core])

    def _settle(
        self, frames: NDArray[Any], decided: IntArray, contenders: NDArray[np.bool_], block: Tile
    ) -> tuple[NDArray[Any], IntArray]:
        """Return picture and labels of a block; undecided pixels go to the sharper of two contenders."""
        votes = np.stack([decided[block.inner] == k for k in range(len(frames))]).astype(np.uint8)
        rows, cols = np.nonzero(decided[block.inner] == UNDECIDED)
        votes[:, rows, cols] = contenders[:, *block.inner][:, rows, cols]
        two = votes[:, rows, cols].sum(axis=0) == 2
        if two.any():
            rows, cols = rows[two], cols[two]
            pair = np.nonzero(votes[:, rows, cols].T)[1].reshape(-1, 2).T
            lead = self._leads(frames, block.inner[0].start + rows, block.inner[1].start + cols, pair)
            for k, stays in zip(pair, (lead >= 0, lead <= 0), strict=True):
                votes[k, rows, cols] = stays
        return by_votes(frames[:, *block.inner], votes), majority(votes)[0]

    def _leads(self, frames: NDArray[Any], rows: IntArray, cols: IntArray, pairs: IntArray) -> IntArray:
        """Compare the two frames of each pixel's pair: 1 where the first leads, -1 the second, 0 if none."""
        reach = SEARCH_RADIUS + max(_dense_sift.reach(self.cell), SHARPNESS_RADIUS)
        top, left = max(0, rows.min() - reach), max(0, cols.min() - reach)
        box = slice(top, rows.max() + reach + 1), slice(left, cols.max() + reach + 1)
        views = {k: self._view(to_gray(frames[k][box])) for k in np.unique(pairs)}
        leads = np.zeros(len(rows), np.int8)
        for a, b in np.unique(pairs, axis=1).T:
            at = np.flatnonzero((pairs[0] == a) & (pairs[1] == b))
            leads[at] = _lead(views[a], views[b], (rows[at] - top, cols[at] - left))
        return leads

    def _view(self, gray: FloatArray) -> View:
        searchable = None
        if self.refinement == "matching":
            searchable = _dense_sift.Searchable.of(gray, self.cell, SEARCH_RADIUS)
        return View(local_sharpness(gray), searchable)


def _contenders(activities: FloatArray) -> NDArray[np.bool_]:
    """Mark the two most active frames (n, h, w); only those of the first place if more share the second."""
    second, first = np.partition(activities, -2, axis=0)[-2:]
    two = activities >= second
    marked: NDArray[np.bool_] = np.where(two.sum(axis=0) > 2, activities == first, two)
    return marked


def _lead(a: View, b: View, places: _dense_sift.Places) -> IntArray:
    """Compare two frames: 1 where the first is sharper, -1 the second, 0 if neither is.

    What one frame shows at a pixel the other may show beside it. So both are looked up: who leads must be
    sharper in what the one frame shows at the pixel, and in what the other shows there.
    """
    in_a, in_b = places, places
    if a.searchable and b.searchable:
        in_a = _dense_sift.matches(b.searchable, a.searchable, places)
        in_b = _dense_sift.matches(a.searchable, b.searchable, places)
    by_a = np.sign(a.sharpness[places] - b.sharpness[in_b])
    by_b = np.sign(a.sharpness[in_a] - b.sharpness[places])
    return np.where(by_a == by_b, by_a, 0).astype(np.int8)


def _cleaned(decided: IntArray, n_frames: int, min_region: int) -> IntArray:
    """Remove small regions and fill small holes.

    A hole holds no region of another frame, which would have been smaller still: no two claim a pixel.
    """
    cleaned = np.full_like(decided, UNDECIDED)
    for k in range(n_frames):
        cleaned[without_small_regions(decided == k, min_region)] = k
    return cleaned


def local_sharpness(gray: FloatArray) -> FloatArray:
    """Sum of squared differences of neighbours in the square around each pixel: its spatial frequency."""
    side = 2 * SHARPNESS_RADIUS + 1
    extended = np.pad(gray, SHARPNESS_RADIUS, "symmetric")
    down, across = np.diff(extended, axis=0) ** 2, np.diff(extended, axis=1) ** 2
    return window_sums(down, side - 1, side) + window_sums(across, side, side - 1)


def window_sums(plane: FloatArray, height: int, width: int) -> FloatArray:
    """Sum over every window that fits, each in the same order, wherever it lies."""
    n_rows, n_cols = plane.shape[0] - height + 1, plane.shape[1] - width + 1
    down = plane[:n_rows].copy()
    for i in range(1, height):
        down += plane[i : i + n_rows]
    sums = down[:, :n_cols].copy()
    for j in range(1, width):
        sums += down[:, j : j + n_cols]
    return sums
