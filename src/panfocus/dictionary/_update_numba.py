"""Compiled update cycle over the atoms of a coupled dictionary.

Signals and atoms of all levels are stacked: each is a row of `n_levels` parts, scaled by the square roots of
the levels' weights, so that a whole atom has unit norm. The supports of the codes stay fixed. Atoms and
coefficients change one atom at a time, so that the error cannot rise.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import REGROUPED, compiled

Array = NDArray[Any]

_compile = compiled(fastmath=REGROUPED)


@_compile
def dot(a: Array, b: Array) -> float:
    """Return the inner product in float64."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_compile
def update_cycle(
    signals: Array, atoms: Array, part_norms: Array, chosen: Array, coefficients: Array, counts: Array,
    users: Array, first_user: Array,
) -> None:  # fmt: skip
    """Update every atom and its coefficients once, in place.

    `users[first_user[i] : first_user[i + 1]]` are the signals that use atom i; a signal's code is
    `chosen[s, :counts[s]]` with `coefficients[s, :counts[s]]`.
    """
    direction = np.empty(atoms.shape[1])
    overlap = np.empty(len(atoms))
    for i in range(len(atoms)):
        mine = users[first_user[i] : first_user[i + 1]]
        if len(mine) > 0:
            residual_direction(i, mine, signals, atoms, chosen, coefficients, counts, direction, overlap)
            update_atom(atoms[i], direction, part_norms)
            update_coefficients(i, mine, signals, atoms, chosen, coefficients, counts, overlap)


@_compile
def residual_direction(
    i: int, mine: Array, signals: Array, atoms: Array, chosen: Array, coefficients: Array, counts: Array,
    direction: Array, overlap: Array,
) -> None:  # fmt: skip
    """direction = E_i a_i: the sum of the residuals without atom i, each times its coefficient.

    Other atoms are first reduced to one weight each, so that residuals need not be stored.
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
def update_atom(atom: Array, direction: Array, part_norms: Array) -> None:
    """Normalise each part: the best unit atom of its level for the current coefficients."""
    part = len(atom) // len(part_norms)
    for level in range(len(part_norms)):
        piece = direction[level * part : (level + 1) * part]
        norm = np.sqrt(dot(piece, piece))
        if norm > 0.0:
            atom[level * part : (level + 1) * part] = piece * (part_norms[level] / norm)


@_compile
def update_coefficients(
    i: int, mine: Array, signals: Array, atoms: Array, chosen: Array, coefficients: Array, counts: Array,
    gram_row: Array,
) -> None:  # fmt: skip
    """Project the residuals without atom i on it: the best coefficients for the new atom."""
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
    """Return the position of an atom in a code that uses it."""
    slot = 0
    while chosen[slot] != atom:
        slot += 1
    return slot


@_compile
def squared_errors(
    signals: Array, atoms: Array, chosen: Array, coefficients: Array, counts: Array, out: Array
) -> None:
    """out[s] = squared error of the code of signal s."""
    residual = np.empty(atoms.shape[1])
    for s in range(len(signals)):
        for j in range(len(residual)):
            residual[j] = signals[s, j]
        for t in range(counts[s]):
            coefficient, atom = coefficients[s, t], atoms[chosen[s, t]]
            for j in range(len(residual)):
                residual[j] -= coefficient * atom[j]
        out[s] = dot(residual, residual)
