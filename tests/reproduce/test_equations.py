import numpy as np
import pytest

from panfocus.compare import Scene
from panfocus.dictionary import CoupledDictionary
from panfocus.io.write import write_image
from panfocus.reproduce.equations import LabelledPatches, atom_shares, describe_codes, label_patches


@pytest.fixture
def axes_dictionary():
    """D_F are the first two unit vectors of the plane's four, D_B the last two."""
    eye = np.eye(4)
    return CoupledDictionary(np.stack([eye[:, :2], eye[:, 2:]]))


def test_the_best_atom_is_counted_by_the_half_it_lies_in(axes_dictionary):
    # By hand: focused patches lie nearest to axes 0, 1, 2; blurred ones to 3, 2, 3.
    focused = np.array([[0.9, 0.1, 0.3, 0.2], [0.2, -0.8, 0.1, 0.0], [0.1, 0.2, 0.7, 0.6]]).T
    blurred = np.array([[0.1, 0.0, 0.2, 0.9], [0.3, 0.1, -0.5, 0.2], [0.0, 0.1, 0.2, 0.4]]).T
    shares = atom_shares(LabelledPatches(focused, blurred, 1), axes_dictionary)
    assert (shares.focused, shares.blurred, shares.both) == pytest.approx((2 / 3, 1, 2 / 3))


def test_codes_over_orthogonal_atoms_are_the_coordinates():
    X = np.array([[0.6, 0.8, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0.5, 0.5]]).T
    codes = describe_codes(X, np.eye(4), eps=0.01)
    assert codes.atoms == pytest.approx((2 + 1 + 4) / 3)
    assert codes.l1 == pytest.approx((1.4 + 1 + 2) / 3)
    assert codes.median_l1 == pytest.approx(1.4)
    assert codes.entry == pytest.approx((1.4 + 1 + 2) / 7)
    assert codes.correlation == pytest.approx((0.8 + 1 + 0.5) / 3)


def test_patches_are_labelled_by_their_distance_from_the_truth(tmp_path, rng):
    """Four blocks of 8 x 8: A right and B far, B right and A far, both near, both far."""
    truth = rng.integers(60, 190, (8, 32)).astype(int)
    noise = rng.choice([-1, 1], truth.shape)
    a, b = truth + noise, truth - noise  # 1 level off: close
    b[:, :8] = truth[:, :8] + 20 * noise[:, :8]  # 20 levels off: clearly not
    a[:, 8:16] = truth[:, 8:16] + 20 * noise[:, 8:16]
    a[:, 24:] += 30 * noise[:, 24:]
    b[:, 24:] += 30 * noise[:, 24:]
    paths = []
    for name, image in zip("ABT", (a, b, truth), strict=True):
        paths.append(tmp_path / f"{name}.png")
        write_image(paths[-1], image.astype(np.uint8))
    patches = label_patches([Scene("s", tuple(paths[:2]), paths[2])], size=8, stride=8)
    expected = [(a[:, :8], b[:, :8]), (b[:, 8:16], a[:, 8:16])]
    assert patches.focused.shape == patches.blurred.shape == (64, 2)
    for i, pair in enumerate(expected):
        for block, X in zip(pair, (patches.focused, patches.blurred), strict=True):
            centred = (block - block.mean()).ravel()
            assert X[:, i] == pytest.approx(centred / np.linalg.norm(centred), abs=1e-5)


def test_flat_patches_have_no_label(tmp_path):
    flat, other = np.full((8, 8), 100, np.uint8), np.full((8, 8), 140, np.uint8)
    for name, image in zip("ABT", (flat, other, flat), strict=True):
        write_image(tmp_path / f"{name}.png", image)
    scene = Scene("s", (tmp_path / "A.png", tmp_path / "B.png"), tmp_path / "T.png")
    assert label_patches([scene], size=8, stride=8).focused.shape == (64, 0)
