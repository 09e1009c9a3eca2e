"""The paper's method: coupled sparse representation with a weighted maximum of l1 norms.

F. G. Veshki and S. A. Vorobyov, "Multi-Focus Image Fusion using Sparse Representation and Coupled Dictionary
Learning", Algorithm 1. Comments refer to the algorithm's step numbers.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from panfocus._checks import check_choice, check_number
from panfocus._intensity import FloatArray
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods._patchwise import FrameCoding, check_dictionary
from panfocus.sparse import Pursuit

Contrast = Literal["restored", "normalised"]


@dataclass(frozen=True, kw_only=True)
class Coupled(FrameCoding):
    """The paper's sparse coding over focused and blurred atoms, Eq. (7); slow."""

    dictionary: CoupledDictionary = field(
        default_factory=CoupledDictionary.default,
        metadata={
            "help": "Coupled dictionary: a .npz file or the name of a shipped one. It sets the patch size. "
            "Default: levels2."
        },
    )
    w: float = field(
        default=0.55,
        metadata={
            "help": "Weight of the focused atoms, from 0.5 to below 1; blurred atoms weigh 1 - w. "
            "Larger values count fine detail more. Default: 0.55."
        },
    )
    contrast: Contrast = field(
        default="restored",
        metadata={
            "help": "restored (default): compare patches at their real contrast, as in the paper's tables. "
            "normalised: scale each patch to norm 1 first, as Algorithm 1 is written."
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("coupled", self.dictionary, coupled=True)
        super().__post_init__()
        check_number("w", self.w)
        level_weights(self.w, 2)
        check_choice("contrast", self.contrast, get_args(Contrast))

    @property
    def atoms(self) -> FloatArray:
        """D = [D_F, D_B]."""
        return self.dictionary.matrix

    def _activity(self, patches: FloatArray, energies: FloatArray, pursuit: Pursuit) -> FloatArray:
        l1 = pursuit.l1_norms(patches, segments=self.dictionary.n_levels)  # steps 1 to 5
        return patch_activity(l1, energies, w=self.w, contrast=self.contrast)


def patch_activity(l1: FloatArray, energies: FloatArray, *, w: float, contrast: Contrast) -> FloatArray:
    """Return the activity (n,) of patches from the l1 norms of their codes (n_levels, n), Eq. (7).

    With contrast "normalised", patches are scaled to norm 1; the activity of a flat patch is then 0.
    """
    activity = weighted_activity(l1, level_weights(w, len(l1)))
    if contrast == "restored":
        return activity
    norms = np.sqrt(energies)
    return np.divide(activity, norms, out=np.zeros(len(norms)), where=norms > 0).astype(np.float32)


def level_weights(w: float, n_levels: int) -> FloatArray:
    """Return the weights of the levels: w and 1 - w in Eq. (7); more levels in equal steps between them."""
    if not 0.5 <= w < 1:
        raise InputError(f"`w` must be at least 0.5 and below 1, got {w}.", setting="w", got=w)
    return np.linspace(w, 1 - w, n_levels, dtype=np.float32)


def weighted_activity(l1: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum (n,) of the l1 norms on each level (n_levels, n): Eq. (7)."""
    activity: FloatArray = weights[0] * l1[0]
    for weight, norm in zip(weights[1:], l1[1:], strict=True):  # in one fixed order for any n
        activity += weight * norm
    return activity
