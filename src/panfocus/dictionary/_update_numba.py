"""One cycle over the atoms of a coupled dictionary, compiled.

Signals and atoms of all levels are stacked: a signal is a row of `n_levels` parts, scaled by the square
roots of the levels' weights, an atom likewise, so that it has unit norm as a whole. Which signals use which
atoms stays fixed; atoms and coefficients change one atom at a time, so that the error cannot rise.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Sums may be regrouped into vector lanes: each runs in one thread over one fixed length, the same way every time.
_compile = numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})


@_compile
def dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_compile
def update_cycle(
    signals: Array, atoms: Array, part_norms: Array, chosen: Array, coefficients: Array, counts: Array,
    users: Array, first_user: Array,
) -> None:  # fmt: skip
    """Renew every atom and its coefficients once, in place.

    `users[first_user[i] : first_user[i + 1]]` are the signals that use atom i; a signal's code is
    `chosen[s, :counts[s]]` with `coefficients[s, :counts[s]]`.
    """
    n_atoms, length = atoms.shape
    part = length // len(part_norms)
    overlap = np.empty(n_atoms)
    gram_row = np.empty(n_atoms)
    direction = np.empty(length)
    for i in range(n_atoms):
        mine = users[first_user[i] : first_user[i + 1]]
        if len(mine) == 0:
            continue
        # E_i a_i: the residuals without atom i, each times its coefficient. The part that other atoms
        # explain is gathered as a weight for each of them first, so that residuals are never stored.
        direction[:] = 0.0
        overlap[:] = 0.0
        for s in mine:
            own = 0.0
            for t in range(counts[s]):
                if chosen[s, t] == i:
                    own = coefficients[s, t]
            for t in range(counts[s]):
                overlap[chosen[s, t]] += own * coefficients[s, t]
            signal = signals[s]
            for j in range(length):
                direction[j] += own * signal[j]
        overlap[i] = 0.0
        for other in range(n_atoms):
            weight = overlap[other]
            if weight != 0.0:
                for j in range(length):
                    direction[j] -= weight * atoms[other, j]
        # Each part is normalised on its own: the best unit atom of its level for these coefficients.
        for level in range(len(part_norms)):
            piece = direction[level * part : (level + 1) * part]
            norm = np.sqrt(dot(piece, piece))
            if norm > 0.0:
                atoms[i, level * part : (level + 1) * part] = piece * (part_norms[level] / norm)
        # The best coefficients for this atom: the joint projection of the residuals without it.
        for other in range(n_atoms):
            gram_row[other] = dot(atoms[other], atoms[i])
        for s in mine:
            value = dot(signals[s], atoms[i])
            slot = 0
            for t in range(counts[s]):
                if chosen[s, t] == i:
                    slot = t
                else:
                    value -= gram_row[chosen[s, t]] * coefficients[s, t]
            coefficients[s, slot] = value


@_compile
def squared_errors(
    signals: Array, atoms: Array, chosen: Array, coefficients: Array, counts: Array, out: Array
) -> None:
    """out[s] = squared norm of what the code of signal s leaves over."""
    residual = np.empty(atoms.shape[1])
    for s in range(len(signals)):
        for j in range(len(residual)):
            residual[j] = signals[s, j]
        for t in range(counts[s]):
            coefficient, atom = coefficients[s, t], atoms[chosen[s, t]]
            for j in range(len(residual)):
                residual[j] -= coefficient * atom[j]
        out[s] = dot(residual, residual)
