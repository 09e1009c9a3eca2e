"""Batch OMP in plain NumPy: the readable reference, one signal at a time, in float64.

After Rubinstein, Zibulevsky and Elad, "Efficient implementation of the K-SVD algorithm using batch
orthogonal matching pursuit" (2008). Tests compare the compiled kernel with it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from panfocus.sparse._kernel_numba import (
    DEPENDENT,
    ROUNDING,
    STOP_AT_BOUND,
    STOP_AT_LIMIT,
    STOP_STALLED,
    STOP_ZERO,
)

Array = NDArray[Any]


def code_signal(
    D: Array, G: Array, x: Array, max_atoms: int, bound: float
) -> tuple[list[int], Array, float, int]:
    """Code x over the columns of D, given G = D'D, until ||x - D a||^2 <= bound or max_atoms are chosen.

    Returns the chosen atoms, their coefficients, the squared error and the reason to stop.
    """
    energy = float(x @ x)
    if energy == 0.0:
        return [], np.zeros(0), 0.0, STOP_ZERO
    correlations = D.T @ x
    remaining = correlations.copy()  # D'r for the residual r
    usable = np.ones(D.shape[1], bool)
    chosen: list[int] = []
    coefficients = np.zeros(0)
    L = np.zeros((max_atoms, max_atoms))  # L L' = G restricted to the chosen atoms
    sq_error = energy
    while sq_error > bound:
        if len(chosen) == max_atoms:
            return chosen, coefficients, sq_error, STOP_AT_LIMIT
        atom = int(np.argmax(np.where(usable, np.abs(remaining), 0.0)))
        if not usable[atom] or abs(remaining[atom]) <= ROUNDING * np.sqrt(energy):
            return chosen, coefficients, sq_error, STOP_STALLED
        usable[atom] = False
        k = len(chosen)
        L[k, :k] = solve_triangular(L[:k, :k], G[chosen, atom], lower=True)
        distance = G[atom, atom] - L[k, :k] @ L[k, :k]  # squared, from the span of the chosen
        if distance <= DEPENDENT:
            continue
        L[k, k] = np.sqrt(distance)
        chosen.append(atom)
        partial = solve_triangular(L[: k + 1, : k + 1], correlations[chosen], lower=True)
        coefficients = solve_triangular(L[: k + 1, : k + 1].T, partial, lower=False)
        remaining = correlations - G[:, chosen] @ coefficients
        residual = x - D[:, chosen] @ coefficients
        sq_error = float(residual @ residual)
    return chosen, coefficients, sq_error, STOP_AT_BOUND
