import numpy as np
import pytest

from panfocus.dictionary import overcomplete_dct
from panfocus.errors import InputError

SIZES = [(2, 3), (3, 8), (3, 23), (5, 24), (5, 100), (8, 63), (8, 256), (8, 300), (9, 1)]


@pytest.mark.parametrize(("patch_size", "n_atoms"), SIZES)
def test_atoms_have_unit_norm_and_zero_mean(patch_size, n_atoms):
    atoms = overcomplete_dct(patch_size, n_atoms)
    assert atoms.shape == (patch_size**2, n_atoms)
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(atoms.mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize(("patch_size", "n_atoms"), SIZES)
def test_atoms_are_different_up_to_sign(patch_size, n_atoms):
    atoms = overcomplete_dct(patch_size, n_atoms)
    overlaps = np.abs(atoms.T @ atoms) - np.eye(n_atoms)
    assert overlaps.max() < 1 - 1e-6


@pytest.mark.parametrize("patch_size", [2, 3, 8])
def test_atoms_are_products_of_sampled_cosines(patch_size):
    # All frequencies of a patch: the separable cosines cos(pi k i / n), minus their means.
    n = patch_size
    atoms = overcomplete_dct(n, n * n - 1).reshape(n, n, -1)
    waves = np.cos(np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    waves[:, 1:] -= waves[:, 1:].mean(axis=0)
    expected = np.einsum("ik,jl->ijkl", waves, waves).reshape(n * n, n * n)[:, 1:]
    expected /= np.linalg.norm(expected, axis=0)
    overlaps = np.abs(expected.T @ atoms.reshape(n * n, -1))
    np.testing.assert_allclose(overlaps.max(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(overlaps.max(axis=1), 1, rtol=1e-12)


def test_low_frequencies_come_first():
    atoms = overcomplete_dct(8, 60).reshape(8, 8, 60)
    turns = [(np.diff(np.sign(atoms[..., i]), axis=axis) != 0).sum() for i in (0, 59) for axis in (0, 1)]
    assert max(turns[:2]) < max(turns[2:])


@pytest.mark.parametrize(("sizes", "setting"), [((1, 5), "patch_size"), ((8, 0), "n_atoms")])
def test_sizes_out_of_range_are_rejected(sizes, setting):
    with pytest.raises(InputError) as caught:
        overcomplete_dct(*sizes)
    assert caught.value.facts["setting"] == setting
