"""Samples made from coupled dictionaries that are known."""

import numpy as np
import pytest


def made_of_atoms(rng, n_levels=2, m=16, n_atoms=24, n_samples=1500, k=2):
    """Return mean-free samples (m, n) per level with shared codes, and the true atoms."""
    atoms = rng.standard_normal((n_levels, m, n_atoms))
    atoms -= atoms.mean(axis=1, keepdims=True)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    A = np.zeros((n_atoms, n_samples))
    for i in range(n_samples):
        A[rng.choice(n_atoms, k, replace=False), i] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    return [level @ A for level in atoms], atoms


@pytest.fixture(scope="session")
def known():
    return made_of_atoms(np.random.default_rng(11))


@pytest.fixture(scope="session")
def known_three():
    return made_of_atoms(np.random.default_rng(12), n_levels=3)


@pytest.fixture(scope="session")
def noisy(known):
    """Return the samples with noise, so that every round of learning improves the dictionary."""
    rng = np.random.default_rng(13)
    levels = [X + 0.2 * rng.standard_normal(X.shape) for X in known[0]]
    return [X - X.mean(axis=0) for X in levels]


@pytest.fixture(scope="session")
def share_recovered():
    """Return the share of true atoms (n_levels, m, n) that one learned atom matches on all levels."""

    def share(learned, true, threshold=0.95):
        overlaps = np.einsum("lmi,lmj->lij", true, learned)
        alike = np.minimum(np.abs(overlaps).min(axis=0), np.abs(np.sign(overlaps).sum(axis=0)) == len(true))
        return np.mean(alike.max(axis=1) > threshold)

    return share
