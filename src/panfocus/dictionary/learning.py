"""Dictionary learning: coupled, with one code for a patch at all its focus levels, and K-SVD.

    minimise  sum_l mu_l ||X_l - D_l A||_F^2   with ||a_i||_0 <= max_atoms and unit atoms in each D_l

after Veshki and Vorobyov, "An efficient coupled dictionary learning method", IEEE Signal Processing Letters
26(10), 2019. With one level this is K-SVD (Aharon, Elad and Bruckstein, 2006) in its approximate form
(Rubinstein, Zibulevsky and Elad, 2008), which replaces the singular value decomposition by one step towards
it: the atom first, then the coefficients.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from panfocus._checks import check_choice, check_integer
from panfocus._intensity import FloatArray, IntArray
from panfocus._progress import Progress, silent
from panfocus.errors import InputError
from panfocus.sparse import Pursuit

logger = logging.getLogger(__name__)

Start = Literal["samples", "dct"]


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Settings of dictionary learning.

    `rounds` is the number of coding steps. Each is followed by `update_cycles` passes over the atoms with the
    same supports. The paper's "10 multiple dictionary update cycles" can mean 10 x 1 or 1 x 10.

    `start` is the initial dictionary: random training samples, or overcomplete cosines. With samples, the
    atoms of a pair correspond from the first round on; with cosines, the pairing comes partly from the
    cosines.
    """

    n_atoms: int = 256
    max_atoms: int = 5  # in the code of one training sample
    rounds: int = 10
    update_cycles: int = 1
    start: Start = "samples"

    def __post_init__(self) -> None:
        for name in ("n_atoms", "max_atoms", "rounds", "update_cycles"):
            check_integer(name, getattr(self, name), at_least=1)
        check_choice("start", self.start, get_args(Start))


@dataclass(frozen=True)
class Round:
    """Record of one round of learning. Objectives are mean squared errors per sample over all levels."""

    objective_coded: float  # after the coding step
    objectives: tuple[float, ...]  # after each update cycle; they never rise
    replaced: int  # number of unused atoms that were replaced
    coding_seconds: float
    update_seconds: float

    @property
    def objective(self) -> float:
        """Objective at the end of the round."""
        return self.objectives[-1]


WatchRound = Callable[[Round, FloatArray], None]


def learn_coupled(
    levels: Sequence[FloatArray],
    settings: Learning,
    *,
    rng: np.random.Generator,
    level_shares: Sequence[float] | None = None,
    progress: Progress = silent,
    watch: WatchRound | None = None,
) -> tuple[FloatArray, tuple[Round, ...]]:
    """Learn one dictionary per level from samples with corresponding columns; from one level, by K-SVD.

    Parameters
    ----------
    levels : sequence of arrays (m, n)
        The same n patches at each focus level, mean-free. m is the number of pixels of a square patch.
    settings : Learning
        Number of atoms, rounds and so on.
    rng : Generator
        Draws the initial samples.
    level_shares : sequence of float, optional
        mu_l: share of each level in the error, with sum 1. Default: equal shares.
    watch : callable, optional
        Called as `watch(round, atoms)` after each round, with the current atoms.

    Returns
    -------
    atoms : array (n_levels, m, n_atoms), float32
        Unit columns; atom i of every level belongs to the same code.
    history : tuple of Round
    """
    shares = np.full(len(levels), 1 / len(levels)) if level_shares is None else np.asarray(level_shares)
    if len(shares) != len(levels) or (shares <= 0).any() or not np.isclose(shares.sum(), 1):
        raise InputError(
            f"`level_shares` must be {len(levels)} positive numbers with sum 1, got {shares}.",
            setting="level_shares",
            got=shares.tolist(),
        )
    m, n = levels[0].shape
    if n < settings.n_atoms:
        raise InputError(
            f"{n} training patches are too few for {settings.n_atoms} atoms. Use more images or fewer atoms.",
            setting="n_atoms",
            got=n,
            needed=settings.n_atoms,
        )
    part_norms = np.sqrt(shares)
    signals = np.concatenate([norm * X.T for norm, X in zip(part_norms, levels, strict=True)], axis=1)
    signals = np.ascontiguousarray(signals, np.float32)
    if settings.start == "dct":
        cosines = overcomplete_dct(round(np.sqrt(m)), settings.n_atoms).T
        atoms = np.concatenate([norm * cosines for norm in part_norms], axis=1)
    else:
        atoms = _as_atoms(signals[rng.choice(n, settings.n_atoms, replace=False)], part_norms)

    history = []
    for i in range(settings.rounds):
        history.append(_round(signals, atoms, part_norms, settings))
        logger.info(
            "round %d: objective %.5f, %d replaced", i + 1, history[-1].objective, history[-1].replaced
        )
        if watch:
            watch(history[-1], _split(atoms, part_norms))
        progress("learn", (i + 1) / settings.rounds)
    return _split(atoms, part_norms), tuple(history)


def _round(signals: FloatArray, atoms: FloatArray, part_norms: FloatArray, settings: Learning) -> Round:
    """Code all samples, update all atoms in place, and replace unused ones."""
    from panfocus.dictionary import _update_numba  # lazy: only learning needs it

    began = time.perf_counter()
    codes = Pursuit(atoms.T, max_atoms=settings.max_atoms).codes(signals.T)
    chosen, counts = np.ascontiguousarray(codes.atoms.T), codes.counts
    coefficients = codes.coefficients.T.astype(np.float64)
    users, first_user = _users(chosen, settings.n_atoms)
    coded = time.perf_counter()

    errors = np.empty(len(signals))
    _update_numba.squared_errors(signals, atoms, chosen, coefficients, counts, errors)
    objective_coded = float(errors.mean())
    objectives = []
    update_seconds = 0.0
    for _ in range(settings.update_cycles):
        cycle_began = time.perf_counter()
        _update_numba.update_cycle(
            signals, atoms, part_norms, chosen, coefficients, counts, users, first_user
        )
        update_seconds += time.perf_counter() - cycle_began
        _update_numba.squared_errors(signals, atoms, chosen, coefficients, counts, errors)
        objectives.append(float(errors.mean()))
    unused = np.flatnonzero(np.diff(first_user) == 0)
    _replace(atoms, unused, signals, errors, part_norms)
    return Round(objective_coded, tuple(objectives), len(unused), coded - began, update_seconds)


def _users(chosen: IntArray, n_atoms: int) -> tuple[IntArray, IntArray]:
    """Return for each atom i the samples that use it: `users[first_user[i] : first_user[i + 1]]`."""
    samples, slots = np.nonzero(chosen >= 0)
    atoms = chosen[samples, slots]
    by_atom = np.argsort(atoms, kind="stable")
    first_user = np.concatenate([[0], np.cumsum(np.bincount(atoms, minlength=n_atoms))])
    return samples[by_atom], first_user


def _replace(
    atoms: FloatArray, unused: IntArray, signals: FloatArray, errors: FloatArray, part_norms: FloatArray
) -> None:
    """Replace unused atoms by the samples with the largest error over all levels."""
    worst = np.argsort(-errors, kind="stable")[: len(unused)]
    atoms[unused] = _as_atoms(signals[worst], part_norms)


def _as_atoms(signals: FloatArray, part_norms: FloatArray) -> FloatArray:
    """Scale stacked signals to atoms: every part to the norm of its level."""
    m = signals.shape[1] // len(part_norms)
    parts = signals.astype(np.float64).reshape(len(signals), len(part_norms), m)
    parts *= part_norms[:, None] / np.linalg.norm(parts, axis=2, keepdims=True)
    return parts.reshape(signals.shape)


def _split(atoms: FloatArray, part_norms: FloatArray) -> FloatArray:
    """Split stacked atoms into unit atoms (n_levels, m, n_atoms)."""
    parts = atoms.reshape(len(atoms), len(part_norms), -1) / part_norms[:, None]
    return np.ascontiguousarray(parts.transpose(1, 2, 0), np.float32)


def overcomplete_dct(patch_size: int, n_atoms: int) -> FloatArray:
    """Return the `n_atoms` lowest products of two sampled cosines, as unit columns (patch_size**2, n_atoms).

    The constant product is omitted: patches are coded without their means.
    """
    check_integer("patch_size", patch_size, at_least=2)
    check_integer("n_atoms", n_atoms, at_least=1)
    n_waves = int(np.ceil(np.sqrt(n_atoms + 1)))
    waves = np.cos(np.pi / n_waves * np.outer(np.arange(patch_size), np.arange(n_waves)))
    waves[:, 1:] -= waves[:, 1:].mean(axis=0)
    down, across = np.divmod(np.arange(n_waves**2), n_waves)
    lowest_first = np.argsort(down + across, kind="stable")[1 : n_atoms + 1]
    atoms = waves[:, None, down[lowest_first]] * waves[None, :, across[lowest_first]]
    atoms = atoms.reshape(patch_size**2, n_atoms)
    return np.asarray(atoms / np.linalg.norm(atoms, axis=0))
