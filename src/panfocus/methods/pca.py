"""Principal component analysis: one weight per frame, the classical baseline that decides nothing by place.

The frames' grey values are taken as variables, the pixels as observations; the loadings of the first
principal component, scaled to sum 1, weigh the frames.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus.decide.compose import by_weights
from panfocus.decide.gray import to_gray
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

# Eigenvalues that differ by less than this share of the largest are one: rounding cannot tell them apart.
SAME_EIGENVALUE = 1e-10


@dataclass(frozen=True, kw_only=True)
class PCA:
    """Weigh every frame by its loading on the first principal component; the report holds the weights."""

    maps: ClassVar[tuple[str, ...]] = ()
    halo: ClassVar[None] = None  # the weights are those of the whole image
    uses_all_threads: ClassVar[bool] = False

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Grey planes, twice."""
        return (10 + 8 * n_frames) * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a whole image."""
        order = sorted(range(len(frames)), key=lambda k: _digest(frames[k]))
        ordered = [frames[k] for k in order]
        weights = principal_weights(covariance([to_gray(frame) for frame in ordered]))
        return FusionResult(
            by_weights(ordered, weights)[tile.core],
            report={"weights": [float(weights[order.index(k)]) for k in range(len(frames))]},
        )


def _digest(frame: NDArray[Any]) -> bytes:
    """Give the frames an order of their own, so that not even last bits depend on the one they come in."""
    return hashlib.sha256(np.ascontiguousarray(frame).data).digest()


def covariance(planes: list[FloatArray]) -> FloatArray:
    """Covariance matrix (n, n) of n planes, over their pixels; exactly zero for a plane without contrast."""
    centred = []
    for plane in planes:
        from_corner = plane - plane[0, 0]  # a mean is rounded; this is what makes a constant plane zero
        centred.append(from_corner - from_corner.mean(dtype=np.float64).astype(plane.dtype))
    matrix = np.empty((len(planes), len(planes)))
    for i, a in enumerate(centred):
        for j, b in enumerate(centred[: i + 1]):
            # No matrix product: the order in which BLAS sums depends on its threads.
            matrix[i, j] = matrix[j, i] = np.einsum("hw,hw->", a, b, dtype=np.float64) / a.size
    return matrix


def principal_weights(matrix: FloatArray) -> FloatArray:
    """Weights (n,), sum 1, from the first principal component of a covariance matrix (n, n).

    A loading counts by its size, whatever its sign. If several components share the largest eigenvalue, a
    frame counts by the length of its projection onto their span, which does not depend on the choice of
    axes in it; so frames without any contrast get equal weights.
    """
    eigenvalues, components = np.linalg.eigh(matrix)
    first = components[:, eigenvalues >= (1 - SAME_EIGENVALUE) * eigenvalues[-1]]
    loadings = np.sqrt((first**2).sum(axis=1))
    weights: FloatArray = loadings / loadings.sum()
    return weights
