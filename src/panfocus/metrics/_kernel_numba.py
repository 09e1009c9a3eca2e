"""Compiled loops over all pixels.

All sums run in a fixed order. The compiler may only use `contract`: a*b + c becomes one fused operation, the
same in every run.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]
Sigmoid = tuple[float, float, float]  # ceiling Gamma, slope kappa, middle sigma

_compile = compiled(fastmath={"contract"})


@_compile
def valid_filter(plane: Array, taps: Array) -> Array:
    """Correlate with the taps along columns and rows, without padding."""
    height, width = plane.shape
    n = len(taps)
    out = np.zeros((height - n + 1, width - n + 1))
    line = np.empty(width)
    for i in range(height - n + 1):
        # Pixels in the inner loop, so that the compiler vectorises over them.
        line[:] = 0.0
        for k in range(n):
            for j in range(width):
                line[j] += taps[k] * plane[i + k, j]
        for k in range(n):
            for j in range(width - n + 1):
                out[i, j] += taps[k] * line[j + k]
    return out


@_compile
def sobel_edges(padded: Array, rounding: float, zero: float) -> tuple[Array, Array]:
    """Return strength and orientation of the Sobel gradient; the plane is padded by one pixel.

    Differences below `rounding` count as 0. A strength or a horizontal difference of 0 becomes `zero`.
    """
    shape = padded.shape[0] - 2, padded.shape[1] - 2
    strength, orientation = np.empty(shape), np.empty(shape)
    for i in range(shape[0]):
        above, here, below = padded[i], padded[i + 1], padded[i + 2]
        for j in range(shape[1]):
            gx = above[j + 2] - above[j] + 2 * (here[j + 2] - here[j]) + below[j + 2] - below[j]
            gy = below[j] - above[j] + 2 * (below[j + 1] - above[j + 1]) + below[j + 2] - above[j + 2]
            gx = 0.0 if abs(gx) < rounding else gx
            gy = 0.0 if abs(gy) < rounding else gy
            length = math.sqrt(gx * gx + gy * gy)
            strength[i, j] = zero if length == 0.0 else length
            orientation[i, j] = math.atan(gy / (zero if gx == 0.0 else gx))
    return strength, orientation


@_compile
def edge_preservation(
    strength: Array, orientation: Array, fused_strength: Array, fused_orientation: Array,
    strength_sigmoid: Sigmoid, orientation_sigmoid: Sigmoid, folded: bool,
) -> Array:  # fmt: skip
    """Return the product of two sigmoids: of the ratio of strengths and of the difference in orientation."""
    out = np.empty_like(strength)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            a, b = strength[i, j], fused_strength[i, j]
            G = min(a, b) / max(a, b)
            A = 1 - abs(orientation[i, j] - fused_orientation[i, j]) / (math.pi / 2)
            A = abs(A) if folded else A
            out[i, j] = _sigmoid(G, strength_sigmoid) * _sigmoid(A, orientation_sigmoid)
    return out


@_compile
def _sigmoid(value: float, sigmoid: Sigmoid) -> float:
    ceiling, slope, middle = sigmoid
    return ceiling / (1 + math.exp(slope * (value - middle)))
