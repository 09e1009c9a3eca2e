import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary, atoms_picture

ZOOM = 4


@pytest.fixture(params=[(2, 7, 3), (3, 5, 4), (2, 6, 5)], ids=str)
def dictionary(request, rng):
    n_levels, n_atoms, size = request.param
    levels = rng.standard_normal((n_levels, size**2, n_atoms)).astype(np.float32)
    return CoupledDictionary(levels / np.linalg.norm(levels, axis=1, keepdims=True))


def places_of(picture, tile):
    """Return the position of a tile in the picture, by its upper left corner."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, tile.shape)
    return np.argwhere((windows == tile).all(axis=(2, 3)))


def tiles_of(dictionary):
    """Return each atom (level, index), stretched to full contrast and enlarged."""
    d = dictionary.patch_size
    for level, atoms in enumerate(dictionary.levels):
        for i, atom in enumerate(atoms.T.reshape(-1, d, d)):
            grey = np.rint(255 * (atom - atom.min()) / (atom.max() - atom.min())).astype(np.uint8)
            yield level, i, np.kron(grey, np.ones((ZOOM, ZOOM), np.uint8))


def test_every_atom_is_shown_twice(dictionary):
    picture = atoms_picture(dictionary)
    assert picture.dtype == np.uint8
    for _, _, tile in tiles_of(dictionary):
        assert len(places_of(picture, tile)) == 2


def test_lower_part_shows_levels_of_an_atom_side_by_side(dictionary):
    picture = atoms_picture(dictionary)
    places = {(level, i): places_of(picture, tile) for level, i, tile in tiles_of(dictionary)}
    side = ZOOM * dictionary.patch_size
    for i in range(dictionary.n_atoms):
        above = np.array([places[level, i][0] for level in range(dictionary.n_levels)])
        below = np.array([places[level, i][1] for level in range(dictionary.n_levels)])
        assert (np.diff(above[:, 0]) == 0).all()
        assert (np.diff(above[:, 1]) > side).all()
        np.testing.assert_array_equal(np.diff(below, axis=0), [[0, side]] * (dictionary.n_levels - 1))


def test_single_level_is_shown_once(rng):
    levels = rng.standard_normal((1, 9, 7))
    dictionary = CoupledDictionary(levels / np.linalg.norm(levels, axis=1, keepdims=True))
    picture = atoms_picture(dictionary)
    for _, _, tile in tiles_of(dictionary):
        assert len(places_of(picture, tile)) == 1


def test_background_is_white(dictionary):
    picture = atoms_picture(dictionary)
    painted = np.zeros(picture.shape, bool)
    for _, _, tile in tiles_of(dictionary):
        for row, column in places_of(picture, tile):
            painted[row : row + len(tile), column : column + len(tile)] = True
    assert (picture[~painted] == 255).all()
    rim = picture.copy()
    rim[8:-8, 8:-8] = 255
    assert (rim == 255).all()


def test_flat_atom_is_drawn():
    levels = np.full((2, 9, 1), 1 / 3, np.float32)
    assert np.isfinite(atoms_picture(CoupledDictionary(levels))).all()
