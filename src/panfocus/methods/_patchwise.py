"""Base class of methods that choose a frame per patch by sparse coding, and let overlapping patches vote."""

import math
from abc import abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_integer, check_number
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import check_cancelled
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import majority, vote_shares
from panfocus.decide.patches import centred_patches, check_stride, spread_each
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile, patch_grid
from panfocus.result import FusionResult
from panfocus.sparse import Pursuit

PATCHES_PER_BLOCK = 8192  # extracted at once: 2 MB for patches of 64 pixels


@dataclass(frozen=True)
class Choice:
    """Frames chosen for the patches of a tile, and the resulting votes for the pixels of its inner part."""

    rows: IntArray  # origins of the patches, relative to the tile's outer part
    cols: IntArray
    shares: IntArray  # (n_frames, rows, cols): each patch's vote
    votes: IntArray  # (n_frames, h, w): sum of the shares of the patches that cover a pixel


def row_blocks(n_rows: int, n_cols: int) -> Iterator[slice]:
    """Split rows of patches into blocks small enough for the cache."""
    step = max(1, PATCHES_PER_BLOCK // n_cols)
    for start in range(0, n_rows, step):
        check_cancelled()
        yield slice(start, min(start + step, n_rows))


@dataclass(frozen=True, kw_only=True)
class SparseMethod(FusionMethod):
    """Give each patch to its most active frame, and each pixel the mean of the patches that cover it.

    Confidence is the share of votes for the label, among the patches that cover a pixel. A method that needs
    pixels around a patch overrides `_activities` and `halo`, others at most `_activity`.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence")

    stride: int = field(
        default=1,
        metadata={"help": "Distance between patches in pixels; larger is faster and coarser. Default: 1."},
    )
    eps: float = field(
        default=0.1,
        metadata={
            "help": "Error left by the sparse code of a patch, as a share of the patch's energy (0 to 1). "
            "Smaller is more exact and slower. Default: 0.1."
        },
    )

    def __post_init__(self) -> None:
        check_number("eps", self.eps)
        if not 0 < self.eps < 1:
            raise InputError(
                f"`eps` must be between 0 and 1 (exclusive), got {self.eps}.", setting="eps", got=self.eps
            )
        check_integer("stride", self.stride, at_least=1)
        check_stride(self.stride, self._size)

    @property
    @abstractmethod
    def atoms(self) -> FloatArray:
        """The dictionary D (patch_size**2, n_atoms), with unit columns."""

    @property
    def _size(self) -> int:
        return math.isqrt(len(self.atoms))

    @property
    def layers(self) -> tuple[str, ...]:
        """The image is the mean of the frames, weighted by votes."""
        return ("votes",)

    @property
    def halo(self) -> int:
        """Distance of the farthest pixel in any patch that covers a pixel."""
        return self._size - 1

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the activities and votes; patches and codes are few at a time."""
        return (30 + 22 * n_frames) * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, deciding on grey."""
        pursuit = Pursuit(self.atoms, max_atoms=len(self.atoms), max_sq_error=self.eps)
        rows, cols = patch_grid(tile, self._size, self.stride)
        activities = np.stack([self._activities(to_gray(frame), rows, cols, pursuit) for frame in frames])
        shares = vote_shares(activities).reshape(len(frames), len(rows), len(cols))
        votes = spread_each(shares, frames.shape[1:3], rows, cols, self._size)[:, *tile.core]
        image = self._compose(frames, tile, Choice(rows, cols, shares, votes), pursuit)
        return FusionResult(image, *majority(votes), votes=votes if "votes" in layers else None)

    def _activities(self, gray: FloatArray, rows: IntArray, cols: IntArray, pursuit: Pursuit) -> FloatArray:
        """Return the activity of the patches of a grey frame (h, w) with origins rows x cols, row by row."""
        blocks = (rows[block] for block in row_blocks(len(rows), len(cols)))
        patches_of_blocks = (centred_patches(gray, block, cols, self._size) for block in blocks)
        return np.concatenate([self._activity(*patches, pursuit) for patches in patches_of_blocks])

    def _activity(self, patches: FloatArray, energies: FloatArray, pursuit: Pursuit) -> FloatArray:
        """Return the activity of patches (patch_size**2, n): here, the l1 norms (n,) of their codes."""
        return np.asarray(pursuit.l1_norms(patches, segments=1)[0])

    def _compose(self, frames: NDArray[Any], tile: Tile, choice: Choice, pursuit: Pursuit) -> NDArray[Any]:
        """Return the image of the tile's inner part."""
        return by_votes(frames[:, *tile.core], choice.votes)


def check_dictionary(
    method: str, dictionary: object, *, of_focus_maps: bool = False, coupled: bool = False
) -> None:
    """Raise if a value is not a dictionary of the kind that the method needs."""
    if not isinstance(dictionary, CoupledDictionary):
        raise InputError(
            f"`dictionary` must be a CoupledDictionary, got {dictionary!r}.",
            setting="dictionary",
            got=repr(dictionary),
        )
    needed = ""
    if dictionary.of_focus_maps != of_focus_maps:
        needed = "learned from focus maps" if of_focus_maps else "learned from images, not from focus maps"
    elif coupled and dictionary.n_levels < 2:
        needed = "with two or more levels"
    if needed:
        raise InputError(
            f"The method {method} needs a dictionary {needed}.",
            setting="dictionary",
            got=str(dictionary),
            needed=needed,
        )
