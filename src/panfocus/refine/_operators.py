"""Operators of the total-variation problem.

Images are planes (c, h, w), gradients are fields (2, c, h, w); the 2c numbers at one pixel form a group.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gradient(u: Array) -> Array:
    """Forward differences down and across; zero past the last row and column (Neumann boundary)."""
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
    """Eigenvalues of gradient_adjoint(gradient(.)); its eigenvectors are the basis of the DCT-II."""
    down, across = (4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2 for n in (height, width))
    eigenvalues: Array = np.add.outer(down, across)
    return eigenvalues


def solve_diagonalised(rhs: Array, eigenvalues: Array) -> Array:
    """Solve A u = rhs plane by plane, for an A that the DCT-II turns into these eigenvalues (h, w)."""
    from scipy.fft import dctn, idctn  # here: it takes half a second, which fusion without refinement saves

    # One worker, also under a caller's scipy.fft.set_workers: threads must not choose the last bits.
    spectrum = dctn(rhs, axes=(1, 2), workers=1)
    spectrum /= eigenvalues
    u: Array = idctn(spectrum, axes=(1, 2), overwrite_x=True, workers=1)
    return u


def group_norms(p: Array) -> Array:
    """Euclidean length of each pixel's gradient, over both directions and all channels: (h, w)."""
    return np.sqrt(group_products(p, p))


def group_products(p: Array, q: Array) -> Array:
    """Inner product of the two fields at each pixel: (h, w)."""
    products: Array = np.einsum("dchw,dchw->hw", p, q)
    return products


def shrink_groups(p: Array, threshold: float) -> Array:
    """Proximal map of threshold * sum(group_norms(.)), threshold > 0: every group shorter by it, or zero."""
    return p * (1 - threshold / np.maximum(group_norms(p), threshold))
