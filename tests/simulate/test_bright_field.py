import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.simulate import (
    Body,
    Microscope,
    Pencil,
    Specimen,
    Volume,
    find_depth,
    image_sharp,
    image_specimen,
)

SHAPE = (30, 36)
WAVELENGTH = 0.54
PIXEL = 0.2


def microscope(**settings):
    return Microscope(**{"wavelengths": (WAVELENGTH,), "n_directions": 7, "pixel": PIXEL} | settings)


def specimen(absorbance=0.0, delay=0.0, heights=(0.0,)):
    shape = (len(heights), *SHAPE)
    return Specimen(
        np.array(heights),
        np.broadcast_to(np.expand_dims(absorbance, -1), (*shape, 1)).astype(np.float32),
        np.broadcast_to(delay, shape).astype(np.float32),
    )


def wave(periods=3):
    """Return a cosine along the rows with some periods, within the aperture of the objective."""
    return np.broadcast_to(np.cos(2 * np.pi * periods * np.arange(SHAPE[1]) / SHAPE[1]), SHAPE)


def contrast(image, pattern):
    return float(2 * (image[..., 0] * pattern).mean())


def test_an_empty_field_has_light_one():
    light = image_specimen(specimen(heights=(-1.0, 2.0)), [-3, 0, 5], microscope())
    np.testing.assert_allclose(light, 1, atol=1e-5)


def test_even_absorbance_dims_by_powers_of_ten():
    light = image_specimen(specimen(0.3, heights=(0.0, 1.0)), [0], microscope())
    np.testing.assert_allclose(light, 10**-0.6, rtol=1e-5)


def test_a_weak_phase_object_is_invisible_in_focus_and_inverts_through_focus():
    """To first order, exp(i p) changes the intensity by the imaginary transfer, which is odd in defocus."""
    light = image_specimen(specimen(delay=0.002 * wave()), [-1.5, 0, 1.5], microscope())
    below, within, above = (contrast(image, wave()) for image in light)
    assert abs(within) < 1e-4
    assert above > 0.005
    assert np.isclose(below, -above, rtol=0.01)


def test_a_thick_spot_is_a_lens_with_its_focus_above():
    """Delay in the middle converges the wave: the light comes together above the specimen, not below."""
    down, right = np.mgrid[: SHAPE[0], : SHAPE[1]]
    spot = 0.04 * np.exp(-((down - 15) ** 2 + (right - 18) ** 2) / 18)
    below, above = image_specimen(specimen(delay=spot), [-2, 2], microscope(condenser=0.3))[..., 15, 18, 0]
    assert below < 0.95
    assert above > 1.05


def test_contrast_of_a_weak_absorber_is_even_in_defocus():
    light = image_specimen(specimen(0.002 * (1 + wave())), [-1.5, 0, 1.5], microscope())
    below, within, above = (contrast(image, wave()) for image in light)
    assert np.isclose(below, above, rtol=0.01)
    assert within < above < 0


@pytest.mark.parametrize("focus", [-2.0, 0.7])
def test_coherent_defocus_follows_the_talbot_effect(focus):
    """A weak absorber a cos(2 pi f x) in axial light has contrast -a ln 10 cos(phase).

    The phase is the path difference over the defocus between the axial wave and the waves at frequency f.
    """
    axial = microscope(condenser=0.0, n_directions=1)
    frequency = 3 / (SHAPE[1] * PIXEL)
    along = 2 * np.pi * np.sqrt((1.5 / WAVELENGTH) ** 2 - np.array([0, frequency**2]))
    expected = -0.002 * np.log(10) * np.cos((along[0] - along[1]) * focus)
    (light,) = image_specimen(specimen(0.002 * wave()), [focus], axial)
    assert np.isclose(contrast(light, wave()), expected, rtol=0.01)


def test_a_specimen_that_only_delays_keeps_the_mean_intensity(rng):
    """Waves only turn, and all of them pass if the objective has nearly the aperture of the medium."""
    delay = 0.05 * np.stack([wave(2), wave(1)])
    open_ = microscope(aperture=1.45, condenser=0.2)
    light = image_specimen(specimen(delay=delay, heights=(-1.0, 1.0)), [-4, 0, 4], open_)
    np.testing.assert_allclose(light.mean(axis=(1, 2, 3)), 1, rtol=1e-4)
    assert light.std() > 0.1


def test_a_slice_is_in_focus_at_its_height():
    """Two phase slices: each vanishes at its height, where only the other one is seen."""
    low, high = 0.002 * wave(3), 0.002 * wave(5)
    light = image_specimen(specimen(delay=np.stack([low, high]), heights=(-1.0, 1.0)), [-1, 1], microscope())
    assert abs(contrast(light[0], wave(3))) < 2e-4 < abs(contrast(light[1], wave(3)))
    assert abs(contrast(light[1], wave(5))) < 2e-4 < abs(contrast(light[0], wave(5)))


@pytest.mark.parametrize("periods", [2, 5, 7])
def test_a_wide_condenser_gives_the_incoherent_image(periods):
    """A pupil of radius 1 transfers intensity at frequency 2 s by 2 / pi (acos s - s sqrt(1 - s^2))."""
    wide = microscope(condenser=2.0, n_directions=600)
    light = image_sharp(specimen(0.002 * wave(periods)), wide)
    share = periods / (SHAPE[1] * PIXEL) / (2 * wide.aperture / WAVELENGTH)
    transfer = 2 / np.pi * (np.arccos(share) - share * np.sqrt(1 - share**2))
    assert np.isclose(contrast(light, wave(periods)), -0.002 * np.log(10) * transfer, atol=0.0002)


def test_the_sharp_image_is_the_frame_in_focus_of_a_thin_absorber(rng):
    thin = specimen(0.2 * rng.random(SHAPE))
    np.testing.assert_allclose(
        image_sharp(thin, microscope()), image_specimen(thin, [0], microscope())[0], rtol=1e-5
    )


def test_the_sharp_image_ignores_delay_and_height(rng):
    absorbance = 0.2 * rng.random((2, *SHAPE))
    first = specimen(absorbance, heights=(0.0, 1.0))
    second = specimen(absorbance, delay=rng.random(SHAPE), heights=(-4.0, 7.0))
    np.testing.assert_array_equal(*(image_sharp(each, microscope()) for each in (first, second)))


def test_shifts_move_frames_down_and_to_the_right(rng):
    thin = specimen(0.2 * rng.random(SHAPE))
    still, moved = image_specimen(thin, [1, 1], microscope(), shifts=np.array([[0, 0], [2, 3]]))
    np.testing.assert_allclose(moved, np.roll(still, (2, 3), axis=(0, 1)), atol=1e-5)


def test_each_channel_has_its_wavelength(rng):
    absorbance = 0.2 * rng.random((1, *SHAPE))
    one = Specimen(np.zeros(1), absorbance[..., None], np.zeros((1, *SHAPE)))
    two = Specimen(np.zeros(1), np.stack([0 * absorbance, absorbance], axis=-1), np.zeros((1, *SHAPE)))
    light = image_specimen(two, [1], microscope(wavelengths=(0.61, WAVELENGTH)))
    np.testing.assert_allclose(light[..., 0], 1, atol=1e-5)
    np.testing.assert_allclose(light[..., 1:], image_specimen(one, [1], microscope()), rtol=1e-6)


def test_depth_is_the_height_of_the_granule():
    volume = Volume(np.arange(-4, 4.1, 0.5), SHAPE, 1)
    pencil = Pencil(SHAPE, PIXEL, np.random.default_rng(0))
    for column, height in ((9, -2.3), (26, 1.6)):
        volume.add(pencil.granule((15, column), 2.0, height), [0.5])
    found = Specimen(volume.heights, volume.amounts, volume.amounts[..., 0])
    height, strength, share = find_depth(found, microscope())
    np.testing.assert_allclose(height[15, [9, 26]], [-2.3, 1.6], atol=0.05)
    assert (share[15, [9, 26]] > 0.9).all()
    assert strength[15, 9] > 20 * strength[2, 2]


def test_slices_share_the_thickness_of_a_body():
    volume = Volume(np.arange(0, 4.0, 0.5), (13, 17), 2)
    thickness = np.full((4, 5), 1.3)
    volume.add(Body((2, 3), thickness, 1.6, 0.5), [1.0, 10.0])
    np.testing.assert_allclose(volume.amounts.sum(axis=0)[2:6, 3:8, 0], 0.65, rtol=1e-5)
    np.testing.assert_allclose(volume.amounts[..., 1], 10 * volume.amounts[..., 0])
    np.testing.assert_allclose(volume.amounts[:, 3, 4, 0], [0, 0, 0.15, 0.25, 0.25, 0, 0, 0], atol=1e-6)
    assert volume.amounts.sum() == pytest.approx(0.65 * 20 * 11)


def test_a_granule_has_the_volume_of_a_ball():
    body = Pencil((40, 40), PIXEL, np.random.default_rng(0)).granule((20.3, 19.6), 8.0, 0.0)
    assert np.isclose(body.thickness.sum(), PIXEL * 4 / 3 * np.pi * 8**3, rtol=0.01)


@pytest.mark.parametrize("width", [0.8, 4.0])
def test_a_fibre_has_the_volume_of_a_cylinder(width):
    pencil = Pencil((60, 60), PIXEL, np.random.default_rng(0))
    body = pencil.fibre((30, 30), 0.4, 40, width, 0.0, slope=2.0)
    volume = (body.thickness * body.density).sum()
    assert np.isclose(volume, PIXEL * 40 * np.pi * width**2 / 4, rtol=0.02)
    assert np.isclose(np.ptp(body.middle[body.thickness > 0]), 4.0, rtol=0.05)


@pytest.mark.parametrize("place", [(-5.0, -5.0), (3.0, 200.0), (12.9, 0.0)])
def test_bodies_beyond_the_border_are_cut(place):
    volume = Volume(np.arange(3.0), (13, 17), 1)
    pencil = Pencil((13, 17), PIXEL, np.random.default_rng(0))
    for body in (
        pencil.cell(place, 4.0, 1.0, 1.0),
        *pencil.shells(place, 0.3, (6, 4), 1.0, 1.0, period=4, distance=1),
    ):
        volume.add(body, [1.0])
    assert np.isfinite(volume.amounts).all()


def test_slices_must_ascend_and_match():
    with pytest.raises(InputError):
        specimen(heights=(1.0, 0.0))
    with pytest.raises(InputError):
        Specimen(np.zeros(1), np.zeros((1, 3, 4, 1)), np.zeros((1, 4, 3)))


def test_channels_must_match_the_wavelengths():
    with pytest.raises(InputError) as caught:
        image_specimen(specimen(), [0], Microscope())
    assert caught.value.facts["setting"] == "wavelengths"


def test_apertures_are_below_the_index():
    for settings in ({"aperture": 1.6}, {"aperture": 0.9, "condenser": 1.8}):
        with pytest.raises(InputError):
            Microscope(**settings)
