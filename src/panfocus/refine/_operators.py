"""Operators of the total-variation problem.

Images are planes (c, h, w), gradients are fields (2, c, h, w); the 2c numbers at one pixel form a group.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gradient(u: Array) -> Array:
    """Return forward differences down and across; zero past the last row and column (Neumann boundary)."""
    p = np.zeros((2, *u.shape))
    np.subtract(u[:, 1:], u[:, :-1], out=p[0, :, :-1])
    np.subtract(u[:, :, 1:], u[:, :, :-1], out=p[1, :, :, :-1])
    return p


def gradient_adjoint(p: Array) -> Array:
    """Return the image for which <gradient(u), p> = <u, gradient_adjoint(p)>: minus the divergence."""
    u = np.zeros(p.shape[1:])
    u[:, :-1] -= p[0, :, :-1]
    u[:, 1:] += p[0, :, :-1]
    u[:, :, :-1] -= p[1, :, :, :-1]
    u[:, :, 1:] += p[1, :, :, :-1]
    return u


def laplacian_eigenvalues(height: int, width: int) -> Array:
    """Return the eigenvalues of gradient_adjoint(gradient(.)), which the DCT-II diagonalises."""
    down, across = (4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2 for n in (height, width))
    eigenvalues: Array = np.add.outer(down, across)
    return eigenvalues


def solve_diagonalised(rhs: Array, eigenvalues: Array) -> Array:
    """Solve A u = rhs plane by plane, for an A that the DCT-II turns into these eigenvalues (h, w)."""
    from scipy.fft import dctn, idctn  # lazy: the import takes 0.5 s

    # One worker, even under scipy.fft.set_workers: the number of threads must not change any bit.
    spectrum = dctn(rhs, axes=(1, 2), workers=1)
    spectrum /= eigenvalues
    u: Array = idctn(spectrum, axes=(1, 2), overwrite_x=True, workers=1)
    return u


def group_norms(p: Array) -> Array:
    """Return the Euclidean length (h, w) of each pixel's gradient over both directions and all channels."""
    return np.sqrt(group_products(p, p))


def group_products(p: Array, q: Array) -> Array:
    """Return the inner product (h, w) of two fields at each pixel."""
    products: Array = np.einsum("dchw,dchw->hw", p, q)
    return products


def shrink_groups(p: Array, threshold: float) -> Array:
    """Shorten every group by `threshold` > 0: the proximal map of threshold * sum(group_norms(.))."""
    return p * (1 - threshold / np.maximum(group_norms(p), threshold))
