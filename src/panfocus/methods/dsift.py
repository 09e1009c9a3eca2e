"""Dense SIFT: choose the frame with the largest gradient activity in sliding windows, then refine.

Y. Liu, S. Liu, Z. Wang, "Multi-focus image fusion with dense SIFT", Information Fusion 23 (2015) 139-155.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_choice, check_integer
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import map_blocks
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import label_dtype, majority, remove_small_regions, vote_shares
from panfocus.decide.patches import spread_each
from panfocus.errors import InputError
from panfocus.methods import _dense_sift
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile, cover, patch_grid
from panfocus.result import FusionResult

Refinement = Literal["matching", "sharpness", "none"]

MAX_CELL = 64  # px: descriptors are then 256 px wide, wider than most details
UNDECIDED = -1
BLOCK = 256  # px: side of the blocks that are refined in parallel
SHARPNESS_RADIUS = 3  # px: radius of the square whose squared differences measure sharpness
SEARCH_RADIUS = 3  # px: largest displacement between frames, in rows and columns


class View(NamedTuple):
    """Sharpness of a frame at each pixel, and its descriptors for matching."""

    sharpness: FloatArray
    searchable: _dense_sift.Searchable | None


@dataclass(frozen=True, kw_only=True)
class DSIFT(FusionMethod):
    """Dense SIFT activity with matching at borders; keeps highlights, and tolerates small misalignment.

    A pixel goes to the frame that wins all windows over it, or else to the sharper of the two most active
    frames. Tied frames are averaged, so that their order does not matter.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels",)

    cell: int = field(
        default=6,
        metadata={
            "help": "Side in pixels of the 4 x 4 cells of a descriptor, 1 to 64; larger decides by a wider "
            "area. Default: 6."
        },
    )
    window: int = field(
        default=8,
        metadata={
            "help": "Side of the sliding window in pixels; larger leaves more pixels to the refinement. "
            "Default: 8."
        },
    )
    refinement: Refinement = field(
        default="matching",
        metadata={
            "help": "matching (default): remove small regions, decide open pixels by sharpness at matching "
            "places. sharpness: the same without matching. none: average the frames by the windows they win."
        },
    )
    min_region: int = field(
        default=3600,
        metadata={
            "help": "Area in pixels below which refinement removes regions and fills holes. Default: 3600."
        },
    )

    def __post_init__(self) -> None:
        check_integer("cell", self.cell, at_least=1, at_most=MAX_CELL)
        for name in ("window", "min_region"):
            check_integer(name, getattr(self, name), at_least=1)
        check_choice("refinement", self.refinement, get_args(Refinement))

    @property
    def halo(self) -> int | None:
        """Reach of all windows over a pixel; None with refinement, as a region may span the image."""
        return self._reach if self.refinement == "none" else None

    @property
    def _reach(self) -> int:
        return self.window - 1 + _dense_sift.reach(self.cell)

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the activities and votes; with refinement they cover a block at a time."""
        per_pixel = 10 + 28 * n_frames if self.refinement == "none" else 25 + 4 * n_frames
        return per_pixel * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile; with refinement, the whole image."""
        if self.window > min(tile.shape):
            raise InputError(
                f"`window` must be at most the shorter side of the image, {min(tile.shape)} pixels, "
                f"got {self.window}.",
                setting="window",
                got=self.window,
                limit=min(tile.shape),
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
        decided = _clean(decided, len(frames), self.min_region)
        image = np.empty(frames.shape[1:], frames.dtype)
        labels = np.empty(tile.shape, label_dtype(len(frames)))
        settle = partial(self._settle, frames, decided, contenders)
        for block, (part_image, part_labels) in zip(blocks, map_blocks(settle, blocks), strict=True):
            image[block.inner], labels[block.inner] = part_image, part_labels
        return FusionResult(image, labels)

    def _activities(self, frames: NDArray[Any]) -> FloatArray:
        return np.stack([_dense_sift.activity(to_gray(frame), self.cell) for frame in frames])

    def _votes(self, activities: FloatArray, tile: Tile) -> IntArray:
        """Return the votes (n, h, w) of the windows over each pixel of the tile's inner part."""
        rows, cols = patch_grid(tile, self.window, 1)
        sums = np.stack([window_sums(activity, self.window, self.window) for activity in activities])
        return spread_each(vote_shares(sums), activities.shape[1:], rows, cols, self.window)[:, *tile.core]

    def _decide(self, frames: NDArray[Any], block: Tile) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the frame that wins all windows over a pixel, or UNDECIDED, and the contending frames."""
        activities = self._activities(frames[:, *block.outer])
        votes = self._votes(activities, block)
        unanimous = votes.sum(axis=0) == votes.max(axis=0)
        return np.where(unanimous, votes.argmax(axis=0), UNDECIDED), _contenders(activities[:, *block.core])

    def _settle(
        self, frames: NDArray[Any], decided: IntArray, contenders: NDArray[np.bool_], block: Tile
    ) -> tuple[NDArray[Any], IntArray]:
        """Return image and labels of a block; undecided pixels go to the sharper of two contenders."""
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
        """Compare the two frames of each pair: 1 where the first is sharper, -1 the second, 0 if neither."""
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
    """Mark the two most active frames (n, h, w); if more than two tie for them, only the most active."""
    second, first = np.partition(activities, -2, axis=0)[-2:]
    two = activities >= second
    marked: NDArray[np.bool_] = np.where(two.sum(axis=0) > 2, activities == first, two)
    return marked


def _lead(a: View, b: View, places: _dense_sift.Places) -> IntArray:
    """Compare two frames: 1 where the first is sharper, -1 the second, 0 if neither is.

    The frames may be displaced. The sharper frame must win twice: at the pixel's content in the first frame,
    and at its content in the second.
    """
    in_a, in_b = places, places
    if a.searchable and b.searchable:
        in_a = _dense_sift.matches(b.searchable, a.searchable, places)
        in_b = _dense_sift.matches(a.searchable, b.searchable, places)
    by_a = np.sign(a.sharpness[places] - b.sharpness[in_b])
    by_b = np.sign(a.sharpness[in_a] - b.sharpness[places])
    return np.where(by_a == by_b, by_a, 0).astype(np.int8)


def _clean(decided: IntArray, n_frames: int, min_region: int) -> IntArray:
    """Remove small regions and fill small holes.

    No two frames claim a pixel: a region inside a small hole would have been removed before.
    """
    cleaned = np.full_like(decided, UNDECIDED)
    for k in range(n_frames):
        cleaned[remove_small_regions(decided == k, min_region)] = k
    return cleaned


def local_sharpness(gray: FloatArray) -> FloatArray:
    """Return the sum of squared differences of neighbours in the square around each pixel."""
    side = 2 * SHARPNESS_RADIUS + 1
    extended = np.pad(gray, SHARPNESS_RADIUS, "symmetric")
    down, across = np.diff(extended, axis=0) ** 2, np.diff(extended, axis=1) ** 2
    return window_sums(down, side - 1, side) + window_sums(across, side, side - 1)


def window_sums(plane: FloatArray, height: int, width: int) -> FloatArray:
    """Return the sum over every window, each in the same order, so that tiling changes no bit."""
    n_rows, n_cols = plane.shape[0] - height + 1, plane.shape[1] - width + 1
    down = plane[:n_rows].copy()
    for i in range(1, height):
        down += plane[i : i + n_rows]
    sums = down[:, :n_cols].copy()
    for j in range(1, width):
        sums += down[:, j : j + n_cols]
    return sums
