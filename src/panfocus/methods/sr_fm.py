"""SR-FM: sparse codes of focus measures, pooled over neighbouring patches.

After M. Nejati, S. Samavi and S. Shirani, "Multi-focus image fusion using dictionary-based sparse
representation", Information Fusion 25, 2015, as the paper compares with it: without the Markov field that
smooths the decision, and composed of overlapping patches.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import limit_threads
from panfocus.decide.focus_measure import NOISE_GAIN, REACH, laplacian_energy
from panfocus.decide.patches import centred_patches
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import fuse_by_votes, row_blocks
from panfocus.methods._sparse import SparseMethod, check_dictionary
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

POOL_REACH = 1  # pooled are the codes of 3 x 3 patches
NOISE = 1 / 255  # patches whose measure varies no more than that of such noise are not learned from


@dataclass(frozen=True, kw_only=True)
class SrFm(SparseMethod):
    """Choose per patch the frame whose focus map has the strongest response in a dictionary of focus maps."""

    dictionary: CoupledDictionary = field(
        default_factory=lambda: CoupledDictionary.default("focus-maps"),
        metadata={
            "help": "dictionary learned from focus maps, which also sets the patch size; by default the "
            "shipped one, focus-maps"
        },
    )

    def __post_init__(self) -> None:
        check_dictionary("sr-fm", self.dictionary, of_focus_maps=True)
        super().__post_init__()

    @property
    def atoms(self) -> FloatArray:
        """Patches of focus maps."""
        return self.dictionary.focused

    @property
    def halo(self) -> int:
        """All patches over a pixel and the patches beside them, with what their focus maps depend on."""
        return super().halo + POOL_REACH * self.stride + REACH

    def fuse(self, frames: NDArray[Any], tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, deciding on grey."""
        pursuit = self._pursuit()

        def activity(gray: FloatArray, rows: IntArray, cols: IntArray) -> FloatArray:
            energy = laplacian_energy(gray)
            found = np.empty((len(rows), len(cols)), np.float32)
            for block in row_blocks(*found.shape):
                first = max(0, block.start - POOL_REACH)
                patches, _ = centred_patches(energy, rows[first : block.stop + POOL_REACH], cols, self._size)
                with limit_threads(1):  # tiles run beside each other already
                    codes = pursuit.codes(patches)
                pooled = codes.pooled_l1(n_cols=len(cols), reach=POOL_REACH, n_atoms=self.dictionary.n_atoms)
                found[block] = pooled[block.start - first : block.stop - first]
            return found.ravel()

        return fuse_by_votes(
            frames, tile, size=self._size, stride=self.stride, activity=activity, layers=layers
        )

    @staticmethod
    def learn_dictionary(images: Sequence[FloatArray], **options: Any) -> CoupledDictionary:
        """Learn a dictionary for this method from images (h, w) in unit range, sharp and blurred ones alike.

        Options are those of `CoupledDictionary.learn`.
        """
        maps = [laplacian_energy(image) for image in images]
        return CoupledDictionary.learn(
            maps, of_focus_maps=True, min_contrast=NOISE_GAIN * NOISE**2, **options
        )
