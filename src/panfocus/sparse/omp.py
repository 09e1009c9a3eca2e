"""Orthogonal matching pursuit for many signals over one dictionary: a greedy solution of Eq. (6)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._checks import check_integer
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import for_all
from panfocus.errors import InputError
from panfocus.sparse import _kernel_numba
from panfocus.sparse._kernel_vectors import PANEL

BLOCK = 2048  # signals per task of a thread


class Stop(IntEnum):
    """Why the pursuit of a signal ended."""

    AT_BOUND = _kernel_numba.STOP_AT_BOUND
    AT_LIMIT = _kernel_numba.STOP_AT_LIMIT
    STALLED = _kernel_numba.STOP_STALLED
    ZERO_SIGNAL = _kernel_numba.STOP_ZERO


@dataclass(frozen=True)
class SparseCodes:
    """Codes of n signals. Signal i uses `atoms[:counts[i], i]` with `coefficients[:counts[i], i]`."""

    atoms: IntArray  # (max_atoms, n), -1 where unused
    coefficients: FloatArray  # (max_atoms, n), 0 where unused
    counts: IntArray  # (n,)
    sq_errors: FloatArray  # (n,) measured ||x - D a||^2
    stops: IntArray  # (n,) values of Stop

    def pooled_l1(self, *, n_cols: int, reach: int, n_atoms: int) -> FloatArray:
        """Return the l1 norms of the codes, max-pooled over neighbours on a grid (n / n_cols, n_cols).

        For each atom, the largest absolute value counts among codes at most `reach` rows and columns away.
        """
        grid = (-1, n_cols, len(self.atoms))
        pooled = np.empty((len(self.counts) // n_cols, n_cols))
        _kernel_numba.pooled_l1(
            self.atoms.T.reshape(grid), self.coefficients.T.reshape(grid), self.counts.reshape(pooled.shape),
            reach, n_atoms, pooled,
        )  # fmt: skip
        return pooled


class Pursuit:
    """Batch OMP over one dictionary, whose Gram matrix is computed once.

    Parameters
    ----------
    dictionary : array (m, n_atoms)
        Atoms are columns of unit norm. A zero atom is allowed and never chosen. Of duplicates, the first is
        chosen. Atoms that depend on already chosen ones are skipped.
    max_atoms : int
        Largest number of atoms in a code; values above m or n_atoms are reduced to them.
    max_sq_error : float
        Stop when ||x - D a||^2 <= max_sq_error ||x||^2. Smaller is more exact and uses more atoms.
    noise, atoms_in_noise : float, int
        Stop also at this number of atoms if ||x - D a||^2 is at most `noise`, the energy of the noise.
    """

    def __init__(
        self,
        dictionary: ArrayLike,
        *,
        max_atoms: int,
        max_sq_error: float = 0.0,
        noise: float = 0.0,
        atoms_in_noise: int = 0,
    ) -> None:
        D = np.asarray(dictionary, np.float32)
        if D.ndim != 2 or 0 in D.shape:
            raise InputError(
                f"The dictionary must have shape (m, n_atoms), got {D.shape}.",
                setting="dictionary",
                got=D.shape,
            )
        if not np.isfinite(D).all():
            raise InputError("The dictionary contains NaN or infinite values.", setting="dictionary")
        norms = np.linalg.norm(D, axis=0)
        wrong = np.flatnonzero((np.abs(norms - 1) > 1e-3) & (norms > 0))
        if wrong.size:
            raise InputError(
                f"Atoms must have norm 1 or 0, but atom {wrong[0]} has norm {norms[wrong[0]]:.4g}.",
                setting="dictionary",
                got=float(norms[wrong[0]]),
            )
        check_integer("max_atoms", max_atoms, at_least=1)
        if not 0.0 <= max_sq_error < 1.0:
            raise InputError(
                f"`max_sq_error` must be at least 0 and below 1, got {max_sq_error}.",
                setting="max_sq_error",
                got=max_sq_error,
            )
        self.dictionary = D
        self.max_atoms = min(max_atoms, *D.shape)
        self.max_sq_error = float(max_sq_error)
        self._bounds = _kernel_numba.Bounds(self.max_sq_error, float(noise), atoms_in_noise)
        self._atoms = _padded(D.T)
        n_atoms, m = self._atoms.shape
        by_panel = self._atoms.reshape(n_atoms // PANEL, PANEL, m).transpose(0, 2, 1)
        self._panels = np.ascontiguousarray(by_panel)
        # Not by BLAS, whose order of summation is not fixed.
        self._gram = np.empty((len(self._atoms), len(self._atoms)), np.float32)
        _kernel_numba.gram_matrix(self._atoms, self._gram)

    def codes(self, signals: ArrayLike) -> SparseCodes:
        """Code signals (m, n), each a column."""
        X = self._columns(signals)
        n, k = len(X), self.max_atoms
        atoms, coefficients = np.full((n, k), -1, np.int32), np.zeros((n, k), np.float32)
        counts, sq_errors, stops = np.zeros(n, np.int32), np.zeros(n), np.zeros(n, np.uint8)

        def code(block: slice) -> None:
            _kernel_numba.code_block(
                X[block], self._panels, self._atoms, self._gram, self._bounds, self._workspace(),
                atoms[block], coefficients[block], counts[block], sq_errors[block], stops[block],
            )  # fmt: skip

        for_all(code, (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)))
        _check_finite(sq_errors)
        return SparseCodes(atoms.T, coefficients.T, counts, sq_errors, stops)

    def l1_norms(self, signals: ArrayLike, *, segments: int) -> FloatArray:
        """Code signals (m, n) and return the l1 norms (segments, n) of their codes, which are not stored.

        `segments` is the number of equal parts of the dictionary, such as 2 for [D_F, D_B].
        """
        n_atoms = self.dictionary.shape[1]
        if segments < 1 or n_atoms % segments:
            raise InputError(
                f"`segments` must divide the number of atoms, {n_atoms}, got {segments}.",
                setting="segments",
                got=segments,
            )
        X = self._columns(signals)
        norms, sq_errors = np.zeros((len(X), segments), np.float32), np.empty(len(X))
        _kernel_numba.sum_norms(
            X, self._panels, self._atoms, self._gram, self._bounds, self._workspace(),
            n_atoms // segments, norms, sq_errors,
        )  # fmt: skip
        _check_finite(sq_errors)
        return norms.T

    def approximations(self, signals: ArrayLike) -> FloatArray:
        """Code signals (m, n) and return their approximations D a (m, n), in float64."""
        X = self._columns(signals)
        approximations, sq_errors = np.zeros(X.shape), np.empty(len(X))
        _kernel_numba.approximate_block(
            X, self._panels, self._atoms, self._gram, self._bounds, self._workspace(),
            approximations, sq_errors,
        )  # fmt: skip
        _check_finite(sq_errors)
        return approximations.T

    def _workspace(self) -> _kernel_numba.Workspace:
        n_atoms, m = self._atoms.shape
        return _kernel_numba.workspace(m, n_atoms, self.max_atoms)

    def _columns(self, signals: ArrayLike) -> NDArray[Any]:
        """Return the signals in the layout of the kernel: float32, one per row, contiguous."""
        X = np.asarray(signals)
        if X.dtype.kind not in "fiub":
            raise InputError(f"Signals must be real numbers, got {X.dtype.name}.", got=X.dtype.name)
        if X.ndim != 2 or len(X) != len(self.dictionary):
            raise InputError(
                f"Signals must have shape ({len(self.dictionary)}, n), got {X.shape}.",
                got=X.shape,
                needed=len(self.dictionary),
            )
        return np.ascontiguousarray(X.T, np.float32)


def _padded(atoms: FloatArray) -> FloatArray:
    """Pad atoms (n, m) with zeros to whole panels and whole vectors."""
    units = (PANEL, _kernel_numba.LANES)
    out = np.zeros(
        [-(-side // unit) * unit for side, unit in zip(atoms.shape, units, strict=True)], np.float32
    )
    out[: atoms.shape[0], : atoms.shape[1]] = atoms
    return out


def _check_finite(sq_errors: FloatArray) -> None:
    """Raise if signals were not finite: their errors are not, which is faster to check than all values."""
    if not np.isfinite(sq_errors).all():
        raise InputError("Signals contain NaN, infinite or very large values. Rescale them.")
