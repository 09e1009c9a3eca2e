"""Overcomplete cosine dictionary: where learning starts."""

import numpy as np

from panfocus._intensity import FloatArray
from panfocus.errors import InputError


def overcomplete_dct(patch_size: int, n_atoms: int) -> FloatArray:
    """Return the `n_atoms` lowest products of two sampled cosines, as unit columns (patch_size**2, n_atoms).

    The constant product is left out: patches are coded without their means.
    """
    if patch_size < 2:
        raise InputError(f"patch_size must be at least 2, got {patch_size}")
    if n_atoms < 1:
        raise InputError(f"n_atoms must be at least 1, got {n_atoms}")
    n_waves = int(np.ceil(np.sqrt(n_atoms + 1)))
    waves = np.cos(np.pi / n_waves * np.outer(np.arange(patch_size), np.arange(n_waves)))
    waves[:, 1:] -= waves[:, 1:].mean(axis=0)
    down, across = np.divmod(np.arange(n_waves**2), n_waves)
    lowest_first = np.argsort(down + across, kind="stable")[1 : n_atoms + 1]
    atoms = waves[:, None, down[lowest_first]] * waves[None, :, across[lowest_first]]
    atoms = atoms.reshape(patch_size**2, n_atoms)
    return np.asarray(atoms / np.linalg.norm(atoms, axis=0))
