"""The paper's method: coupled sparse representation with a weighted maximum of l1 norms.

F. G. Veshki and S. A. Vorobyov, "Multi-Focus Image Fusion using Sparse Representation and Coupled Dictionary
Learning", Algorithm 1. Step numbers in the comments are those of the algorithm.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import one_of, real_number
from panfocus._intensity import FloatArray, IntArray
from panfocus.decide import level_weights, weighted_activity
from panfocus.decide.patches import centred_patches
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import fuse_by_votes, in_blocks
from panfocus.methods._sparse import SparseMethod, check_dictionary
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

Contrast = Literal["restored", "normalised"]


@dataclass(frozen=True, kw_only=True)
class Coupled(SparseMethod):
    """Choose per patch the frame whose sparse code over [D_F, D_B] is most active, Eq. (7)."""

    dictionary: CoupledDictionary = field(
        default_factory=CoupledDictionary.default,
        metadata={"help": "coupled dictionary, which also sets the patch size; the shipped one by default"},
    )
    w: float = field(
        default=0.55,
        metadata={"help": "weight of the focused atoms, 0.5 <= w < 1; the blurred ones weigh 1 - w"},
    )
    contrast: Contrast = field(
        default="restored",
        metadata={
            "help": "restored: activity of the patch as it is, the reading that gives the paper's tables; "
            "normalised: of the patch scaled to norm one, Algorithm 1 to the letter"
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("coupled", self.dictionary, coupled=True)
        super().__post_init__()
        real_number("w", self.w)
        level_weights(self.w, 2)
        one_of("contrast", self.contrast, get_args(Contrast))

    @property
    def atoms(self) -> FloatArray:
        """D = [D_F, D_B]."""
        return self.dictionary.matrix

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile: steps 1 to 8."""
        pursuit = self._pursuit()

        def activity(gray: FloatArray, rows: IntArray, cols: IntArray) -> FloatArray:
            def of_block(rows: IntArray) -> FloatArray:
                patches, energies = centred_patches(gray, rows, cols, self._size)
                l1 = pursuit.summaries(patches, segments=self.dictionary.n_levels).l1
                return patch_activity(l1, energies, w=self.w, contrast=self.contrast)

            return in_blocks(of_block, rows, len(cols))

        return fuse_by_votes(
            frames, tile, size=self._size, stride=self.stride, activity=activity, layers=layers
        )


def patch_activity(l1: FloatArray, energies: FloatArray, *, w: float, contrast: Contrast) -> FloatArray:
    """Activity (n,) of patches by the l1 norms of their codes on each level (n_levels, n), Eq. (7).

    Normalised is that of the patches scaled to norm one; a flat patch, which has no direction, is not active.
    """
    activity = weighted_activity(l1, level_weights(w, len(l1)))
    if contrast == "restored":
        return activity
    norms = np.sqrt(energies)
    return np.divide(activity, norms, out=np.zeros(len(norms)), where=norms > 0).astype(np.float32)
