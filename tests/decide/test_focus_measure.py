import numpy as np
import pytest

from panfocus.decide.focus_measure import NOISE_GAIN, REACH, WINDOW, laplacian_energy
from panfocus.simulate import apply_defocus

SHAPE = (13, 17)


def reference_energy(image):
    """Return the mean squared 9-point Laplacian under a 5 x 5 Gaussian; edges are mirrored."""

    def windows(plane, size):
        wide = np.pad(plane, size // 2, mode="symmetric")
        return np.lib.stride_tricks.sliding_window_view(wide, (size, size))

    around = windows(image, 3)
    laplacian = (
        around[..., [0, 0, 2, 2], [0, 2, 0, 2]].sum(axis=-1)
        + 4 * around[..., [0, 1, 1, 2], [1, 0, 2, 1]].sum(axis=-1)
        - 20 * image
    ) / 6
    y, x = np.mgrid[-2:3, -2:3]
    gaussian = np.exp(-(x**2 + y**2) / (2 * (5 / 6) ** 2))
    return (windows(laplacian**2, 5) * gaussian / gaussian.sum()).sum(axis=(2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [SHAPE, (8, 8), (1, 9), (2, 2)])
def test_energy_is_the_mean_squared_laplacian(rng, dtype, shape):
    image = rng.random(shape).astype(dtype)
    energy = laplacian_energy(image)
    assert energy.dtype == np.float64
    np.testing.assert_allclose(energy, reference_energy(image.astype(float)), rtol=1e-12)


def test_energy_of_a_parabola_is_its_curvature_squared():
    # The Laplacian of (x^2 + y^2) / 2 is 2 everywhere away from the edges.
    y, x = np.mgrid[:20, :25].astype(float)
    inner = laplacian_energy((x**2 + y**2) / 2)[REACH:-REACH, REACH:-REACH]
    np.testing.assert_allclose(inner, 4, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e15])
def test_energy_of_a_flat_image_is_exactly_zero(dtype, value):
    assert not laplacian_energy(np.full(SHAPE, value, dtype)).any()


def test_rounding_is_ignored_but_one_16_bit_step_is_not(rng):
    flat = np.full(SHAPE, 0.7, np.float32)
    assert not laplacian_energy(np.nextafter(flat, rng.integers(0, 2, SHAPE).astype(np.float32))).any()
    faint = flat.copy()
    faint[6, 8] += np.float32(1 / 65535)
    assert laplacian_energy(faint)[6, 8] > 0


def test_energy_changes_within_its_reach(rng):
    image = rng.random(SHAPE)
    other = image.copy()
    other[6, 8] += 1
    rows, cols = np.nonzero(laplacian_energy(other) != laplacian_energy(image))
    assert (rows.min(), rows.max()) == (6 - REACH, 6 + REACH)
    assert (cols.min(), cols.max()) == (8 - REACH, 8 + REACH)
    assert len(WINDOW) == 2 * (REACH - 1) + 1


def test_energy_of_noise_matches_its_gain(rng):
    noise = 0.01 * rng.standard_normal((300, 300))
    np.testing.assert_allclose(laplacian_energy(noise).mean(), NOISE_GAIN * 1e-4, rtol=0.02)


def test_it_falls_with_the_defocus(rng):
    sharp = rng.random((60, 60))
    energies = [laplacian_energy(apply_defocus(sharp, radius)).mean() for radius in (0, 1, 2, 4)]
    assert (np.diff(energies) < 0).all()
