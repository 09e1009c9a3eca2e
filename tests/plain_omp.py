"""Batch OMP in plain NumPy, one signal at a time, in float64: a readable oracle for the compiled kernel.

After Rubinstein, Zibulevsky and Elad, "Efficient implementation of the K-SVD algorithm using batch
orthogonal matching pursuit" (2008).
"""

import numpy as np
from scipy.linalg import solve_triangular

from panfocus.sparse import Pursuit, SparseCodes, Stop
from panfocus.sparse._kernel_numba import DEPENDENT, ROUNDING


def batch_omp(dictionary, signals, **limits):
    """Code signals (m, n) by the compiled kernel."""
    return Pursuit(dictionary, **limits).codes(signals)


def dense(codes, n_atoms):
    """Return the code matrix A (n_atoms, n) of X = D A."""
    A = np.zeros((n_atoms, len(codes.counts)), codes.coefficients.dtype)
    used = codes.atoms >= 0
    columns = np.broadcast_to(np.arange(len(codes.counts)), codes.atoms.shape)
    A[codes.atoms[used], columns[used]] = codes.coefficients[used]
    return A


def batch_omp_plain(dictionary, signals, *, max_atoms, max_sq_error=0.0):
    """Code signals (m, n) by the plain kernel."""
    D = np.asarray(dictionary, np.float64)
    G = D.T @ D
    X = np.asarray(signals, np.float64)
    n, k = X.shape[1], min(max_atoms, *D.shape)
    atoms, coefficients = np.full((k, n), -1, np.int32), np.zeros((k, n))
    counts, sq_errors, stops = np.zeros(n, np.int32), np.zeros(n), np.zeros(n, np.uint8)
    for i, x in enumerate(X.T):
        chosen, values, sq_errors[i], stops[i] = code_signal(D, G, x, k, max_sq_error * float(x @ x))
        counts[i] = len(chosen)
        atoms[: len(chosen), i] = chosen
        coefficients[: len(chosen), i] = values
    return SparseCodes(atoms, coefficients, counts, sq_errors, stops)


def code_signal(D, G, x, max_atoms, bound):
    """Code x over the columns of D, given G = D'D, until ||x - D a||^2 <= bound or max_atoms are chosen.

    Returns the chosen atoms, their coefficients, the squared error and the reason to stop.
    """
    energy = float(x @ x)
    if energy == 0.0:
        return [], np.zeros(0), 0.0, Stop.ZERO_SIGNAL
    correlations = D.T @ x
    remaining = correlations.copy()  # D'r for the residual r
    usable = np.ones(D.shape[1], bool)
    chosen = []
    coefficients = np.zeros(0)
    L = np.zeros((max_atoms, max_atoms))  # L L' = G restricted to the chosen atoms
    sq_error = energy
    while sq_error > bound:
        if len(chosen) == max_atoms:
            return chosen, coefficients, sq_error, Stop.AT_LIMIT
        atom = int(np.argmax(np.where(usable, np.abs(remaining), 0.0)))
        if not usable[atom] or abs(remaining[atom]) <= ROUNDING * np.sqrt(energy):
            return chosen, coefficients, sq_error, Stop.STALLED
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
    return chosen, coefficients, sq_error, Stop.AT_BOUND
