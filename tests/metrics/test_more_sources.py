"""More than two sources. Only NMI and QABF have published values, so the others are derived here."""

import math

import numpy as np
import pytest

from panfocus.metrics import CATALOGUE, fmi, nmi, qabf, qc, qcb, qncie, qp, qw, qy, te, viff

SIZE = (43, 47)


@pytest.fixture
def images(rng):
    """Two related sources and a fusion that equals neither."""
    base = rng.integers(0, 120, SIZE)
    a, b = (base + rng.integers(0, 120, SIZE) for _ in range(2))
    return tuple(image.astype(np.uint8) for image in (a, b, np.maximum(a, b)))


def keyed(*keys):
    return pytest.mark.parametrize("metric", [m for m in CATALOGUE if m.key in keys], ids=lambda m: m.key)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (qabf, 0.9994 / (1 + math.exp(-7.5)) * 0.9879 / (1 + math.exp(-4.4))),
        (qy, 1), (qcb, 1), (fmi, 1), (viff, 1), (qw, 1), (qc, 1),
    ],
)  # fmt: skip
def test_equal_sources_have_the_documented_value(images, metric, expected, k):
    image = images[0]
    assert metric([image] * k, image) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("metric", [nmi, te])
def test_metric_is_the_sum_over_sources(images, metric):
    a, b, fused = images
    alone = {name: metric([source, source], fused) / 2 for name, source in (("a", a), ("b", b))}
    assert metric([a, b, b], fused) == pytest.approx(alone["a"] + 2 * alone["b"])


def test_te_of_three_equal_images_by_hand():
    image = np.array([[0, 9]], np.uint8)  # as with two sources: 2^0.85 for each
    assert te([image] * 3, image) == pytest.approx(3 * (2**0.85 - 1) / 0.85)


@pytest.mark.parametrize("feature", ["edge", "gradient", "none"])
def test_fmi_is_the_mean_over_the_sources(images, feature):
    a, b, fused = images
    alone_a, alone_b = (fmi([source, source], fused, feature=feature) for source in (a, b))
    assert fmi([a, b, b], fused, feature=feature) == pytest.approx((alone_a + 2 * alone_b) / 3)


@keyed("QABF", "QABF_zliu", "QY", "QCB", "FMI", "VIFF", "QP", "QW", "QC")
def test_duplicating_every_source_changes_nothing(images, metric):
    a, b, fused = images
    assert metric.function([a, b, a, b], fused) == pytest.approx(metric.function([a, b], fused), rel=1e-12)


@pytest.mark.parametrize("metric", [viff, qp])
def test_repeating_one_source_changes_nothing(images, metric):
    a, b, fused = images
    expected = pytest.approx(metric([a, b], fused), rel=1e-12)
    assert metric([a, b, b], fused) == expected
    assert metric([a, a, b], fused) == expected


def test_qy_requires_all_pairs_to_agree(rng):
    # Two sources agree; the fused image is the third. The most similar source counts in every window.
    a, c = rng.integers(0, 256, (2, *SIZE)).astype(np.uint8)
    assert qy([a, a, c], c) == pytest.approx(1)


def test_qw_and_qc_of_a_single_window_by_hand(rng):
    base = rng.integers(0, 100, (8, 8))
    a, b, f = (base + rng.integers(0, 60, (8, 8)) for _ in range(3))

    def index(x):
        cov = ((x - x.mean()) * (f - f.mean())).mean()
        quality = 4 * cov * x.mean() * f.mean() / ((x.var() + f.var()) * (x.mean() ** 2 + f.mean() ** 2))
        return cov, quality

    (cov_a, quality_a), (cov_b, quality_b) = index(a), index(b)
    assert min(cov_a, cov_b) > 0
    sources, fused = [image.astype(np.uint8) for image in (a, b, b)], f.astype(np.uint8)
    by_variance = (a.var() * quality_a + 2 * b.var() * quality_b) / (a.var() + 2 * b.var())
    assert qw(sources, fused) == pytest.approx(by_variance)
    by_covariance = (cov_a * quality_a + 2 * cov_b * quality_b) / (cov_a + 2 * cov_b)
    assert qc(sources, fused) == pytest.approx(by_covariance)


def test_qncie_of_three_sources_by_hand():
    # Two levels with equal shares: an image shares 1 bit of 8 with a copy, and a is independent of b. The
    # fused image is b, so that three of four images are equal.
    a, b = np.array([[0, 0, 9, 9]], np.uint8), np.array([[0, 9, 0, 9]], np.uint8)
    eigenvalues = np.array([1, 1 - 1 / 8, 1 - 1 / 8, 1 + 2 / 8]) / 4
    assert qncie([a, b, b], b) == pytest.approx(1 + (eigenvalues * np.log(eigenvalues)).sum() / np.log(256))


def test_qcb_gives_sources_without_contrast_no_weight(images):
    a, _, fused = images
    flat = np.zeros_like(a)
    assert qcb([a, flat, flat], fused) == pytest.approx(qcb([a, a], fused), rel=1e-12)
