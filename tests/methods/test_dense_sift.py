"""Dense SIFT: descriptors compared with OpenCV, their sum, and matching compared with a plain search."""

import math

import cv2
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.methods import _dense_sift
from panfocus.methods._dense_sift import Searchable, activity, matches


def descriptors(gray, cell):
    """Return descriptors (h, w, 128): cells row by row, orientations counter-clockwise from the right."""
    return np.concatenate(_dense_sift._of_pixels(_dense_sift.cell_map(gray, cell), cell), axis=2)


def texture(rng, shape):
    smooth = gaussian_filter(rng.random(shape), 1.2)
    return (smooth - smooth.min()) / (smooth.max() - smooth.min())


@pytest.mark.parametrize("cell", [3, 4, 6])
def test_descriptors_agree_with_opencv(rng, monkeypatch, cell):
    # OpenCV weights each descriptor by a Gaussian of two cells, normalises, clips at 0.2, normalises again
    # and rounds to multiples of 1/512. The same steps are applied here. Its smoothing is
    # sqrt(sigma^2 - 0.5^2), set to ours.
    image = np.rint(255 * texture(rng, (90, 101))).astype(np.uint8)
    places = [(y, x) for y in range(28, 62, 7) for x in range(28, 72, 9)]
    points = [cv2.KeyPoint(float(x), float(y), cell / 1.5, 0.0, 1.0, 0) for y, x in places]
    sift = cv2.SIFT_create(sigma=np.hypot(_dense_sift.SMOOTHING, 0.5))
    _, expected = sift.compute(image, points)

    gradient = _dense_sift.gradient
    for (y, x), theirs in zip(places, expected, strict=True):

        def under_a_gaussian(gray, y=y, x=x):
            margin = math.ceil((gray.shape[0] - image.shape[0]) / 2)  # odd cells start half a pixel earlier
            rows, cols = np.ogrid[: gray.shape[0], : gray.shape[1]]
            square = (rows - margin - y) ** 2 + (cols - margin - x) ** 2
            return tuple(np.exp(-square / (2 * (2 * cell) ** 2)) * part for part in gradient(gray))

        monkeypatch.setattr(_dense_sift, "gradient", under_a_gaussian)
        ours = descriptors(image / 255, cell)[y, x]
        ours = np.minimum(ours / np.linalg.norm(ours), 0.2)
        np.testing.assert_allclose(512 * ours / np.linalg.norm(ours), theirs, atol=0.51)


@pytest.mark.parametrize("cell", range(1, 8))
def test_activity_is_the_sum_of_descriptor_entries(rng, cell):
    gray = texture(rng, (23, 31))
    np.testing.assert_allclose(activity(gray, cell), descriptors(gray, cell).sum(axis=2), rtol=1e-12)


def test_image_is_mirrored_at_its_edges(rng):
    gray = texture(rng, (23, 31))
    wider = np.pad(gray, 20, "symmetric")
    np.testing.assert_allclose(descriptors(wider, 4)[20:-20, 20:-20], descriptors(gray, 4), atol=1e-12)


@pytest.mark.parametrize("cell", [1, 2, 3, 6, 7])
def test_reach_is_exact(cell):
    reach = _dense_sift.reach(cell)
    gray = np.zeros((2 * reach + 9, 2 * reach + 9))
    at = reach + 4
    gray[at, at] = 1
    changed = activity(gray, cell) > 0
    distance = np.abs(np.arange(len(gray)) - at)
    assert not changed[distance > reach].any()
    assert changed[at - reach, at]
    assert changed[at, at + reach]


def test_vertical_edge_has_one_orientation():
    step = np.tile(np.repeat([0.0, 1.0], 20), (40, 1))
    orientations = descriptors(step, 4)[20, 20].reshape(16, 8)
    np.testing.assert_allclose(orientations[:, 1:], 0, atol=1e-12)  # brighter to the right: angle 0
    upwards = descriptors(step.T[::-1], 4)[20, 20].reshape(16, 8)
    assert (upwards[:, 2] > 0).sum() == 16 - (orientations[:, 0] == 0).sum()
    np.testing.assert_allclose(np.delete(upwards, 2, axis=1), 0, atol=1e-12)  # 90 degrees, the third of eight


def everywhere(shape):
    return tuple(np.indices(shape).reshape(2, -1))


@pytest.mark.parametrize("cell", [2, 3, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matches_have_the_most_similar_descriptors(rng, cell, dtype):
    a, b = (texture(rng, (17, 21)).astype(dtype) for _ in range(2))
    places = everywhere(a.shape)
    matched = matches(Searchable.of(a, cell, 2), Searchable.of(b, cell, 2), places)
    here, there = (
        d / np.linalg.norm(d, axis=2, keepdims=True) for d in (descriptors(a, cell), descriptors(b, cell))
    )
    for y, x, v, u in zip(*places, *matched, strict=True):
        around = slice(max(0, y - 2), y + 3), slice(max(0, x - 2), x + 3)
        nearest = np.linalg.norm(there[around] - here[y, x], axis=2).min()
        assert max(abs(v - y), abs(u - x)) <= 2
        # Allow for ties up to rounding.
        assert np.linalg.norm(there[v, u] - here[y, x]) <= nearest + 100 * np.finfo(dtype).eps
    assert len(set(zip(matched[0] - places[0], matched[1] - places[1], strict=True))) > 15


def test_shift_is_found(rng):
    scene = texture(rng, (60, 70))
    a, b = (Searchable.of(part, 4, 3) for part in (scene[5:45, 5:55], scene[7:47, 4:54]))
    places = tuple(np.indices((20, 20)).reshape(2, -1) + 10)
    # The content of a at (y, x) is at (y - 2, x + 1) in b.
    np.testing.assert_array_equal(matches(a, b, places), (places[0] - 2, places[1] + 1))
    np.testing.assert_array_equal(matches(b, a, places), (places[0] + 2, places[1] - 1))


def test_flat_areas_do_not_move(rng):
    flat, other = (Searchable.of(gray, 2, 3) for gray in (np.full((20, 20), 0.3), texture(rng, (20, 20))))
    for here, there in ((flat, flat), (flat, other), (other, flat)):
        np.testing.assert_array_equal(matches(here, there, everywhere((20, 20))), everywhere((20, 20)))


def test_matches_stay_inside_the_image(rng):
    scene = texture(rng, (40, 40))
    parts = [Searchable.of(part, 4, 3) for part in (scene[:20, :20], scene[3:23, 3:23])]
    for here, there in (parts, parts[::-1]):
        matched = np.array(matches(here, there, everywhere((20, 20))))
        assert matched.min() >= 0
        assert matched.max() <= 19
        assert np.abs(matched - everywhere((20, 20))).max() == 3
