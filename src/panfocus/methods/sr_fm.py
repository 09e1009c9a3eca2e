"""SR-FM: sparse codes of focus measures, pooled over neighbouring patches.

After M. Nejati, S. Samavi and S. Shirani, "Multi-focus image fusion using dictionary-based sparse
representation", Information Fusion 25, 2015, in the form that the paper compares with: without the Markov
random field that smooths the decision, and composed of overlapping patches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import limit_threads
from panfocus.decide.focus_measure import NOISE_GAIN, REACH, laplacian_energy
from panfocus.decide.patches import centred_patches
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import SparseMethod, check_dictionary, row_blocks
from panfocus.sparse import Pursuit

POOL_REACH = 1  # patches: codes are pooled over 3 x 3 neighbours
NOISE = 1 / 255  # unit range: learning skips patches whose focus measure varies less than such noise


@dataclass(frozen=True, kw_only=True)
class SrFm(SparseMethod):
    """Sparse coding of focus maps; a baseline of the paper for little noise."""

    dictionary: CoupledDictionary = field(
        default_factory=lambda: CoupledDictionary.default("focus-maps"),
        metadata={
            "help": "Dictionary learned from focus maps: a .npz file or the name of a shipped one. It sets "
            "the patch size. Default: focus-maps."
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("sr-fm", self.dictionary, of_focus_maps=True)
        super().__post_init__()

    @property
    def atoms(self) -> FloatArray:
        """Atoms learned from focus maps."""
        return self.dictionary.focused

    @property
    def halo(self) -> int:
        """Reach of the patches over a pixel, the neighbours they are pooled with, and the focus measure."""
        return super().halo + POOL_REACH * self.stride + REACH

    def _activities(self, gray: FloatArray, rows: IntArray, cols: IntArray, pursuit: Pursuit) -> FloatArray:
        energy = laplacian_energy(gray)
        activities = np.empty((len(rows), len(cols)), np.float32)
        for block in row_blocks(*activities.shape):
            first = max(0, block.start - POOL_REACH)
            patches, _ = centred_patches(energy, rows[first : block.stop + POOL_REACH], cols, self._size)
            with limit_threads(1):  # tiles run in parallel already
                codes = pursuit.codes(patches)
            pooled = codes.pooled_l1(n_cols=len(cols), reach=POOL_REACH, n_atoms=self.dictionary.n_atoms)
            activities[block] = pooled[block.start - first : block.stop - first]
        return activities.ravel()

    @staticmethod
    def learn_dictionary(images: Sequence[FloatArray], **options: Any) -> CoupledDictionary:
        """Learn a dictionary for this method from sharp and blurred images (h, w) in unit range.

        Options are passed to `CoupledDictionary.learn`.
        """
        maps = [laplacian_energy(image) for image in images]
        return CoupledDictionary.learn(
            maps, of_focus_maps=True, min_contrast=NOISE_GAIN * NOISE**2, **options
        )
