import numpy as np
import pytest

from panfocus.metrics import nmi


@pytest.mark.parametrize("n", [2, 3, 5])
def test_equal_images_score_the_number_of_sources(rng, n):
    image = rng.integers(0, 256, (13, 17)).astype(np.uint8)
    assert nmi([image] * n, image) == pytest.approx(n, rel=1e-14)


def test_a_copied_source_adds_one(rng):
    a, b = rng.integers(0, 256, (2, 130, 170)).astype(np.uint8)
    alone = nmi([a, a], a) / 2
    assert nmi([a, b], a) == pytest.approx(alone + nmi([b, b], a) / 2)


def test_renaming_levels_changes_nothing(rng):
    a, b = rng.integers(0, 2, (2, 13, 17)).astype(np.uint8)
    assert nmi([a, a], b) == pytest.approx(nmi([a, a], 255 - 200 * b))


def test_two_by_two_table_by_hand():
    # Joint distribution (1/2, 1/4, 0, 1/4): H(s) = h(3/4), H(F) = 1, H(s, F) = 3/2 bits.
    source, fused = np.array([[0, 0, 0, 9]], np.uint8), np.array([[0, 0, 9, 9]], np.uint8)
    entropy = 2 - 0.75 * np.log2(3)
    expected = 2 * 2 * (entropy + 1 - 1.5) / (entropy + 1)
    assert nmi([source, source], fused) == pytest.approx(expected, rel=1e-14)


def test_constant_images_score_zero():
    image = np.full((5, 7), 9, np.uint8)
    assert nmi([image, image], image) == 0


def test_floats_outside_the_range_are_clipped(rng):
    image = rng.random((13, 17))
    image[0, 0], image[0, 1] = 1.0, 0.0
    beyond = image.copy()
    beyond[0, 0], beyond[0, 1] = 1.7, -0.2
    assert nmi([image, image], beyond, data_range=1.0) == pytest.approx(2)
