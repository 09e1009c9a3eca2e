"""The patches of a scene, coded once and decided many times.

Neither w nor the reading of the norm changes a code. A curve over w is therefore drawn from one coding, by
the steps of the method `coupled`; a test holds the pictures equal, bit for bit.
"""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import map_blocks
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import vote_shares
from panfocus.decide.patches import centred_patches, patch_origins, spread_each
from panfocus.dictionary import CoupledDictionary
from panfocus.methods.coupled import Contrast, patch_activity
from panfocus.sparse import Pursuit

READINGS: tuple[Contrast, ...] = get_args(
    Contrast
)  # of the norm in step 2 of Algorithm 1: `contrast` of `coupled`

_ROWS = 8  # of patches, coded at a time by a thread


@dataclass(frozen=True, eq=False)
class CodedScene:
    """What Eq. (7) needs of the codes of all patches of all frames."""

    frames: NDArray[Any]  # (n, h, w) or (n, h, w, c)
    patch_size: int
    l1: FloatArray  # (n, levels, patches): norms of the codes on each half
    energies: FloatArray  # (n, patches): squared norms of the patches themselves

    @classmethod
    def of(cls, frames: NDArray[Any], dictionary: CoupledDictionary, *, eps: float) -> "CodedScene":
        """Code every patch of every frame, Eq. (6)."""
        size = dictionary.patch_size
        pursuit = Pursuit(dictionary.matrix, max_atoms=size**2, max_sq_error=eps)
        rows, cols = _origins(frames, size)
        planes = [to_gray(frame) for frame in frames]

        def code(block: tuple[FloatArray, IntArray]) -> tuple[FloatArray, FloatArray]:
            patches, energies = centred_patches(*block, cols, size)
            return pursuit.summaries(patches, segments=dictionary.n_levels).l1, energies

        blocks = [
            (plane, rows[start : start + _ROWS]) for plane in planes for start in range(0, len(rows), _ROWS)
        ]
        l1, energies = zip(*map_blocks(code, blocks), strict=True)
        n = len(frames)
        return cls(
            frames,
            size,
            np.concatenate(l1, axis=1).reshape(dictionary.n_levels, n, -1).swapaxes(0, 1),
            np.concatenate(energies).reshape(n, -1),
        )

    def fuse(self, *, w: float, contrast: Contrast) -> NDArray[Any]:
        """Decide and compose, Eq. (7) and (8), as `coupled` does with these settings."""
        rows, cols = _origins(self.frames, self.patch_size)
        activities = [
            patch_activity(l1, energies, w=w, contrast=contrast)
            for l1, energies in zip(self.l1, self.energies, strict=True)
        ]
        shares = vote_shares(np.stack(activities)).reshape(len(self.frames), len(rows), len(cols))
        return by_votes(self.frames, spread_each(shares, self.frames.shape[1:3], rows, cols, self.patch_size))


def _origins(frames: NDArray[Any], size: int) -> tuple[IntArray, IntArray]:
    height, width = frames.shape[1:3]
    return patch_origins(height, size, 1), patch_origins(width, size, 1)
