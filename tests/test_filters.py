import numpy as np
import pytest
from scipy.ndimage import convolve1d, gaussian_filter, maximum_filter, uniform_filter

from panfocus._filters import Filter, box, filtered, gaussian, largest_around, reach


@pytest.fixture
def planes():
    return np.random.default_rng(3).random((40, 53, 3)).astype(np.float32)


@pytest.mark.parametrize("width", [0.5, 1.5, 6.0])
def test_gaussian_agrees_with_scipy(planes, width):
    expected = gaussian_filter(planes.astype(np.float64), (width, width, 0), radius=reach(gaussian(width)))
    np.testing.assert_allclose(filtered(planes, gaussian(width)), expected, atol=1e-6)


def test_box_is_the_local_mean(planes):
    expected = uniform_filter(planes[..., 0].astype(np.float64), 15)
    np.testing.assert_allclose(filtered(planes[..., 0], box(15)), expected, atol=1e-6)


def test_uneven_weights_and_short_sides_are_supported():
    plane = np.random.default_rng(4).random((3, 5)).astype(np.float32)
    weights = np.array([0.1, 0.5, 0.05, 0.2, 0.15, 0.0, 0.0, 0.0, 0.0], np.float32)
    expected = plane.astype(np.float64)
    for axis in (0, 1):
        expected = convolve1d(expected, weights[::-1], axis=axis, mode="reflect")
    np.testing.assert_allclose(filtered(plane, Filter(weights)), expected, atol=1e-6)


def test_filter_with_steps_skips_pixels(planes):
    weights = np.array([0.2, 0.5, 0.3], np.float32)
    expected = planes.astype(np.float64)
    for axis in (0, 1):
        expected = convolve1d(expected, [0.3, 0, 0.5, 0, 0.2], axis=axis, mode="reflect")
    np.testing.assert_allclose(filtered(planes, Filter(weights, step=2)), expected, atol=1e-6)
    assert reach(Filter(weights, step=2)) == 2


def test_reaches_of_successive_filters_add_up(planes):
    np.testing.assert_allclose(filtered(planes, box(3), box(5, step=3)), filtered(planes, box(15)), atol=1e-6)
    assert reach(box(3), box(5, step=3)) == reach(box(15)) == 7


def test_memory_layout_does_not_matter(planes):
    np.testing.assert_array_equal(filtered(np.asfortranarray(planes), box(3)), filtered(planes, box(3)))


@pytest.mark.parametrize("window", [gaussian(2.0), gaussian(2.5, step=2), box(5)])
def test_part_has_the_same_bits_as_the_whole(planes, window):
    r = reach(window)
    part = filtered(planes[7:33, 9:41], window)
    np.testing.assert_array_equal(part[r:-r, r:-r], filtered(planes, window)[7 + r : 33 - r, 9 + r : 41 - r])


@pytest.mark.parametrize("shape", [(13, 17), (1, 9), (9, 1), (2, 3)])
@pytest.mark.parametrize("radius", [0, 1, 3, 20])
def test_largest_around_agrees_with_scipy(shape, radius):
    plane = np.random.default_rng(5).normal(size=shape).astype(np.float32)
    before = plane.copy()
    expected = maximum_filter(plane, 2 * radius + 1, mode="nearest")
    np.testing.assert_array_equal(largest_around(plane, radius), expected)
    np.testing.assert_array_equal(plane, before)
