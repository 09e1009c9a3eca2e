"""Base class of methods that choose a frame per patch by sparse coding, and let overlapping patches vote."""

import math
from abc import abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_integer, check_number
from panfocus._filters import Filter, filtered, gaussian, reach
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import check_cancelled, map_blocks
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import majority, vote_shares
from panfocus.decide.patches import centred_patches, check_stride, spread_each
from panfocus.decide.reblur import estimate_noise
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile, patch_grid
from panfocus.result import FusionResult
from panfocus.sparse import Pursuit
from panfocus.stack import Frames, sampled_strips

PATCHES_PER_BLOCK = 8192  # extracted at once: 2 MB for patches of 64 pixels

# In noise. A level is 1/255 of the range of the frames, between these percentiles of their grey values.
ATOMS_IN_NOISE = 8  # fewer lose flat patches, with more the noise in smooth texture wins
DARK, BRIGHT = 0.1, 99.9
UNHEEDED = 1.0  # level: deviation of rounding and JPEG, which clean photographs have too
# Gaussian average of activities, in patches: deviation per level of noise, and the largest. With little noise
# the average vanishes, so that borders stay sharp.
WIDTH_PER_LEVEL, MOST_WIDTH = 0.3, 6.0


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
        return self.fuse_by(pursuit, frames, tile, layers)

    def fuse_by(
        self,
        pursuit: Pursuit,
        frames: NDArray[Any],
        tile: Tile,
        layers: Collection[str],
        average: Filter | None = None,
    ) -> FusionResult:
        """Fuse a tile with this sparse coding; `average` filters the activities of neighbouring patches."""
        rows, cols = patch_grid(tile, self._size, self.stride)
        activities = np.stack([self._activities(to_gray(frame), rows, cols, pursuit) for frame in frames])
        if average:
            for activity in activities.reshape(len(frames), len(rows), len(cols)):
                activity[:] = filtered(activity, average)
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


@dataclass(frozen=True, kw_only=True)
class FrameCoding(SparseMethod):
    """Code patches of the frames themselves, with few atoms where the rest may be noise.

    A greedy code of noise takes dozens of nearly parallel atoms with large coefficients. A noisy blurred
    patch would then win over a sharp one. `survey` measures the noise of the whole frames. Activities of
    neighbouring patches are averaged over a width that grows with the noise.
    """

    survey_bytes: ClassVar[int] = 8

    max_atoms: int = field(
        default=24,
        metadata={
            "help": "Largest number of atoms in the sparse code of a patch; 8 if its error is within the "
            "measured noise. 0: no limit, as in the paper; weak under noise, and slow. Default: 24."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("max_atoms", self.max_atoms, at_least=0)

    def plan_surveys(self, shape: tuple[int, int]) -> "tuple[_Surveyed, _Surveyed]":
        """Return the results of `survey` for frames (h, w) without noise, and for the noisiest."""
        return _Surveyed(self, 0.0, 0.0), _Surveyed(self, 1.0, MOST_WIDTH)

    def survey(self, frames: Frames) -> "_Surveyed":
        """Measure the noise of the frames."""
        if not self.max_atoms:
            return _Surveyed(self, 0.0, 0.0)
        limits, noises = zip(*map_blocks(partial(_measure, frames), range(len(frames))), strict=True)
        level = float(np.ptp(limits)) / 255
        measured = math.fsum(noises) / len(frames)  # exact: the order of frames changes no bit
        noise = math.sqrt(max(0.0, measured**2 - (UNHEEDED * level) ** 2))
        return _Surveyed(self, noise, min(WIDTH_PER_LEVEL * noise / level, MOST_WIDTH) if noise else 0.0)

    def from_measurements(self, measured: dict[str, Any]) -> "_Surveyed":
        """Return the method that `survey` returned with these measurements."""
        return _Surveyed(self, **measured)

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse the whole image."""
        return self.survey(frames).fuse(frames, tile, layers)

    def pursuit(self, noise: float) -> Pursuit:
        """Return the sparse coding of patches with this standard deviation of the noise, in unit range."""
        n_pixels = len(self.atoms)
        return Pursuit(
            self.atoms,
            max_atoms=self.max_atoms or n_pixels,
            max_sq_error=self.eps,
            noise=(n_pixels - 1) * noise**2,  # of a patch without its mean
            atoms_in_noise=ATOMS_IN_NOISE if noise else n_pixels,
        )


@dataclass(frozen=True)
class _Surveyed(FusionMethod):
    """The method with the measurements of the whole frames."""

    maps: ClassVar[tuple[str, ...]] = SparseMethod.maps

    settings: FrameCoding
    noise: float  # standard deviation in unit range
    width: float  # of the average of activities, in patches

    @property
    def measured(self) -> dict[str, Any]:
        """The measurements, as plain numbers."""
        return {"noise": self.noise, "width": self.width}

    @property
    def layers(self) -> tuple[str, ...]:
        """Layers of the method."""
        return self.settings.layers

    @property
    def halo(self) -> int:
        """Reach of the patches over a pixel, and of the average of their activities."""
        return self.settings.halo + self.settings.stride * (reach(self._average) if self._average else 0)

    @property
    def _average(self) -> Filter | None:
        return gaussian(self.width) if self.width else None

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the method."""
        return self.settings.working_bytes(n_frames, n_channels, tile)

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile."""
        pursuit = self.settings.pursuit(self.noise)
        return self.settings.fuse_by(pursuit, frames, tile, layers, self._average)


def _measure(frames: Frames, k: int) -> tuple[FloatArray, float]:
    """Return the dark and bright percentiles of frame k in grey and its noise, in unit range."""
    strips = [to_gray(strip) for strip in sampled_strips(frames, k)]
    return np.percentile(np.concatenate(strips), (DARK, BRIGHT)), estimate_noise(strips)


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
