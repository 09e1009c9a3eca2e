"""One cycle over the atoms of a coupled dictionary, compiled.

Signals and atoms of all levels are stacked: a signal is a row of `n_levels` parts, scaled by the square
roots of the levels' weights, an atom likewise, so that it has unit norm as a whole. Which signals use which
atoms stays fixed; atoms and coefficients change one atom at a time, so that the error cannot rise.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import REGROUPED, compiled

Array = NDArray[Any]

_compile = compiled(fastmath=REGROUPED)


@_compile
def dot(a: Array, b: Array) -> float:
    """Inner product, in double."""
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
    direction = np.empty(atoms.shape[1])
    overlap = np.empty(len(atoms))
    for i in range(len(atoms)):
        mine = users[first_user[i] : first_user[i + 1]]
        if len(mine) > 0:
            residual_direction(i, mine, signals, atoms, chosen, coefficients, counts, direction, overlap)
            renew_atom(atoms[i], direction, part_norms)
            renew_coefficients(i, mine, signals, atoms, chosen, coefficients, counts, overlap)


@_compile
def residual_direction(
    i: int, mine: Array, signals: Array, atoms: Array, chosen: Array, coefficients: Array, counts: Array,
    direction: Array, overlap: Array,
) -> None:  # fmt: skip
    """direction = E_i a_i: the residuals without atom i, each times its coefficient, added up.

    What other atoms explain is gathered first as one weight for each of them: residuals are never stored.
    """
    direction[:] = 0.0
    overlap[:] = 0.0
    for s in mine:
        own = coefficients[s, slot_of(i, chosen[s])]
        for t in range(counts[s]):
            overlap[chosen[s, t]] += own * coefficients[s, t]
        for j in range(len(direction)):
            direction[j] += own * signals[s, j]
    overlap[i] = 0.0
    for other in range(len(atoms)):
        weight = overlap[other]
        if weight != 0.0:
            for j in range(len(direction)):
                direction[j] -= weight * atoms[other, j]


@_compile
def renew_atom(atom: Array, direction: Array, part_norms: Array) -> None:
    """Normalise each part on its own: the best unit atom of its level for the present coefficients."""
    part = len(atom) // len(part_norms)
    for level in range(len(part_norms)):
        piece = direction[level * part : (level + 1) * part]
        norm = np.sqrt(dot(piece, piece))
        if norm > 0.0:
            atom[level * part : (level + 1) * part] = piece * (part_norms[level] / norm)


@_compile
def renew_coefficients(
    i: int, mine: Array, signals: Array, atoms: Array, chosen: Array, coefficients: Array, counts: Array,
    gram_row: Array,
) -> None:  # fmt: skip
    """Joint projection of the residuals without atom i on it: the best coefficients for the new atom."""
    for other in range(len(atoms)):
        gram_row[other] = dot(atoms[other], atoms[i])
    for s in mine:
        slot = slot_of(i, chosen[s])
        value = dot(signals[s], atoms[i])
        for t in range(counts[s]):
            if t != slot:
                value -= gram_row[chosen[s, t]] * coefficients[s, t]
        coefficients[s, slot] = value


@_compile
def slot_of(atom: int, chosen: Array) -> int:
    """Where the atom stands in a code that holds it."""
    slot = 0
    while chosen[slot] != atom:
        slot += 1
    return slot


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
