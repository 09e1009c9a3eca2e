"""SR-FM: sparse codes of focus measures, pooled over neighbouring patches.

After M. Nejati, S. Samavi and S. Shirani, "Multi-focus image fusion using dictionary-based sparse
representation", Information Fusion 25, 2015, as the paper compares with it: without the Markov field that
smooths the decision, and composed of overlapping patches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import real_number, whole_number
from panfocus._float import FloatArray, IntArray
from panfocus._threads import limit_threads
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.focus import NOISE_GAIN, REACH, laplacian_energy
from panfocus.methods._method import FusionResult
from panfocus.methods._patchwise import fuse_by_votes, row_blocks
from panfocus.methods._tile import Tile
from panfocus.patches import centred_patches, check_stride
from panfocus.sparse import Pursuit

POOL_REACH = 1  # pooled are the codes of 3 x 3 patches
NOISE = 1 / 255  # patches whose measure varies no more than that of such noise are not learned from


@dataclass(frozen=True, kw_only=True)
class SrFm:
    """Choose per patch the frame whose focus map has the strongest response in a dictionary of focus maps.

    Confidence is the share that a pixel's label has in the votes of the patches over it.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence")

    dictionary: CoupledDictionary = field(
        default_factory=lambda: CoupledDictionary.default("focus-maps"),
        metadata={
            "help": "dictionary learned from focus maps, which also sets the patch size; by default the "
            "shipped one, focus-maps"
        },
    )
    stride: int = field(
        default=1,
        metadata={"help": "pixels from patch to patch; larger is faster and coarser, 1 is the paper's"},
    )
    eps: float = field(
        default=0.1,
        metadata={
            "help": "squared error left over by a code, relative to its patch; smaller uses more atoms"
        },
    )

    def __post_init__(self) -> None:
        if not isinstance(self.dictionary, CoupledDictionary):
            raise InputError(f"dictionary must be a CoupledDictionary, got {self.dictionary!r}")
        real_number("eps", self.eps)
        if not 0 < self.eps < 1:
            raise InputError(f"eps must lie between 0 and 1, got {self.eps}")
        whole_number("stride", self.stride, at_least=1)
        check_stride(self.stride, self.dictionary.patch_size)

    @property
    def halo(self) -> int:
        """All patches over a pixel and the patches beside them, with what their focus maps depend on."""
        return self.dictionary.patch_size - 1 + POOL_REACH * self.stride + REACH

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile, deciding on grey."""
        size = self.dictionary.patch_size
        pursuit = Pursuit(self.dictionary.focused, max_atoms=size**2, max_sq_error=self.eps)

        def activity(gray: FloatArray, rows: IntArray, cols: IntArray) -> FloatArray:
            energy = laplacian_energy(gray)
            found = np.empty((len(rows), len(cols)), np.float32)
            for block in row_blocks(*found.shape):
                first = max(0, block.start - POOL_REACH)
                patches, _ = centred_patches(energy, rows[first : block.stop + POOL_REACH], cols, size)
                with limit_threads(1):  # tiles run beside each other already
                    codes = pursuit.codes(patches)
                pooled = codes.pooled_l1(n_cols=len(cols), reach=POOL_REACH, n_atoms=self.dictionary.n_atoms)
                found[block] = pooled[block.start - first : block.stop - first]
            return found.ravel()

        return fuse_by_votes(frames, tile, size=size, stride=self.stride, activity=activity)

    @staticmethod
    def learn_dictionary(images: Sequence[FloatArray], **options: Any) -> CoupledDictionary:
        """Learn a dictionary for this method from images (h, w) in unit range, sharp and blurred ones alike.

        Options are those of `CoupledDictionary.learn`.
        """
        maps = [laplacian_energy(image) for image in images]
        return CoupledDictionary.learn(maps, min_contrast=NOISE_GAIN * NOISE**2, **options)
