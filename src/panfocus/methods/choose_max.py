"""SR-CM and SR-KSVD: "choose-max" of sparse codes over cosines, or over a learned dictionary.

B. Yang and S. Li, "Multifocus image fusion and restoration with sparse representation", IEEE Transactions on
Instrumentation and Measurement 59(4), 2010. The dictionary of SR-KSVD is learned from sharp patches after
Aharon, Elad and Bruckstein, "K-SVD: An algorithm for designing overcomplete dictionaries for sparse
representation", IEEE Transactions on Signal Processing 54(11), 2006.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_choice, check_integer
from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus.decide.compose import sum_in_any_order
from panfocus.decide.patches import add_patches, centred_patches, patch_means
from panfocus.dictionary import CoupledDictionary, overcomplete_dct
from panfocus.methods._patchwise import Choice, FrameCoding, check_dictionary
from panfocus.methods._tile import Tile
from panfocus.sparse import Pursuit

Reconstruct = Literal["pixels", "codes"]

ATOMS_PER_PIXEL = 4  # 256 atoms for the paper's patches of 8 x 8
MAX_PATCH_SIZE = 45  # px: larger patches would need more atoms than a dictionary may have


@dataclass(frozen=True, kw_only=True)
class ChooseMax(FrameCoding):
    """Choose per patch the frame whose sparse code over one dictionary has the largest l1 norm."""

    reconstruct: Reconstruct = field(
        default="pixels",
        metadata={
            "help": "pixels (default): take pixels of the chosen frames. codes: rebuild patches from the "
            "chosen sparse codes, which smooths the image by the error that eps and max_atoms allow."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("reconstruct", self.reconstruct, get_args(Reconstruct))

    @property
    def layers(self) -> tuple[str, ...]:
        """Votes, if the image is composed by votes."""
        return super().layers if self.reconstruct == "pixels" else ()

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the votes, and of float64 sums and their sorted copy if codes are used."""
        rebuilding = 24 * n_frames * n_channels if self.reconstruct == "codes" else 0
        return super().working_bytes(n_frames, n_channels, tile) + rebuilding * tile.pixels

    def _compose(self, frames: NDArray[Any], tile: Tile, choice: Choice, pursuit: Pursuit) -> NDArray[Any]:
        """Compose the chosen frames, or average the patches rebuilt from their codes, for each channel."""
        if self.reconstruct == "pixels":
            return super()._compose(frames, tile, choice, pursuit)
        scale = IntensityScale.of(frames.dtype)
        channels = np.moveaxis(frames.reshape(*frames.shape[:3], -1), 3, 1)
        sums = [
            [self._sum_patches(scale.to_unit(plane), shares, choice, pursuit)[tile.core] for plane in frame]
            for frame, shares in zip(channels, choice.shares, strict=True)
        ]
        means = sum_in_any_order(np.array(sums)) / choice.votes.sum(axis=0)
        return np.stack(list(scale.from_unit(means)), axis=-1).reshape(*means.shape[1:], *frames.shape[3:])

    def _sum_patches(
        self, plane: FloatArray, shares: IntArray, choice: Choice, pursuit: Pursuit
    ) -> FloatArray:
        """Sum D a plus the mean of each patch that a frame wins, weighted by its share of the vote."""
        total = np.zeros(plane.shape)
        for row, share in zip(choice.rows, shares, strict=True):
            won = share > 0
            grid = np.array([row]), choice.cols[won], self._size
            rebuilt = pursuit.approximations(centred_patches(plane, *grid)[0]) + patch_means(plane, *grid)
            add_patches(total, share[won] * rebuilt, *grid)
        return total


@dataclass(frozen=True, kw_only=True)
class SrCm(ChooseMax):
    """Sparse coding over a fixed cosine dictionary; a baseline of the paper that needs no learning."""

    patch_size: int = field(
        default=8,
        metadata={
            "help": "Side of the patches in pixels, 2 to 45. The dictionary has 4 patch_size^2 atoms: larger "
            "is much slower. Default: 8."
        },
    )

    def __post_init__(self) -> None:
        check_integer("patch_size", self.patch_size, at_least=2, at_most=MAX_PATCH_SIZE)
        super().__post_init__()

    @property
    def dictionary(self) -> CoupledDictionary:
        """The cosines, as a dictionary of one level."""
        return _cosines(self.patch_size)

    @property
    def atoms(self) -> FloatArray:
        """The cosines."""
        return self.dictionary.focused


@cache
def _cosines(patch_size: int) -> CoupledDictionary:
    atoms = overcomplete_dct(patch_size, ATOMS_PER_PIXEL * patch_size**2)
    return CoupledDictionary(atoms[None], origin="overcomplete cosines")


@dataclass(frozen=True, kw_only=True)
class SrKsvd(ChooseMax):
    """Sparse coding over a dictionary of sharp patches; a baseline of the paper."""

    dictionary: CoupledDictionary = field(
        default_factory=lambda: CoupledDictionary.default("ksvd"),
        metadata={
            "help": "Learned dictionary: a .npz file or the name of a shipped one. It sets the patch size; "
            "only its focused level is used. Default: ksvd."
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("sr-ksvd", self.dictionary)
        super().__post_init__()

    @property
    def atoms(self) -> FloatArray:
        """The focused level."""
        return self.dictionary.focused
