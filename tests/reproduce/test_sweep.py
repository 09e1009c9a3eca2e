import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary
from panfocus.pipeline import fuse
from panfocus.reproduce.parameters import READINGS, CodedScene


@pytest.fixture(scope="module")
def dictionary():
    rng = np.random.default_rng(3)
    levels = rng.standard_normal((2, 25, 60))
    return CoupledDictionary(levels / np.linalg.norm(levels, axis=1, keepdims=True))


@pytest.mark.parametrize("shape", [(2, 31, 26), (3, 26, 31, 3)])
@pytest.mark.parametrize("contrast", READINGS)
@pytest.mark.parametrize("w", [0.5, 0.55, 0.9])
def test_a_coded_scene_gives_the_bits_of_the_method(rng, dictionary, shape, contrast, w):
    frames = rng.integers(0, 256, shape, dtype=np.uint8)
    frames[0, 3:12, 3:12] = 90  # flat patches, which have no direction
    fused = CodedScene.encode(frames, dictionary, eps=0.2).fuse(w=w, contrast=contrast)
    settings = {"dictionary": dictionary, "eps": 0.2, "w": w, "contrast": contrast, "max_atoms": 0}
    expected = fuse(frames, "coupled", **settings).image
    assert np.array_equal(fused, expected)


def test_readings_and_weights_differ(rng, dictionary):
    frames = rng.integers(0, 256, (2, 31, 26), dtype=np.uint8)
    frames[1] //= 2  # half the contrast, which only one reading uses
    coded = CodedScene.encode(frames, dictionary, eps=0.2)
    images = [
        coded.fuse(w=w, contrast=contrast).tobytes()
        for w, contrast in ((0.5, "restored"), (0.5, "normalised"), (0.9, "normalised"))
    ]
    assert len(set(images)) == 3
