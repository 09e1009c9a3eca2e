"""The methods `variance` and `log-energy`, compared with direct computations and SciPy."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, gaussian_laplace, generic_filter, uniform_filter

from panfocus.methods import get_method
from panfocus.methods._local_energy import peak_depth
from panfocus.methods.log_energy import laplacian_of_gaussian
from panfocus.methods.variance import local_variance
from panfocus.tiling.tiled import run_method

SHAPE = (13, 17)
each_method = pytest.mark.parametrize("name", ["variance", "log-energy"])


@pytest.mark.parametrize("window", [3, 9])
def test_variance_agrees_with_numpy_in_every_window(rng, window):
    plane = rng.random(SHAPE)
    expected = generic_filter(plane, np.var, size=window, mode="reflect")
    np.testing.assert_allclose(local_variance(plane, window), expected, rtol=1e-12)


def test_variance_of_faint_detail_on_a_bright_background_is_exact(rng):
    # 16-bit data, detail of one level: the two means agree in nine digits.
    plane = (60000 + rng.integers(0, 2, SHAPE)) / 65535
    expected = generic_filter(plane, np.var, size=9, mode="reflect")
    np.testing.assert_allclose(local_variance(plane, 9), expected, rtol=1e-4)


@pytest.mark.parametrize("level", [0.1, 0.3, 1.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flat_areas_have_no_energy(level, dtype):
    flat = np.full(SHAPE, level, dtype)
    assert not local_variance(flat, 9).any()
    assert not laplacian_of_gaussian(flat, 1.3).any()


@pytest.mark.parametrize(("scale", "tolerance"), [(0.7, 0.03), (1.0, 0.001), (2.0, 0.005)])
def test_laplacian_agrees_with_scipy(rng, scale, tolerance):
    # Small scales: SciPy's sampled kernel also responds to brightness. Large ones: ours ends at 4 deviations.
    plane = rng.random(SHAPE)
    expected = gaussian_laplace(plane, scale, mode="reflect", truncate=8)
    np.testing.assert_allclose(laplacian_of_gaussian(plane, scale), expected, atol=tolerance * expected.std())


def test_energy_is_the_mean_squared_laplacian(rng):
    plane = rng.random((29, 37))
    expected = uniform_filter(gaussian_laplace(plane, 1.0, truncate=8) ** 2, 5)
    inside = np.s_[7:-7, 7:-7]
    energy = get_method("log-energy", window=5).energy(plane)
    np.testing.assert_allclose(energy[inside], expected[inside], rtol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_depth_of_a_gaussian_focus_curve_is_exact(rng, dtype):
    centres = rng.uniform(1, 5, SHAPE)
    widths = rng.uniform(0.7, 3, SHAPE)
    frames = np.arange(7)[:, None, None]
    energies = np.exp(-(((frames - centres) / widths) ** 2)).astype(dtype)
    depth = peak_depth(energies.argmax(axis=0), energies)
    np.testing.assert_allclose(depth, centres, atol=1e-5)


def test_depth_at_the_ends_and_without_energy_is_the_label():
    energies = np.array([[3, 1, 0, 2], [2, 2, 0, 2], [1, 3, 0, 2]], float)[:, None]
    np.testing.assert_array_equal(peak_depth(energies.argmax(axis=0), energies), [[0, 2, 0, 0]])


def test_depth_next_to_a_frame_without_energy_is_finite_and_near_the_label():
    energies = np.array([[0, 0], [1, 1], [0, 0.5]], np.float32)[:, None]
    depth = peak_depth(np.ones((1, 2), np.uint8), energies)
    assert depth[0, 0] == 1
    assert 1.4 < depth[0, 1] <= 1.5


@each_method
def test_sharper_frame_is_copied(rng, name):
    sharp = rng.integers(0, 256, (41, 53)).astype(np.uint8)
    soft = gaussian_filter(sharp, 2)
    left = np.arange(53) < 26
    frames = np.stack([np.where(left, soft, sharp), soft, np.where(left, sharp, soft)])
    result = run_method(get_method(name), frames)
    away = np.abs(np.arange(53) - 25.5) > 8
    np.testing.assert_array_equal(result.labels[:, away], np.where(left, 2, 0)[away][None].repeat(41, 0))
    np.testing.assert_array_equal(result.image[:, away], sharp[:, away])
    assert (result.confidence[:, away] > 0.8).all()


@each_method
def test_earlier_frame_wins_ties(rng, name):
    frame = rng.integers(0, 256, SHAPE).astype(np.uint8)
    result = run_method(get_method(name), np.stack([frame // 2, frame, frame]))
    assert (result.labels == 1).all()


@each_method
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_flat_frames_give_the_first_frame_without_confidence(name, dtype):
    levels = np.array([7, 0, 9, 3]) if dtype == np.uint8 else np.array([0.1, 0, 0.7, 0.3])
    frames = np.broadcast_to(levels.astype(dtype)[:, None, None], (4, *SHAPE))
    result = run_method(get_method(name), frames)
    np.testing.assert_array_equal(result.image, frames[0])
    np.testing.assert_array_equal(result.confidence, 0.25)
    np.testing.assert_array_equal(result.depth, 0)


@each_method
@pytest.mark.parametrize("factor", [1e-14, 1e14])
def test_brightness_of_float_frames_does_not_matter(rng, name, factor):
    frames = rng.random((3, *SHAPE)).astype(np.float32)
    scaled = frames * np.float32(factor)
    expected, result = run_method(get_method(name), frames), run_method(get_method(name), scaled)
    np.testing.assert_array_equal(result.labels, expected.labels)
    np.testing.assert_allclose(result.depth, expected.depth, atol=1e-3)
