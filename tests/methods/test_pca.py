"""The method `pca`: weights compared with scikit-learn and by hand, scores compared with the paper."""

import itertools
import json

import numpy as np
import pytest
from sklearn import decomposition

import panfocus as pf
from panfocus.decide.gray import to_gray
from panfocus.io.read_stack import read_image
from panfocus.methods.pca import covariance, principal_weights

SHAPE = (13, 17)


def weights_of(frames):
    return pf.fuse(frames, "pca").report["weights"]


def related_frames(rng, n_frames, *, channels=None):
    """Return frames of one scene with different contrast and noise."""
    full = SHAPE if channels is None else (*SHAPE, channels)
    scene = rng.random(full)
    return np.stack([0.2 + (0.2 + 0.1 * k) * scene + 0.05 * rng.random(full) for k in range(n_frames)])


@pytest.mark.parametrize("n_frames", [2, 3, 9])
@pytest.mark.parametrize("channels", [None, 3])
def test_weights_agree_with_scikit_learn(rng, n_frames, channels):
    frames = related_frames(rng, n_frames, channels=channels)
    pixels = np.stack([to_gray(frame).ravel() for frame in frames], axis=1)
    loadings = decomposition.PCA(n_components=1).fit(pixels).components_[0]
    np.testing.assert_allclose(weights_of(frames), loadings / loadings.sum(), rtol=1e-9)


def test_image_is_the_weighted_mean_in_every_channel(rng):
    frames = related_frames(rng, 3, channels=4)
    result = pf.fuse(frames, "pca")
    np.testing.assert_allclose(
        result.image, np.average(frames, axis=0, weights=result.report["weights"]), rtol=1e-12
    )
    assert len({round(weight, 3) for weight in result.report["weights"]}) == 3


def test_higher_contrast_has_a_larger_weight(rng):
    scene = rng.random(SHAPE)
    # Covariance v [[1, 3], [3, 9]]: its first component is (1, 3).
    assert weights_of(np.stack([0.2 * scene, 0.6 * scene])) == pytest.approx([0.25, 0.75])


def test_sign_of_a_loading_is_ignored(rng):
    scene = rng.random(SHAPE)
    # Covariance v [[4, -2], [-2, 1]]: its first component is (2, -1), which sums to 1, not to 3.
    assert weights_of(np.stack([scene, 0.9 - 0.5 * scene])) == pytest.approx([2 / 3, 1 / 3])
    # Here the loadings, (1, -1), sum to 0.
    assert weights_of(np.stack([scene, 1 - scene])) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_flat_frames_have_equal_weights(dtype):
    levels = (7, 0, 9) if dtype == np.uint8 else (0.1, 0.3, 0.7)  # the mean of 0.1 is rounded
    frames = np.stack([np.full(SHAPE, level, dtype) for level in levels])
    assert weights_of(frames) == pytest.approx([1 / 3] * 3)


def test_flat_frame_has_no_weight(rng):
    frames = related_frames(rng, 3)
    frames[1] = 0.1
    weights = weights_of(frames)
    assert weights[1] == 0
    assert min(weights[0], weights[2]) > 0.3


def test_equal_eigenvalues_share_the_weight():
    # Frames 0 and 1 have equal variance and no correlation, frame 2 has less: every direction in the plane
    # of 0 and 1 is a first component.
    a, b = np.meshgrid([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0])
    matrix = covariance([a, b, 0.5 * np.abs(a - b)])
    np.testing.assert_allclose(matrix, np.diag([1 / 4, 1 / 4, 1 / 16]), atol=1e-16)
    assert principal_weights(matrix) == pytest.approx([0.5, 0.5, 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_order_of_frames_changes_no_bit_of_the_weights(rng, dtype):
    unit = related_frames(rng, 4)
    frames = np.rint(255 * unit).astype(dtype) if dtype == np.uint8 else unit.astype(dtype)
    expected = pf.fuse(frames, "pca", exposure="off")
    for order in itertools.permutations(range(4)):
        result = pf.fuse(frames[list(order)], "pca", exposure="off")
        np.testing.assert_array_equal(result.image, expected.image)
        assert result.report["weights"] == [expected.report["weights"][k] for k in order]


def test_reported_weights_are_plain_numbers_with_sum_one(rng):
    report = json.loads(json.dumps(pf.fuse(related_frames(rng, 3), "pca").report))
    assert sum(report["weights"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "nmi", "qabf"), [("lab", 1.0270, 0.5651), ("disk", 0.8372, 0.5352)], ids=["Lab", "Disk"]
)
def test_scores_agree_with_the_paper(data_dir, name, nmi, qabf):
    # Table 1 of Veshki and Vorobyov, rows "PCA".
    frames = np.stack([read_image(data_dir / "grayscale6" / f"{name}-{part}.png") for part in "AB"])
    fused = pf.fuse(frames, "pca").image
    assert pf.metrics.nmi(list(frames), fused) == pytest.approx(nmi, abs=0.002)
    assert pf.metrics.qabf(list(frames), fused) == pytest.approx(qabf, abs=0.002)
