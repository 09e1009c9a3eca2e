"""Known gains are measured, and other differences are not mistaken for exposure."""

import numpy as np
import pytest

import panfocus as pf
from panfocus._threads import limit_threads
from panfocus.io.read_stack import read_stack
from panfocus.preprocess.exposure import measure_exposure
from panfocus.simulate import apply_defocus
from textures import as_bytes, texture


def stack(n, *, seed=1, shape=(112, 160)):
    """Return colour frames (n, h, w, 3) in unit range, each sharp in one stripe and blurred elsewhere."""
    sharp = 0.25 + 0.45 * np.stack([texture(shape, seed + c) for c in range(3)], axis=2)
    step = np.arange(shape[1]) * n // shape[1]
    frames = np.empty((n, *shape, 3))
    for focus in range(n):
        for k in range(n):
            soft = np.stack(
                [apply_defocus(plane, min(4, abs(k - focus))) for plane in np.moveaxis(sharp, 2, 0)], 2
            )
            frames[focus][:, step == k] = soft[:, step == k]
    return frames


PAIR, SIX = stack(2), stack(6)
WARM = np.array([1.1, 1.0, 0.9])


def times(frames, gains):
    return as_bytes(frames * np.asarray(gains)[:, None, None])


@pytest.mark.parametrize("gain", [[0.8] * 3, [1.2] * 3, WARM, 0.8 * WARM, [0.97, 1, 1]])
def test_gains_of_a_pair_are_measured(gain):
    found = measure_exposure(times(PAIR, [np.ones(3), gain]))
    assert found.reference == 0
    np.testing.assert_array_equal(found.gains[0], 1)
    np.testing.assert_allclose(found.gains[1] * gain, 1, atol=0.005)


def coded(light):
    """Return sRGB values by the formula of the standard."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("gain", [[0.8] * 3, WARM, 1.2 * WARM])
def test_srgb_is_distinguished_from_linear_values(gain):
    """With sRGB coding, gains are the 2.4th root of those of the light, relative to -0.055."""
    light = (PAIR - 0.2) * np.array([np.ones(3), gain])[:, None, None]  # dark parts show the difference
    found = measure_exposure(as_bytes(coded(light)))
    assert found.curve.black == pytest.approx(-0.055 * 255)
    np.testing.assert_allclose(found.gains[1] ** 2.4 * gain, 1, atol=0.01)
    assert found.report()["black"] == pytest.approx(-14.025)
    assert measure_exposure(as_bytes(light)).curve.black == 0
    assert measure_exposure(light.astype(np.float32)).curve.black == 0


@pytest.mark.parametrize(("share", "white"), [(0.01, 4095), (0.0005, 65535)])
def test_plateau_of_16_bit_values_is_white(share, white):
    """Files with 12 bits in 16 have many clipped pixels at 4095."""
    frames = np.rint(4000 * PAIR * np.array([1, 0.8])[:, None, None, None]).astype(np.uint16)
    n_rows, n_cols = frames.shape[1:3]
    n_clipped = round(share * n_rows * n_cols)
    frames[0].reshape(-1, 3)[:n_clipped] = 4095
    found = measure_exposure(frames)
    assert found.differs
    assert found.curve.white == white


def test_reference_is_the_frame_of_median_exposure():
    gains = np.ones((6, 3))
    gains[0] = 0.7
    found = measure_exposure(times(SIX, gains))
    assert found.reference != 0
    np.testing.assert_allclose(found.gains * gains, 1, atol=0.005)


def test_flicker_of_a_long_stack_is_measured():
    """The exposures of 20 frames differ by up to 5 %."""
    frames = stack(20, shape=(112, 240))
    gains = np.random.default_rng(4).uniform(0.95, 1.05, (20, 1)) * np.ones(3)
    found = measure_exposure(times(frames, gains))
    np.testing.assert_allclose(found.gains * gains / gains[found.reference], 1, atol=0.006)


def test_drift_in_small_steps_is_measured():
    """Each step is below the smallest difference, 1 %; together they are 11 %."""
    gains = 1.006 ** np.arange(20)[:, None] * np.ones(3)
    found = measure_exposure(times(stack(20, shape=(112, 240)), gains))
    np.testing.assert_allclose(found.gains * gains / gains[found.reference], 1, atol=0.006)


def test_clipped_pixels_are_ignored():
    bright = np.clip(SIX * np.linspace(0.8, 2, 112)[:, None, None], 0, 1)
    gains = np.ones((6, 3))
    gains[3] = 1.2
    assert np.mean(times(bright, gains)[3] == 255) > 0.15
    np.testing.assert_allclose(measure_exposure(times(bright, gains)).gains * gains, 1, atol=0.006)


def lights(radius):
    """Return defocused small lights, far apart on black."""
    sky = np.zeros((144, 144))
    sky[24::48, 24::48] = 1
    return apply_defocus(sky, radius).astype(np.float32)


def blurred_light(power):
    """Return a sharp and a blurred frame of strong contrast; values are light to this power."""
    light = np.where(np.random.default_rng(9).random((96, 96)) < 0.5, 0.04, 0.9)
    return np.stack([as_bytes(apply_defocus(light, radius) ** power) for radius in (0.0, 3.0)])


@pytest.mark.parametrize(
    "frames",
    [
        as_bytes(PAIR),
        as_bytes(SIX[..., 0]),
        blurred_light(1.0),
        blurred_light(0.5),  # the blurred frame has a mean value higher by a fifth
        np.stack([lights(1.0), lights(9.0)]),  # most of the light leaves its blocks
        np.stack([np.zeros((64, 64, 3), np.uint8), as_bytes(PAIR[1, :64, :64])]),  # no light to compare with
        PAIR.astype(np.float32) - 0.5,  # black is not at 0
        np.full((3, 40, 40), 255, np.uint8),  # clipped all over
        as_bytes(SIX)[:, :5, :7],  # smaller than a block
    ],
    ids=["pair", "grey", "light", "root of light", "lights", "black", "negative", "white", "small"],
)
def test_frames_of_equal_exposure_stay_unchanged(frames):
    found = measure_exposure(frames)
    np.testing.assert_array_equal(found.gains, 1)
    assert not found.differs
    assert found.correct(frames) is frames


def test_object_entering_at_a_border_does_not_count():
    frames = as_bytes(PAIR)
    frames[1, :, 140:] //= 3
    assert frames[1].mean() < 0.95 * frames[0].mean()
    assert not measure_exposure(frames).differs


def test_real_frames_stay_unchanged(data_dir):
    """Two Lytro scenes with moving objects, and a macro stack; all of equal exposure."""
    for pattern in ("lytro/lytro-10-*.jpg", "lytro/lytro-17-*.jpg", "stacks/amber-flies/*.jpg"):
        paths = sorted(data_dir.glob(pattern))
        assert len(paths) >= 2
        assert not measure_exposure(read_stack(paths).frames).differs


def test_gains_do_not_depend_on_the_number_of_threads():
    frames = times(SIX, np.linspace(0.9, 1.1, 6)[:, None] * WARM)
    found = []
    for threads in (1, 3):
        with limit_threads(threads):
            found.append(measure_exposure(frames).gains)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("method", ["panfocus", "dwt"])
@pytest.mark.parametrize("gain", [0.8, 0.8 * WARM, WARM])
def test_fused_image_is_within_a_decibel_of_equal_frames(method, gain):
    """Camera noise hides the second rounding to 8 bits."""
    seen = PAIR + np.random.default_rng(3).normal(0, 2 / 255, PAIR.shape)
    plain, changed = as_bytes(seen), times(seen, [np.ones(3), gain * np.ones(3)])
    sharp = 0.25 + 0.45 * np.stack([texture((112, 160), 1 + c) for c in range(3)], axis=2)

    def psnr(image):
        return 20 * np.log10(255 / np.sqrt(np.mean((image - 255.0 * sharp) ** 2)))

    without, with_it, off = (
        psnr(pf.fuse(frames, method, exposure=how).image)
        for frames, how in ((plain, "auto"), (changed, "auto"), (changed, "off"))
    )
    assert with_it > without - 1
    assert off < without - 3  # without correction
