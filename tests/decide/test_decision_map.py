import numpy as np
import pytest

from panfocus.decide import majority, without_small_regions


def test_the_frame_with_most_votes_wins_by_its_share(rng):
    votes = rng.integers(0, 40, (3, 13, 17)).astype(np.uint16)
    votes[1] += 1
    labels, share = majority(votes)
    for place in np.ndindex(13, 17):
        here = votes[(slice(None), *place)].tolist()
        assert labels[place] == here.index(max(here))
        assert np.isclose(share[place], max(here) / sum(here), rtol=1e-6)


def test_unanimity_is_exactly_one():
    votes = np.zeros((2, 13, 17), np.uint16)
    votes[1] = 49
    labels, share = majority(votes)
    assert (labels == 1).all()
    assert (share == 1).all()
    assert share.dtype == np.float32


def test_on_a_tie_the_earlier_frame_wins():
    labels, share = majority(np.array([[[3]], [[5]], [[5]]], np.uint16))
    assert labels[0, 0] == 1
    assert np.isclose(share[0, 0], 5 / 13)


@pytest.mark.parametrize(("n_frames", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_labels_have_room_for_all_frames(n_frames, dtype):
    votes = np.zeros((n_frames, 1, 1), np.uint16)
    votes[-1] = 1
    labels, _ = majority(votes)
    assert labels.dtype == dtype
    assert labels[0, 0] == n_frames - 1


def test_small_regions_are_dropped_and_small_holes_filled():
    mask = np.zeros((12, 14), bool)
    mask[1:8, 1:8] = True
    mask[3:5, 3:6] = False  # a hole of 6
    mask[10, 10:13] = True  # an island of 3
    expected = np.zeros_like(mask)
    expected[1:8, 1:8] = True
    np.testing.assert_array_equal(without_small_regions(mask, 7), expected)
    np.testing.assert_array_equal(without_small_regions(mask, 4), np.where(expected, mask, False))
    np.testing.assert_array_equal(without_small_regions(mask, 1), mask)


def test_a_region_of_exactly_the_least_area_stays():
    mask = np.zeros((9, 9), bool)
    mask[2:4, 2:5] = True
    assert without_small_regions(mask, 6).sum() == 6
    assert not without_small_regions(mask, 7).any()


def test_pixels_that_touch_at_a_corner_belong_together():
    mask = np.eye(9, dtype=bool)
    np.testing.assert_array_equal(without_small_regions(mask, 9), mask)
    # and so do those of holes: the diagonal does not cut the rest in two
    assert without_small_regions(~mask, 40).sum() == 81


def test_an_empty_mask_is_not_a_hole_to_be_filled():
    assert not without_small_regions(np.zeros((5, 5), bool), 100).any()
