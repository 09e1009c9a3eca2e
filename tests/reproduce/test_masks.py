import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary
from panfocus.methods import get_method
from panfocus.reproduce.equations import LabelledPatches
from panfocus.reproduce.masks import count_regions, measure_accuracy, section


def test_regions_are_connected_by_sides_only():
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 0], [1, 0, 0, 1]])
    # Of 0: the large one, and the single one on the right, which touches by a corner only. Of 1: three.
    assert count_regions(labels) == 2 + 3


@pytest.mark.parametrize("name", ["coupled", "sr-ksvd"])
def test_accuracy_counts_patches_with_more_contrast(rng, name):
    """Of two multiples of one patch the larger has the larger code, for any atoms."""
    levels = rng.standard_normal((2, 16, 30))
    dictionary = CoupledDictionary(levels / np.linalg.norm(levels, axis=1, keepdims=True))
    texture = 0.5 + 0.4 * (rng.random((16, 10)) - 0.5)
    paler = 0.5 + 0.5 * (texture - 0.5)
    focused, blurred = texture.copy(), paler.copy()
    focused[:, :3], blurred[:, :3] = paler[:, :3], texture[:, :3]  # three are decided wrong
    focused[:, 3] = blurred[:, 3]  # a tie
    patches = LabelledPatches(focused, blurred, (focused, blurred), 1)
    method = get_method(name, dictionary=dictionary, max_atoms=0)
    assert measure_accuracy(patches, method) == pytest.approx(0.6)


def test_the_page_names_training_scenes_among_the_masks(reproduction):
    masks = reproduction.evidence.masks
    assert "lytro-05 and lytro-20" in section(masks, ["lytro-20", "lytro-05"]).body
    assert "lytro-05 and lytro-20" not in section(masks, ["lytro-07"]).body
