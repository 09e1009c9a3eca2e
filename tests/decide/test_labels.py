import numpy as np
import pytest

from panfocus.decide.labels import (
    VOTE,
    majority,
    most_probable,
    probabilities,
    remove_small_regions,
    vote_shares,
)


def test_frame_with_most_votes_wins(rng):
    votes = rng.integers(0, 40, (3, 13, 17)).astype(np.uint16)
    votes[1] += 1
    labels, share = majority(votes)
    for place in np.ndindex(13, 17):
        here = votes[(slice(None), *place)].tolist()
        assert labels[place] == here.index(max(here))
        assert np.isclose(share[place], max(here) / sum(here), rtol=1e-6)


def test_unanimous_votes_have_confidence_one():
    votes = np.zeros((2, 13, 17), np.uint16)
    votes[1] = 49
    labels, share = majority(votes)
    assert (labels == 1).all()
    assert (share == 1).all()
    assert share.dtype == np.float32


def test_earlier_frame_wins_a_tie():
    labels, share = majority(np.array([[[3]], [[5]], [[5]]], np.uint16))
    assert labels[0, 0] == 1
    assert np.isclose(share[0, 0], 5 / 13)


@pytest.mark.parametrize(("n_frames", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_label_type_holds_all_frames(n_frames, dtype):
    votes = np.zeros((n_frames, 1, 1), np.uint16)
    votes[-1] = 1
    labels, _ = majority(votes)
    assert labels.dtype == dtype
    assert labels[0, 0] == n_frames - 1


def test_small_regions_are_removed_and_small_holes_filled():
    mask = np.zeros((12, 14), bool)
    mask[1:8, 1:8] = True
    mask[3:5, 3:6] = False  # a hole of 6
    mask[10, 10:13] = True  # an island of 3
    expected = np.zeros_like(mask)
    expected[1:8, 1:8] = True
    np.testing.assert_array_equal(remove_small_regions(mask, 7), expected)
    np.testing.assert_array_equal(remove_small_regions(mask, 4), np.where(expected, mask, False))
    np.testing.assert_array_equal(remove_small_regions(mask, 1), mask)


def test_region_of_exactly_the_minimum_area_remains():
    mask = np.zeros((9, 9), bool)
    mask[2:4, 2:5] = True
    assert remove_small_regions(mask, 6).sum() == 6
    assert not remove_small_regions(mask, 7).any()


def test_diagonal_neighbours_are_connected():
    mask = np.eye(9, dtype=bool)
    np.testing.assert_array_equal(remove_small_regions(mask, 9), mask)
    # In holes too: the diagonal does not split the background in two.
    assert remove_small_regions(~mask, 40).sum() == 81


def test_empty_mask_is_not_filled():
    assert not remove_small_regions(np.zeros((5, 5), bool), 100).any()


def test_most_active_frame_gets_the_vote(rng):
    activities = rng.permuted(np.arange(5 * 200.0), axis=None).reshape(5, 20, 10)  # all different
    shares = vote_shares(activities)
    np.testing.assert_array_equal(shares.argmax(axis=0), activities.argmax(axis=0))
    np.testing.assert_array_equal(shares.sum(axis=0), VOTE)
    np.testing.assert_array_equal(shares.max(axis=0), VOTE)


def test_tied_frames_share_the_vote_evenly():
    activities = np.array([[0, 3, 0], [7, 3, 0], [7, 2, 0]], np.float32)
    expected = [[0, VOTE / 2, VOTE / 3], [VOTE / 2, VOTE / 2, VOTE / 3], [VOTE / 2, 0, VOTE / 3]]
    np.testing.assert_array_equal(vote_shares(activities), expected)


@pytest.mark.parametrize("n_frames", [12, 13, 300, 2 * VOTE])
def test_shares_of_many_tied_frames_are_even_and_not_zero(n_frames):
    shares = vote_shares(np.zeros((n_frames, 1), np.float32))
    assert len(np.unique(shares)) == 1
    assert VOTE <= shares.sum(dtype=np.int64) < VOTE + n_frames  # rounded up by less than one unit each
    assert n_frames > 12 or shares.sum() == VOTE


def at(values):
    """Return an array of one pixel."""
    return np.array(values, np.float32)[:, None, None]


def test_two_frames_have_the_given_odds():
    chances = probabilities(at([np.log(3)]))
    np.testing.assert_allclose(chances[:, 0, 0], [1 / 4, 3 / 4], rtol=1e-6)


def test_odds_multiply_along_the_stack():
    chances = probabilities(at(np.log([2.0, 3.0, 0.25])))
    np.testing.assert_allclose(chances[:, 0, 0], np.array([1, 2, 6, 1.5]) / 10.5, rtol=1e-6)


def test_zero_log_odds_give_equal_probabilities():
    np.testing.assert_allclose(probabilities(np.zeros((3, 2, 2), np.float32)), 0.25)


def test_long_stacks_do_not_overflow():
    odds = np.full((300, 1, 1), 40, np.float32)
    chances = probabilities(odds)
    assert np.isfinite(chances).all()
    assert chances[-1] == 1


def test_label_is_the_most_probable_frame_and_the_earlier_on_a_tie():
    labels, likely = most_probable(at([0.2, 0.4, 0.4]))
    assert (labels.item(), likely.item()) == (1, np.float32(0.4))
    assert labels.dtype == np.uint8
