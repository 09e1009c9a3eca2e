import numpy as np
import pytest
from scipy.ndimage import convolve

from panfocus.errors import InputError
from panfocus.simulate import apply_defocus, defocus, disk, simulate_levels, simulate_training

RADII = [0.3, 1.0, 1.5, 2.7, 6.0]


@pytest.fixture
def image(rng):
    return rng.random((33, 47))


@pytest.mark.parametrize("radius", RADII)
def test_a_disk_has_unit_sum_odd_sides_and_all_symmetries(radius):
    kernel = disk(radius)
    assert kernel.shape == (2 * np.ceil(radius) + 1,) * 2
    assert np.isclose(kernel.sum(), 1, rtol=1e-14)
    for turned in (kernel.T, kernel[::-1], kernel[:, ::-1]):
        np.testing.assert_array_equal(kernel, turned)


@pytest.mark.parametrize("radius", [1.5, 2.7, 6.0])
def test_a_disk_is_even_inside_and_empty_outside(radius):
    kernel = disk(radius)
    offsets = np.arange(len(kernel)) - len(kernel) // 2
    distance = np.hypot(offsets[:, None], offsets)
    inside = kernel[distance < radius - 0.75]
    np.testing.assert_allclose(inside, 1 / (np.pi * radius**2), rtol=0.01)
    assert not kernel[distance > radius + 0.75].any()


@pytest.mark.parametrize("radius", [1e-9, 0.01, 0.3, 0.5])
def test_a_disk_within_a_pixel_does_not_blur(radius):
    np.testing.assert_array_equal(disk(radius), [[0, 0, 0], [0, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize("radius", [0, -1, np.nan])
def test_a_disk_needs_a_positive_radius(radius):
    with pytest.raises(InputError):
        disk(radius)


@pytest.mark.parametrize("radius", RADII)
def test_blurring_is_convolution_with_mirrored_borders(image, radius):
    np.testing.assert_allclose(
        apply_defocus(image, radius), convolve(image, disk(radius), mode="reflect"), atol=1e-13
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_and_size_are_preserved(image, dtype):
    blurred = apply_defocus(image.astype(dtype), 3.0)
    assert blurred.dtype == dtype
    assert blurred.shape == image.shape


def test_radius_zero_returns_the_image(image):
    np.testing.assert_array_equal(apply_defocus(image, 0), image)


def test_a_constant_image_stays_constant():
    np.testing.assert_allclose(apply_defocus(np.full((13, 17), 0.7), 6.0), 0.7, rtol=1e-12)


def test_a_blur_wider_than_the_image_is_possible(image):
    small = image[:3, :5]
    np.testing.assert_allclose(
        apply_defocus(small, 6.0), convolve(small, disk(6.0), mode="reflect"), atol=1e-13
    )


@pytest.mark.parametrize("n_levels", [2, 3, 4])
def test_each_level_loses_detail(image, rng, n_levels):
    levels = simulate_levels(image, n_levels=n_levels, rng=rng)
    assert len(levels) == n_levels
    assert (np.diff([level.var() for level in levels]) < 0).all()


def test_radii_are_in_the_range_of_their_level(image, rng, monkeypatch):
    drawn = []
    monkeypatch.setattr(defocus, "apply_defocus", lambda image, radius: drawn.append(radius) or image)
    for _ in range(200):
        simulate_levels(image[:2, :2], n_levels=3, rng=rng)
    radii = np.array(drawn).reshape(200, 3)
    low, high = defocus.RADII
    middle = np.sqrt(low * high)
    assert (radii[:, 0] == 0).all()
    assert ((radii[:, 1] >= low) & (radii[:, 1] <= middle)).all()
    assert ((radii[:, 2] >= middle) & (radii[:, 2] <= high)).all()
    for level in (1, 2):
        assert radii[:, level].max() / radii[:, level].min() > 0.8 * middle / low


def test_levels_have_8_bits_and_little_noise(rng):
    levels = simulate_levels(np.full((40, 50), 0.5), n_levels=2, rng=rng)
    for level in levels:
        assert level.dtype == np.float32
        counts = 255 * level.astype(np.float64)
        np.testing.assert_allclose(counts, np.rint(counts), atol=1e-4)
        assert counts.std() < 1.1
    assert not np.array_equal(*levels)


def test_noise_and_rounding_follow_the_range_of_the_data(image):
    full, narrow = (
        simulate_training(
            [scale * image], n_levels=2, rng=np.random.default_rng(4), draws=1, data_range=scale
        )
        for scale in (1.0, 1 / 16)
    )
    np.testing.assert_allclose(16 * np.array(narrow), full, atol=1e-7)


def test_noise_stays_in_the_unit_range(rng):
    for value in (0.0, 1.0):
        for level in simulate_levels(np.full((40, 50), value), n_levels=2, rng=rng):
            assert level.min() >= 0
            assert level.max() <= 1


def test_the_same_generator_gives_the_same_bits(image):
    first, second = (simulate_levels(image, n_levels=3, rng=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_training_images_are_grouped_by_level(image, rng):
    scenes = [image, image[:20]]
    levels = simulate_training(scenes, n_levels=3, rng=rng, draws=2)
    assert [[level_image.shape for level_image in level] for level in levels] == [
        [(33, 47)] * 2 + [(20, 47)] * 2
    ] * 3
    sharp = levels[0]
    np.testing.assert_allclose(sharp[0], image, atol=6 / 255)
    assert not np.array_equal(sharp[0], sharp[1])


def test_one_level_is_rejected(image, rng):
    with pytest.raises(InputError):
        simulate_levels(image, n_levels=1, rng=rng)
