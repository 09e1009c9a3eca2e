import math

import numpy as np
import pytest

from panfocus.metrics import qabf

BEST = 0.9994 / (1 + math.exp(-7.5)) * 0.9879 / (1 + math.exp(-4.4))


@pytest.mark.parametrize("n", [2, 3])
def test_equal_images_score_the_maximum(rng, n):
    image = rng.integers(0, 256, (13, 17)).astype(np.uint8)
    assert qabf([image] * n, image) == pytest.approx(BEST, rel=1e-14)
    assert pytest.approx(0.9748, abs=5e-5) == BEST


def test_black_images_score_the_maximum():
    image = np.zeros((5, 7), np.uint8)
    assert qabf([image, image], image) == pytest.approx(BEST)


def test_lost_edges_score_nearly_zero(rng):
    image = rng.integers(0, 256, (13, 17)).astype(np.uint8)
    assert qabf([image, image], np.zeros_like(image)) < 1e-3


def test_halved_contrast_preserves_orientation_and_half_the_strength():
    image = np.zeros((9, 11), np.uint8)
    image[:, 5:] = 100
    expected = 0.9994 / 2 * 0.9879 / (1 + math.exp(-4.4))
    # Pixels without an edge have a strength of 1e-5, which is preserved but has almost no weight.
    assert qabf([image, image], image // 2) == pytest.approx(expected, rel=1e-6)


def test_strong_edges_outweigh_weak_ones():
    strong, weak = np.zeros((9, 11), np.uint8), np.zeros((9, 11), np.uint8)
    strong[:, 5:], weak[5:] = 200, 20
    assert qabf([strong, weak], strong) > qabf([strong, weak], weak)
