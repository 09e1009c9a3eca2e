"""Resampling compared with SciPy's splines."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

from panfocus.registration.models import apply
from panfocus.registration.resample import resample

H = np.array([[1.01, -0.03, 2.3], [0.028, 0.99, -1.7], [1e-5, 2e-5, 1]])


def whole(frame):
    return slice(0, frame.shape[0]), slice(0, frame.shape[1])


def test_smooth_frame_agrees_with_quintic_splines_of_scipy(rng):
    """Values are limited to the range of the surrounding pixels, which smooth frames hardly exceed."""
    frame = gaussian_filter(rng.random((300, 560)), 2)
    result = resample(frame[None], 0, H, whole(frame))
    y, x = np.mgrid[:300, :560]
    at = apply(H, np.stack([x.ravel(), y.ravel()], axis=1).astype(float)).T.reshape(2, 300, 560)
    expected = map_coordinates(frame, at[::-1], order=5, mode="mirror")
    inside = (at[0] >= 0) & (at[0] <= 559) & (at[1] >= 0) & (at[1] <= 299)
    error = np.abs(result - expected)[inside]
    assert np.quantile(error, 0.9) < 1e-7
    beyond = (at[0] < -0.06) | (at[0] > 559.06) | (at[1] < -0.06) | (at[1] > 299.06)
    assert beyond.any()
    assert (result[beyond] == 0).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [(), (2,), (3,), (4,)])
def test_identity_changes_no_bit(rng, dtype, channels):
    frame = rng.integers(0, np.iinfo(dtype).max + 1, (90, 70, *channels), dtype)
    result = resample(frame[None], 0, np.eye(3), whole(frame))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, frame)


def test_tiles_outside_the_frame_stay_unchanged(rng):
    frame = rng.integers(0, 256, (40, 50), np.uint8)
    away = np.array([[1, 0, 1000.0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(resample(frame[None], 0, away, whole(frame), onto=frame), frame)


def test_edge_gets_no_halo():
    frame = np.full((64, 64), 100, np.uint8)
    frame[:, 32:] = 200
    shift = np.array([[1, 0, 0.4], [0, 1, 0.3], [0, 0, 1]])
    result = resample(frame[None], 0, shift, (slice(2, 60), slice(2, 60)))
    assert result.min() == 100
    assert result.max() == 200


def test_part_agrees_with_the_whole_within_rounding(rng):
    """Splines have infinite support; tiles cut them off below 1e-8 of the contrast."""
    frame = rng.integers(0, 65536, (700, 300), np.uint16)
    all_of_it = resample(frame[None], 0, H, whole(frame)).astype(int)
    part = resample(frame[None], 0, H, (slice(100, 400), slice(50, 250))).astype(int)
    assert np.abs(part - all_of_it[100:400, 50:250]).max() <= 1
