"""Sharpness and weights at one pixel, compared with maps of the whole frames."""

import numpy as np
import pytest

from panfocus.decide.focus_measure import laplacian_energy
from panfocus.decide.gray import to_gray
from panfocus.show.evidence import AROUND, sharpness_at, weights_at


@pytest.mark.parametrize("channels", [(), (3,), (4,)])
@pytest.mark.parametrize(("row", "col"), [(0, 0), (20, 17), (39, 32), (2, 31)])
def test_sharpness_equals_the_measure_of_whole_frames(rng, channels, row, col):
    frames = rng.integers(0, 65536, (4, 40, 33, *channels)).astype(np.uint16)
    maps = [laplacian_energy(to_gray(frame)) for frame in frames]
    rows, cols = (slice(max(0, at - AROUND), at + AROUND + 1) for at in (row, col))
    means = np.array([energy[rows, cols].mean() for energy in maps])
    np.testing.assert_allclose(sharpness_at(frames, row, col), means / means.max(), rtol=1e-12)


def test_flat_frames_have_no_sharpness():
    assert sharpness_at(np.full((3, 9, 9), 7, np.uint8), 4, 4) == [0, 0, 0]


def test_weights_are_shares_of_the_votes():
    votes = np.zeros((3, 2, 2), np.uint16)
    votes[:, 0, 1] = 1, 0, 3
    assert weights_at(votes, 0, 1) == [0.25, 0, 0.75]
    assert weights_at(votes, 0, 0) == [None, None, None]
