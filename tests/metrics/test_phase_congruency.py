"""Phase congruency, the feature map of Q_P."""

import numpy as np
import pytest

from panfocus.metrics import qp
from panfocus.metrics.qp import phase_congruency


@pytest.fixture
def square():
    image = np.full((96, 96), 60.0)
    image[30:66, 30:66] = 180
    return image


def test_phase_congruency_is_high_at_edges_and_low_in_flat_areas(square):
    congruency = phase_congruency(square).overall
    assert congruency.min() >= 0
    assert congruency.max() <= 1
    assert congruency[48, 28:32].max() > 0.3
    assert congruency[48, 40:56].max() < 0.1


@pytest.mark.parametrize("contrast", [0.2, 1.5])
def test_phase_congruency_ignores_contrast_and_brightness(square, contrast):
    changed = phase_congruency(contrast * square + 7)
    for ours, expected in zip(changed, phase_congruency(square), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-3)


def test_rotating_the_image_rotates_phase_congruency(rng):
    # An odd side: an even one has a highest frequency without a partner, which breaks the symmetry.
    image = rng.integers(0, 256, (65, 65)).astype(float)
    for turned, expected in zip(phase_congruency(np.rot90(image)), phase_congruency(image), strict=True):
        np.testing.assert_allclose(np.rot90(turned, -1), expected, atol=1e-9)


def test_smallest_moment_is_larger_at_corners_than_at_edges(square):
    smallest = phase_congruency(square).smallest_moment
    assert smallest[28:33, 28:33].max() > 3 * smallest[46:51, 28:33].max()


def test_qp_decreases_when_features_are_mixed(rng):
    a, b = rng.integers(0, 256, (2, 60, 70)).astype(np.uint8)
    mean = ((a.astype(int) + b) // 2).astype(np.uint8)
    assert 1 > qp([a, a], a) > qp([a, b], a) > qp([a, b], mean)


def test_qp_of_an_image_without_features_is_nearly_one(rng):
    a, b = rng.integers(0, 256, (2, 60, 70)).astype(np.uint8)
    assert qp([a, b], np.full_like(a, 128)) == pytest.approx(1, abs=1e-3)
