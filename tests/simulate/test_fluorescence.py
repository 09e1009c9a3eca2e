import numpy as np
import pytest
from scipy.special import j1

from panfocus.errors import InputError
from panfocus.simulate import (
    FluorescenceMicroscope,
    Pencil,
    Volume,
    count_photons,
    find_emitter_depth,
    image_emitters,
    image_emitters_sharp,
)

SHAPE = (60, 66)
PIXEL = 0.15  # at most wavelength / (4 aperture), so that intensities are not aliased
FAR = [0.0, 1.0, 2.0, 4.0]


def microscope(**settings):
    return FluorescenceMicroscope(pixel=PIXEL, **settings)


def point(shape=SHAPE):
    emission = np.zeros((1, *shape))
    emission[0, shape[0] // 2, shape[1] // 2] = 1.0
    return emission


def take(values, **settings):
    camera = {"photons": 1.0, "gain": 1.0, "offset": 0.0, "read_noise": 0.0, "rng": np.random.default_rng(5)}
    return count_photons(values, **camera | settings)


def test_wide_field_keeps_all_light_at_every_focus(rng):
    emission = rng.random((3, *SHAPE))
    light = image_emitters(emission, [-2, 0, 1.5], [-3, 0, 4], microscope())
    np.testing.assert_allclose(light.sum(axis=(1, 2)), emission.sum(), rtol=1e-4)


def test_a_point_in_focus_is_an_airy_disk():
    """The intensity of a round pupil is (2 J1(v) / v)^2 with v = 2 pi r aperture / wavelength."""
    (light,) = image_emitters(point((160, 160)), [1.0], [1.0], microscope())
    v = 2 * np.pi * PIXEL * np.arange(1, 12) * 0.8 / 0.52
    peak = light[80, 80]
    np.testing.assert_allclose(light[80, 81:92] / peak, (2 * j1(v) / v) ** 2, atol=0.01)
    assert np.isclose(
        peak, np.pi * (0.8 / 0.52 * PIXEL) ** 2, rtol=0.02
    )  # transmitted area per frequency band


def test_light_on_the_axis_vanishes_at_one_wave_of_defocus():
    """The mean of exp(i p) over the pupil is 0 if the phase differs by 2 pi between axis and rim.

    For a small aperture the phase grows evenly with the area of the pupil.
    """
    weak = microscope(aperture=0.3)
    along = np.sqrt((1.33 / 0.52) ** 2 - np.array([0, (0.3 / 0.52) ** 2]))
    first = 1 / (along[0] - along[1])
    light = image_emitters(point((200, 200)), [0], [0, first / 2, first, 1.5 * first], weak)[:, 100, 100]
    # sinc^2 at a half, one and one and a half
    np.testing.assert_allclose(light / light[0], [1, 0.405, 0, 0.045], atol=0.02)


@pytest.mark.parametrize("excitation", [None, 0.47])
def test_blur_is_even_in_defocus_and_relative(excitation):
    confocal = microscope(excitation=excitation)
    below, above = image_emitters(point(), [1], [-0.5, 2.5], confocal)
    np.testing.assert_allclose(below, above, atol=1e-8)


@pytest.mark.parametrize("excitation", [None, 0.47])
def test_emission_adds_up(rng, excitation):
    emission = rng.random((2, *SHAPE))
    optics = microscope(excitation=excitation)
    parts = [
        image_emitters(emission[i : i + 1], [height], [0, 1], optics) for i, height in enumerate([-1.0, 2.0])
    ]
    together = image_emitters(emission, [-1.0, 2.0], [0, 1], optics)
    np.testing.assert_allclose(together, parts[0] + parts[1], atol=1e-5)


def test_confocal_sections_vanish_away_from_focus():
    """Far from focus, excitation and detection overlap in disks of area z^2: the sum falls as 1 / z^2."""
    total = image_emitters(point(), [0], FAR, microscope(excitation=0.47)).sum(axis=(1, 2))
    assert np.isclose(total[0], 1, rtol=1e-4)
    assert total[1] < 0.6
    assert total[2] < 0.15
    assert np.isclose(total[3] / total[2], 1 / 4, rtol=0.2)


def test_a_small_pinhole_makes_thinner_sections():
    small, large = (
        image_emitters(point(), [0], [1.5], microscope(excitation=0.47, pinhole=size)).sum()
        for size in (0.5, 3.0)
    )
    assert small < 0.7 * large


def test_a_confocal_point_is_finer_than_a_wide_field_point():
    wide, confocal = (
        image_emitters(point(), [0], [0], microscope(excitation=excitation))[0] for excitation in (None, 0.47)
    )
    assert confocal.max() > 1.3 * wide.max()


def test_the_sharp_image_sums_the_images_of_slices_in_focus(rng):
    emission = rng.random((2, *SHAPE))
    single = [image_emitters(slice_[None], [3.0], [3.0], microscope())[0] for slice_ in emission]
    np.testing.assert_allclose(image_emitters_sharp(emission, microscope()), sum(single), rtol=1e-4)


def test_depth_is_the_height_of_the_bead():
    volume = Volume(np.arange(-4, 4.1, 0.5), SHAPE, 1)
    pencil = Pencil(SHAPE, PIXEL, np.random.default_rng(0))
    for column, height in ((15, -2.2), (50, 1.7)):
        volume.add(pencil.granule((30, column), 2.5, height), [1.0])
    height, strength, share = find_emitter_depth(volume.amounts[..., 0], volume.heights, microscope())
    np.testing.assert_allclose(height[30, [15, 50]], [-2.2, 1.7], atol=0.05)
    assert (share[30, [15, 50]] > 0.8).all()
    assert strength[30, 15] > 20 * strength[2, 2]


@pytest.mark.parametrize("mean", [4.0, 300.0])
def test_photon_noise_has_a_variance_of_gain_times_the_mean(mean):
    """Photons are Poisson: variance = mean, in counts gain^2 x mean photons. Rounding adds 1/12."""
    counts = take(np.full((200, 300), mean), gain=3.0, offset=100.0).astype(float)
    assert np.isclose(counts.mean(), 100 + 3 * mean, rtol=0.005)
    assert np.isclose(counts.var(), 9 * mean + 1 / 12, rtol=0.03)


def test_read_noise_adds_its_variance():
    counts = take(np.zeros((200, 300)), offset=500.0, read_noise=6.0).astype(float)
    assert np.isclose(counts.mean(), 500, atol=0.1)
    assert np.isclose(counts.std(), 6, rtol=0.02)


def test_counts_have_12_bits():
    counts = take(np.array([0.0, 1000.0, 1e5]), offset=100.0, rng=None)
    np.testing.assert_array_equal(counts, np.array([100, 1100, 4095], np.uint16))
    assert counts.dtype == np.uint16


def test_the_same_seed_gives_the_same_counts(rng):
    light = rng.random((13, 17))
    first, second = (take(light, photons=50, rng=np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_heights_must_match_and_apertures_be_below_the_index():
    with pytest.raises(InputError):
        image_emitters(point(), [0, 1], [0], microscope())
    with pytest.raises(InputError):
        microscope(aperture=1.4)
    with pytest.raises(InputError):
        take(np.zeros(3), photons=0)
