"""Batch OMP compiled, in float32, for millions of signals; and max pooling of the codes.

After Rubinstein, Zibulevsky and Elad, "Efficient implementation of the K-SVD algorithm using batch
orthogonal matching pursuit" (2008), with the arithmetic arranged for speed:

* Chosen atoms are orthogonalised in terms of the dictionary: row k of Q holds the inner products of all atoms
  with the k-th orthogonal direction q_k. For the atom i chosen in step k,

      L[k, p] = Q[p, i]  for all p < k                        the Cholesky row, at no cost
      Q[k]    = (G[i] - sum_p L[k, p] Q[p]) / L[k, k]         one pass over k rows of Q
      c       = c - z_k Q[k],  z_k = c[i] / L[k, k]           the new correlations D'r

  and the error falls by z_k^2. A triangular system is solved only at the end. Then the residual is computed
  in float64; its correlation with the chosen atoms corrects coefficients that rounding has worn.
* Correlations D'x are summed in one fixed order for each signal and atom, four signals and 64 atoms at a
  time, in registers (`_kernel_vectors`). Each step updates Q and the correlations and makes the next choice
  in one pass. A code therefore depends only on its signal and the dictionary, not on threads, block sizes or
  neighbours.
* Whether a step reaches the bound is known before its row of Q: the last row is never computed.
* The only fast-math flag is `contract`: a*b + c may become one fused operation, always the same one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled
from panfocus.sparse._kernel_vectors import PANEL, TILE, advance, correlate_tile, measure, strongest

Array = NDArray[Any]

# Correlations with the residual below this share of the signal's norm are float32 rounding.
ROUNDING = 1e-6

# An atom is dependent if its squared distance from the span of the chosen atoms is at most this: a duplicate,
# or so nearly parallel that float32 cannot determine its coefficient. It is skipped.
DEPENDENT = 1e-5

STOP_AT_BOUND = 0  # the error is within its bound
STOP_AT_LIMIT = 1  # the limit of atoms is reached, the error is above its bound
STOP_STALLED = 2  # no independent atom correlates with the residual
STOP_ZERO = 3  # the signal is zero: a patch without contrast

GROUP = 32  # signals correlated at a time: their 32 x 512 correlations fit in a core's cache
LANES = 16  # numbers of atoms and rows are padded to multiples of it: vector loops have no remainder
# Rounding errors of the coefficients grow with the number of atoms and as their distances shrink. They stay
# below 1e-6 of the signal's norm while there are at most WORN * (smallest squared distance) atoms.
WORN = 25.0

# No function here allocates: without reference counts, calls need no atomic operations.
_compile = compiled(fastmath={"contract"}, allocates=False)


class Bounds(NamedTuple):
    """When a pursuit ends."""

    sq_error: float  # relative to the signal's energy
    noise: float  # energy of the noise in a signal
    atoms_in_noise: int  # a code of this many atoms ends if its squared error is at most `noise`


class Workspace(NamedTuple):
    """Memory for a group of signals and the pursuit of one of them at a time."""

    signals: Array  # (GROUP, m)
    correlations: Array  # (GROUP, n) of the signals, later of one residual, with all atoms
    Q: Array  # (n / PANEL, max_atoms, PANEL) inner products of all atoms and the directions
    L: Array  # (max_atoms, max_atoms) Cholesky factor of the chosen atoms' Gram matrix, without its diagonal
    diagonal: Array  # of L
    z: Array  # L^-1 D'x over the chosen atoms
    residual: Array  # (m,)
    chosen: Array  # atoms, in the order of their choice
    coefficients: Array  # of the chosen atoms
    correction: Array  # of the coefficients


def workspace(m: int, n: int, max_atoms: int) -> Workspace:
    """Allocate a workspace for signals of m values and n atoms, both padded."""
    return Workspace(
        np.empty((GROUP, m), np.float32),
        np.empty((GROUP, n), np.float32),
        np.empty((n // PANEL, max_atoms, PANEL), np.float32),
        np.empty((max_atoms, max_atoms), np.float32),
        np.empty(max_atoms, np.float32),
        np.empty(max_atoms, np.float32),
        np.empty(m, np.float64),
        np.empty(max_atoms, np.int32),
        np.empty(max_atoms, np.float32),
        np.empty(max_atoms, np.float64),
    )


@_compile
def correlate(panels: Array, signals: Array, out: Array) -> None:
    """out[s] = D' signals[s]; D is cut into panels (n / PANEL, m, PANEL)."""
    m = panels.shape[1]
    for j in range(len(panels)):
        for s in range(0, len(signals), TILE):
            correlate_tile(panels[j], m, signals[s], out[s, j * PANEL :], out.shape[1])


@_compile
def solve(k: int, work: Workspace) -> None:
    """coefficients = L'^-1 z over the k chosen atoms, backwards."""
    for r in range(k - 1, -1, -1):
        value = work.z[r]
        for c in range(r + 1, k):
            value -= work.L[c, r] * work.coefficients[c]
        work.coefficients[r] = value / work.diagonal[r]


@_compile
def dot(a: Array, b: Array) -> float:
    """Return the inner product in float64, in four interleaved sums; lengths are padded."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for i in range(0, len(a), 4):
        s0 += np.float64(a[i]) * b[i]
        s1 += np.float64(a[i + 1]) * b[i + 1]
        s2 += np.float64(a[i + 2]) * b[i + 2]
        s3 += np.float64(a[i + 3]) * b[i + 3]
    return (s0 + s1) + (s2 + s3)


@_compile
def gram_matrix(atoms: Array, out: Array) -> None:
    """out = D'D for atoms as rows, each product summed in float64."""
    for i in range(len(atoms)):
        for j in range(i + 1):
            out[i, j] = dot(atoms[i], atoms[j])
            out[j, i] = out[i, j]


@_compile
def correct(atoms: Array, k: int, work: Workspace) -> float:
    """coefficients += (L L')^-1 D' r over the chosen atoms: one step of iterative refinement.

    The exact residual r is orthogonal to the chosen atoms. The rest is rounding in L and z, which matters in
    codes of dozens of atoms or of nearly parallel ones. Returns the decrease of the squared error,
    ||L^-1 D' r||^2.
    """
    L, diagonal, correction = work.L, work.diagonal, work.correction
    fall = 0.0
    for p in range(k):
        value = dot(atoms[work.chosen[p]], work.residual)
        for c in range(p):
            value -= L[p, c] * correction[c]
        correction[p] = value / diagonal[p]
        fall += correction[p] * correction[p]
    for r in range(k - 1, -1, -1):
        value = correction[r]
        for c in range(r + 1, k):
            value -= L[c, r] * correction[c]
        correction[r] = value / diagonal[r]
        work.coefficients[r] += correction[r]
    return fall


@_compile
def settle(signal: Array, atoms: Array, k: int, nearest: np.float32, work: Workspace) -> float:
    """Compute the coefficients of the k chosen atoms; return the squared error.

    `nearest` is the smallest squared distance of a chosen atom from the span of the earlier ones.
    """
    solve(k, work)
    sq_error = measure(signal, atoms, atoms.shape[1], work.chosen, work.coefficients, k, work.residual)
    if k > WORN * nearest:
        sq_error = max(0.0, sq_error - correct(atoms, k, work))
    return float(sq_error)


@_compile
def pursue(s: int, atoms: Array, gram: Array, bounds: Bounds, work: Workspace) -> tuple[int, float, int]:
    """Code signal s of the group; the code is stored in `work`.

    Returns the number of atoms, the squared error and the reason to stop.
    """
    signal, correlations, Q, L = work.signals[s], work.correlations[s], work.Q, work.L
    energy = measure(signal, atoms, atoms.shape[1], work.chosen, work.coefficients, 0, work.residual)
    if energy == 0.0:
        return 0, 0.0, STOP_ZERO
    bound = bounds.sq_error * energy
    noise = np.float32(ROUNDING * np.sqrt(energy))
    sq_error = energy
    nearest = np.float32(1.0)
    k = 0
    n = len(correlations)
    if not sq_error > bound:  # the signal contains NaN
        return k, sq_error, STOP_AT_BOUND
    atom = strongest(correlations, n)
    while True:
        if k == len(work.chosen) or (k >= bounds.atoms_in_noise and sq_error <= bounds.noise):
            stop = STOP_AT_LIMIT
            break
        if abs(correlations[atom]) <= noise:
            stop = STOP_STALLED
            break
        distance = gram[atom, atom]
        for p in range(k):
            L[k, p] = Q[atom // PANEL, p, atom % PANEL]
            distance -= L[k, p] * L[k, p]
        if distance <= DEPENDENT:
            correlations[atom] = 0.0
            atom = strongest(correlations, n)
            continue
        nearest = min(nearest, distance)
        root = np.sqrt(distance)
        scale = np.float32(1.0) / root
        step = correlations[atom] * scale
        work.chosen[k], work.diagonal[k], work.z[k] = atom, root, step
        sq_error -= np.float64(step) * np.float64(step)
        if not sq_error > bound:  # by the recurrence, which accumulates rounding: measure the error
            sq_error = settle(signal, atoms, k + 1, nearest, work)
            if not sq_error > bound:
                return k + 1, sq_error, STOP_AT_BOUND
        atom = advance(Q, Q.shape[1], L[k], k, gram[atom], scale, step, correlations, n)
        k += 1
    sq_error = settle(signal, atoms, k, nearest, work)
    if sq_error <= bound:
        stop = STOP_AT_BOUND
    return k, sq_error, stop


@_compile
def begin_group(signals: Array, start: int, panels: Array, work: Workspace) -> int:
    """Copy the signals from `start` on to the group, padded with zeros, and correlate them with all atoms.

    Returns their number.
    """
    n = min(GROUP, len(signals) - start)
    for s in range(GROUP):
        for i in range(work.signals.shape[1]):
            work.signals[s, i] = signals[start + s, i] if s < n and i < signals.shape[1] else 0.0
    correlate(panels, work.signals, work.correlations)
    return n


@_compile
def code_block(
    signals: Array, panels: Array, atoms: Array, gram: Array, bounds: Bounds, work: Workspace,
    chosen: Array, coefficients: Array, counts: Array, sq_errors: Array, stops: Array,
) -> None:  # fmt: skip
    """Code signals (n, m); write the chosen atoms and coefficients (n, max_atoms)."""
    for start in range(0, len(signals), GROUP):
        n = begin_group(signals, start, panels, work)
        for s in range(n):
            k, sq_error, stop = pursue(s, atoms, gram, bounds, work)
            i = start + s
            counts[i], sq_errors[i], stops[i] = k, sq_error, stop
            for p in range(k):
                chosen[i, p], coefficients[i, p] = work.chosen[p], work.coefficients[p]


@_compile
def approximate_block(
    signals: Array, panels: Array, atoms: Array, gram: Array, bounds: Bounds, work: Workspace,
    approximations: Array, sq_errors: Array,
) -> None:  # fmt: skip
    """Code signals (n, m) and add D a to approximations (n, m) in float64."""
    for start in range(0, len(signals), GROUP):
        n = begin_group(signals, start, panels, work)
        for s in range(n):
            k, sq_error, _ = pursue(s, atoms, gram, bounds, work)
            sq_errors[start + s] = sq_error
            approximation = approximations[start + s]
            for p in range(k):
                coefficient, atom = np.float64(work.coefficients[p]), atoms[work.chosen[p]]
                for i in range(len(approximation)):
                    approximation[i] += coefficient * atom[i]


@_compile
def sum_norms(
    signals: Array, panels: Array, atoms: Array, gram: Array, bounds: Bounds, work: Workspace,
    segment: int, norms: Array, sq_errors: Array,
) -> None:  # fmt: skip
    """Code signals (n, m) and add the l1 norm of every segment of atoms to norms (n, segments)."""
    for start in range(0, len(signals), GROUP):
        n = begin_group(signals, start, panels, work)
        for s in range(n):
            k, sq_error, _ = pursue(s, atoms, gram, bounds, work)
            i = start + s
            sq_errors[i] = sq_error
            for p in range(k):
                norms[i, work.chosen[p] // segment] += abs(work.coefficients[p])


@compiled()
def pooled_l1(
    chosen: Array, coefficients: Array, counts: Array, reach: int, n_atoms: int, out: Array
) -> None:
    """out[i, j] = sum over atoms of the largest |coefficient| among the codes up to `reach` away.

    Codes are on a grid (n_rows, n_cols, max_atoms). Atoms are summed in the order in which they occur in the
    neighbours, row by row, so that codes farther away change no bit.
    """
    n_rows, n_cols = out.shape
    largest = np.zeros(n_atoms)
    used = np.empty(n_atoms, np.int64)
    for i in range(n_rows):
        for j in range(n_cols):
            n_used = 0
            for r in range(max(0, i - reach), min(n_rows, i + reach + 1)):
                for c in range(max(0, j - reach), min(n_cols, j + reach + 1)):
                    for p in range(counts[r, c]):
                        atom = chosen[r, c, p]
                        value = abs(coefficients[r, c, p])
                        if largest[atom] == 0.0 and value > 0.0:
                            used[n_used] = atom
                            n_used += 1
                        largest[atom] = max(largest[atom], value)
            total = 0.0
            for p in range(n_used):
                total += largest[used[p]]
                largest[used[p]] = 0.0
            out[i, j] = total
