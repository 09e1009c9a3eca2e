import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.reproduce.equations import LabelledPatches, describe_codes, label_patches, measure_atom_shares
from panfocus.reproduce.image_sets import SceneImages


@pytest.fixture
def axes_dictionary():
    """D_F has the first two of four unit vectors, D_B the last two."""
    eye = np.eye(4)
    return CoupledDictionary(np.stack([eye[:, :2], eye[:, 2:]]))


def test_best_atoms_are_counted_by_half(axes_dictionary):
    # By hand: focused patches lie closest to axes 0, 1, 2; blurred ones to 3, 2, 3.
    focused = np.array([[0.9, 0.1, 0.3, 0.2], [0.2, -0.8, 0.1, 0.0], [0.1, 0.2, 0.7, 0.6]]).T
    blurred = np.array([[0.1, 0.0, 0.2, 0.9], [0.3, 0.1, -0.5, 0.2], [0.0, 0.1, 0.2, 0.4]]).T
    shares = measure_atom_shares(LabelledPatches(focused, blurred, (focused, blurred), 1), axes_dictionary)
    assert shares == pytest.approx({"focused": 2 / 3, "blurred": 1, "both": 2 / 3})


def test_codes_over_orthogonal_atoms_are_coordinates():
    X = np.array([[0.6, 0.8, 0, 0], [0, 0, 1, 0], [0.5, 0.5, 0.5, 0.5]]).T
    codes = describe_codes(X, np.eye(4), eps=0.01)
    mean, median = codes.mean, codes.median
    assert (mean.atoms, median.atoms) == pytest.approx(((2 + 1 + 4) / 3, 2))
    assert (mean.l1, median.l1) == pytest.approx(((1.4 + 1 + 2) / 3, 1.4))
    assert (mean.entry, median.entry) == pytest.approx(((1.4 + 1 + 2) / 7, 0.5))  # 0.5 four times of seven
    assert (mean.correlation, median.correlation) == pytest.approx(((0.8 + 1 + 0.5) / 3, 0.8))


def test_patches_are_labelled_by_their_difference_from_the_truth(rng):
    """Four blocks of 8 x 8: A right and B far, B right and A far, both near, both far."""
    truth = rng.integers(60, 190, (8, 32)).astype(int)
    noise = rng.choice([-1, 1], truth.shape)
    a, b = truth + noise, truth - noise  # 1 level off: close
    b[:, :8] = truth[:, :8] + 20 * noise[:, :8]  # 20 levels off: far
    a[:, 8:16] = truth[:, 8:16] + 20 * noise[:, 8:16]
    a[:, 24:] += 30 * noise[:, 24:]
    b[:, 24:] += 30 * noise[:, 24:]
    *frames, reference = (image.astype(np.uint8) for image in (a, b, truth))
    patches = label_patches([SceneImages("s", np.stack(frames), reference)], size=8, stride=8)
    expected = [(a[:, :8], b[:, :8]), (b[:, 8:16], a[:, 8:16])]
    assert patches.focused.shape == patches.blurred.shape == (64, 2)
    for i, pair in enumerate(expected):
        for block, X in zip(pair, (patches.focused, patches.blurred), strict=True):
            centred = (block - block.mean()).ravel()
            assert X[:, i] == pytest.approx(centred / np.linalg.norm(centred), abs=1e-5)
        for block, X in zip(pair, patches.grey, strict=True):
            assert X[:, i] == pytest.approx(block.ravel() / 255, abs=1e-6)


def test_flat_patches_have_no_label():
    flat, other = np.full((8, 8), 100, np.uint8), np.full((8, 8), 140, np.uint8)
    scene = SceneImages("s", np.stack([flat, other]), flat)
    with pytest.raises(InputError):
        label_patches([scene], size=8, stride=8)
