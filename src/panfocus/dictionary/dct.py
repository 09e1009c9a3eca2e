"""Overcomplete cosine dictionary: used by `sr-cm`, and as a start for learning."""

import numpy as np

from panfocus._checks import whole_number
from panfocus._intensity import FloatArray


def overcomplete_dct(patch_size: int, n_atoms: int) -> FloatArray:
    """Return the `n_atoms` lowest products of two sampled cosines, as unit columns (patch_size**2, n_atoms).

    The constant product is omitted: patches are coded without their means.
    """
    whole_number("patch_size", patch_size, at_least=2)
    whole_number("n_atoms", n_atoms, at_least=1)
    n_waves = int(np.ceil(np.sqrt(n_atoms + 1)))
    waves = np.cos(np.pi / n_waves * np.outer(np.arange(patch_size), np.arange(n_waves)))
    waves[:, 1:] -= waves[:, 1:].mean(axis=0)
    down, across = np.divmod(np.arange(n_waves**2), n_waves)
    lowest_first = np.argsort(down + across, kind="stable")[1 : n_atoms + 1]
    atoms = waves[:, None, down[lowest_first]] * waves[None, :, across[lowest_first]]
    atoms = atoms.reshape(patch_size**2, n_atoms)
    return np.asarray(atoms / np.linalg.norm(atoms, axis=0))
