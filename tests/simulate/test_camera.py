import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.simulate import CameraFaults, apply_faults, move_frame

SHAPE = (13, 17, 3)


@pytest.fixture
def frame(rng):
    return rng.random(SHAPE)


def ramps(n_frames, height=41, width=61):
    """Return frames whose channels are the row, the column and one: movement can be read from them."""
    rows, columns = np.mgrid[:height, :width].astype(float)
    return np.stack([np.stack([rows, columns, np.ones_like(rows)], axis=2)] * n_frames)


def test_a_shift_by_whole_pixels_equals_a_roll_away_from_the_border(frame):
    moved = move_frame(frame, shift=(2.0, -3.0))
    rolled = np.roll(frame, (2, -3), axis=(0, 1))
    np.testing.assert_allclose(moved[2:, :-3], rolled[2:, :-3], atol=1e-12)


def test_a_quarter_turn_of_a_square_equals_rot90(rng):
    square = rng.random((9, 9, 1))
    # From down to right: what was below the centre is right of it, a turn against the clock.
    np.testing.assert_allclose(move_frame(square, angle=np.pi / 2), np.rot90(square), atol=1e-12)


def test_scale_moves_points_away_from_the_centre():
    frame = ramps(1)[0] - [20, 30, 0]  # coordinates from the centre
    moved = move_frame(frame, scale=1.25)
    np.testing.assert_allclose(moved[8:-8, 8:-8, :2], frame[8:-8, 8:-8, :2] / 1.25, atol=0.02)


def test_misalignment_has_mean_zero_and_the_given_size():
    # Where a frame is shifted down by s, its row coordinate falls by s; nearly so at the centre with scale.
    moved = apply_faults(ramps(8), CameraFaults(misalignment=0.5), np.random.default_rng(5))
    centre, corner = moved[:, 20, 30, :2] - [20, 30], moved[:, 8, 8, :2] - [8, 8]
    np.testing.assert_allclose(centre.mean(axis=0), 0, atol=0.01)
    assert centre.std() == pytest.approx(0.5, rel=0.01)
    beyond = (corner - centre) / np.hypot(12, 22)  # by rotation and by scale, each 0.25 pixels at the corner
    assert np.sqrt((beyond**2).sum(axis=1).mean()) == pytest.approx(
        np.sqrt(2) * 0.25 / np.hypot(20.5, 30.5), rel=0.05
    )


def test_breathing_scales_evenly_through_the_stack():
    moved = apply_faults(ramps(5), CameraFaults(breathing=0.01), np.random.default_rng(0))
    for frame, scale in zip(moved, [0.995, 0.9975, 1, 1.0025, 1.005], strict=True):
        assert frame[20, 50, 1] - 30 == pytest.approx(20 / scale, abs=1e-3)


def test_flicker_and_tint_are_the_ratios_of_means(rng):
    light = np.stack([rng.random(SHAPE)] * 6)
    flickering = apply_faults(light, CameraFaults(flicker=0.02), np.random.default_rng(1))
    gains = flickering.mean(axis=(1, 2)) / light.mean(axis=(1, 2))
    np.testing.assert_allclose(gains, np.broadcast_to(gains[:, :1], gains.shape))  # all channels alike
    np.testing.assert_allclose(flickering, light * gains[:, None, None, :])  # and all pixels
    assert np.log(gains).mean() == pytest.approx(0, abs=1e-12)
    assert np.log(gains).std() == pytest.approx(0.02)
    tinted = apply_faults(light, CameraFaults(tint=0.01), np.random.default_rng(1))
    gains = tinted.mean(axis=(1, 2)) / light.mean(axis=(1, 2))
    assert np.log(gains).std() == pytest.approx(0.01)
    assert np.ptp(gains, axis=1).min() > 0


def test_without_faults_frames_stay_as_they_are(rng):
    light = rng.random((3, *SHAPE))
    np.testing.assert_allclose(apply_faults(light, CameraFaults(), rng), light, atol=1e-12)


def test_the_same_seed_gives_the_same_frames(rng):
    light = rng.random((3, *SHAPE))
    faults = CameraFaults(misalignment=0.5, breathing=-0.002, flicker=0.01, tint=0.01)
    first, second, other = (apply_faults(light, faults, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize(
    "changes", [{"misalignment": -0.1}, {"flicker": np.nan}, {"tint": "1"}, {"breathing": np.inf}]
)
def test_invalid_faults_are_rejected(changes):
    with pytest.raises(InputError) as caught:
        CameraFaults(**changes)
    assert caught.value.facts["setting"] in changes
