"""Inverted detail and depth of field, measured on detail that changes through focus in a known way."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus._threads import limit_threads
from panfocus.decide.phase_contrast import measure_phase_contrast

SHAPE = (64, 96)


def detail(seed, shape=SHAPE):
    """Return detail of unit variance, of 1 to 2 pixels."""
    plane = gaussian_filter(np.random.default_rng(seed).normal(size=shape), 1.0)
    return plane / plane.std()


def measure(frames, *, noise=0.0, clip=None):
    """Measure frames (n, h, w) that are in levels."""
    frames = np.asarray(frames, np.float32)
    return measure_phase_contrast(frames, lambda part: part[None], noise=noise, clip=clip)


def test_blurred_detail_does_not_invert():
    sharp = 128 + 30 * detail(1)
    frames = [gaussian_filter(sharp, width) if width else sharp for width in (3, 2, 1, 0, 1, 2, 3)]
    assert measure(frames).inversion < 0.01


@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_a_negative_is_inverted(strength):
    # The products are -strength times the energy of the better frame.
    frames = [128 + 30 * detail(1), 128 - strength * 30 * detail(1)]
    assert measure(frames).inversion == pytest.approx(strength, rel=1e-4)


def test_detail_that_passes_through_zero_is_inverted():
    # A phase object: contrast is proportional to defocus.
    frames = [128 + 8 * k * detail(1) for k in range(-4, 5)]
    assert measure(frames).inversion > 0.9


def test_gain_and_offset_do_not_matter():
    frames = np.array([30 * detail(1) + 20 * detail(2), -15 * detail(1) + 30 * detail(3)])
    found = measure(frames)
    assert 0.1 < found.inversion < 0.9
    for gain, offset in ((1, 100), (4, 0), (0.5, -20)):
        other = measure(gain * frames + offset)
        np.testing.assert_allclose(other, found, rtol=2e-3)


def test_noise_alone_has_no_detail():
    frames = 128 + 6 * np.random.default_rng(2).normal(size=(12, *SHAPE))
    assert measure(frames, noise=6.0).inversion == 0
    assert measure(frames).inversion > 0.1  # without the noise level it looks like detail


def test_squares_with_clipped_pixels_are_left_out():
    frames = np.array([128 + 20 * detail(1), 128 + 20 * detail(1)])
    frames[1, 16:32, 16:32] = 256 - frames[0, 16:32, 16:32]
    with_all = measure(frames, clip=300)
    assert with_all.inversion > 0.02
    frames[0, 20, 30] = 300
    assert measure(frames, clip=300).inversion == 0
    # If every square is clipped, nothing is known.
    frames[0, ::16, ::16] = 300
    assert measure(frames, clip=300).inversion == 0


@pytest.mark.parametrize("depth_of_field", [0.8, 1.5, 4.0])
@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_depth_of_field_is_that_of_a_gaussian_likeness(depth_of_field, noise):
    # Neighbours of the best frame have a likeness of exp(-1 / (2 d^2)) to it.
    likeness = np.exp(-0.5 / depth_of_field**2)
    rng = np.random.default_rng(5)
    shape = (256, 256)
    sharp = 20 * detail(1, shape)
    frames = np.array([likeness * sharp, sharp, likeness * sharp]) + noise * rng.normal(size=(3, *shape))
    found = measure(frames, noise=noise).depth_of_field
    assert found == pytest.approx(depth_of_field, rel=1e-3 if noise == 0 else 0.05)


def test_depth_of_field_is_limited():
    # Beyond these, the likeness of neighbours is not known well enough.
    least, most = (1 / np.sqrt(-2 * np.log(likeness)) for likeness in (0.3, 0.98))
    assert measure([detail(k) * 20 for k in range(3)]).depth_of_field == pytest.approx(least)
    assert measure([detail(1) * 20] * 3).depth_of_field == pytest.approx(most)


def test_long_stacks_are_sampled():
    # Of 48 frames every second is compared, so that the depth of field is counted in frames of the stack.
    likeness = np.exp(-0.5 * ((np.arange(48) - 24) / 5.0) ** 2)
    frames = likeness[:, None, None] * 20 * detail(1)
    assert measure(frames).depth_of_field == pytest.approx(5.0, rel=1e-3)


def test_threads_do_not_change_the_result():
    frames = [128 + 30 * detail(k, (300, 530)) for k in (1, 2)] + [128 - 10 * detail(1, (300, 530))]
    with limit_threads(1):
        expected = measure(frames, noise=1.0, clip=220)
    with limit_threads(3):
        assert measure(frames, noise=1.0, clip=220) == expected


@pytest.mark.parametrize("shape", [(13, 17), (16, 15), (1, 40)])
def test_frames_smaller_than_a_square_have_no_inversion(shape):
    frames = [
        20 * detail(1, (40, 40))[: shape[0], : shape[1]],
        -20 * detail(1, (40, 40))[: shape[0], : shape[1]],
    ]
    assert measure(frames).inversion == 0
