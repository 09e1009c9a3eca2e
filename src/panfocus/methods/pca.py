"""Principal component analysis: one weight per frame, the classical global baseline.

Frames are variables, pixels are observations. The loadings of the first principal component of the grey
values, scaled to sum 1, are the weights of the frames.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus.decide.compose import by_weights
from panfocus.decide.gray import to_gray
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

# Eigenvalues closer than this share of the largest count as equal: rounding cannot separate them.
SAME_EIGENVALUE = 1e-10


@dataclass(frozen=True, kw_only=True)
class PCA(FusionMethod):
    """Weighted mean of the frames; a classical baseline that does not choose by place.

    The report holds the weights.
    """

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the grey planes and their centred copies."""
        return (10 + 8 * n_frames) * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse the whole image."""
        order = sorted(range(len(frames)), key=lambda k: _digest(frames[k]))
        ordered = [frames[k] for k in order]
        weights = principal_weights(covariance([to_gray(frame) for frame in ordered]))
        return FusionResult(
            by_weights(ordered, weights)[tile.core],
            report={"weights": [float(weights[order.index(k)]) for k in range(len(frames))]},
        )


def _digest(frame: NDArray[Any]) -> bytes:
    """Return a key by which frames are sorted, so that their order in the stack changes no bit."""
    return hashlib.sha256(np.ascontiguousarray(frame).data).digest()


def covariance(planes: list[FloatArray]) -> FloatArray:
    """Return the covariance matrix (n, n) of n planes; exactly zero for a plane without contrast."""
    centred = []
    for plane in planes:
        from_corner = plane - plane[0, 0]  # exactly zero for a constant plane, unlike plane - mean
        centred.append(from_corner - from_corner.mean(dtype=np.float64).astype(plane.dtype))
    matrix = np.empty((len(planes), len(planes)))
    for i, a in enumerate(centred):
        for j, b in enumerate(centred[: i + 1]):
            # einsum, not a matrix product: the order of summation in BLAS depends on its threads.
            matrix[i, j] = matrix[j, i] = np.einsum("hw,hw->", a, b, dtype=np.float64) / a.size
    return matrix


def principal_weights(matrix: FloatArray) -> FloatArray:
    """Return weights (n,) with sum 1 from the first principal component of a covariance matrix (n, n).

    The sign of a loading is ignored. If several components share the largest eigenvalue, the weight of a
    frame is the length of its projection onto their span. Frames without contrast get equal weights.
    """
    eigenvalues, components = np.linalg.eigh(matrix)
    first = components[:, eigenvalues >= (1 - SAME_EIGENVALUE) * eigenvalues[-1]]
    loadings = np.sqrt((first**2).sum(axis=1))
    weights: FloatArray = loadings / loadings.sum()
    return weights
