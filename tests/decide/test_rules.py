import numpy as np
import pytest

from panfocus.decide import level_weights, vote_shares, weighted_activity
from panfocus.decide.rules import VOTE
from panfocus.errors import InputError


def test_two_levels_weigh_w_and_the_rest():
    np.testing.assert_allclose(level_weights(0.55, 2), [0.55, 0.45], rtol=1e-6)


def test_more_levels_go_down_in_equal_steps():
    np.testing.assert_allclose(level_weights(0.6, 3), [0.6, 0.5, 0.4], rtol=1e-6)
    np.testing.assert_allclose(np.diff(level_weights(0.9, 5)), -0.2, rtol=1e-5)


def test_half_makes_no_difference_between_levels():
    np.testing.assert_array_equal(level_weights(0.5, 4), 0.5)


@pytest.mark.parametrize("w", [0.49, 1.0, -1, np.nan])
def test_weights_outside_their_range_are_refused(w):
    with pytest.raises(InputError, match=f"w must be at least 0.5 and below 1, got {w}"):
        level_weights(w, 2)


@pytest.mark.parametrize("n_levels", [2, 3])
def test_activity_is_the_weighted_sum_of_the_norms(rng, n_levels):
    l1 = rng.random((n_levels, 50)).astype(np.float32)
    before = l1.copy()
    weights = level_weights(0.7, n_levels)
    activity = weighted_activity(l1, weights)
    assert activity.dtype == np.float32
    np.testing.assert_allclose(activity, weights.astype(np.float64) @ l1, rtol=1e-6)
    np.testing.assert_array_equal(l1, before)


def test_activity_of_a_patch_has_the_same_bits_in_any_company(rng):
    l1 = rng.random((3, 50)).astype(np.float32)
    weights = level_weights(0.7, 3)
    whole = weighted_activity(l1, weights)
    np.testing.assert_array_equal(whole[17:31], weighted_activity(l1[:, 17:31], weights))


def test_the_most_active_frame_has_the_vote(rng):
    activities = rng.permuted(np.arange(5 * 200.0), axis=None).reshape(5, 20, 10)  # no two alike
    shares = vote_shares(activities)
    np.testing.assert_array_equal(shares.argmax(axis=0), activities.argmax(axis=0))
    np.testing.assert_array_equal(shares.sum(axis=0), VOTE)
    np.testing.assert_array_equal(shares.max(axis=0), VOTE)


def test_frames_that_tie_share_the_vote_evenly():
    activities = np.array([[0, 3, 0], [7, 3, 0], [7, 2, 0]], np.float32)
    expected = [[0, VOTE / 2, VOTE / 3], [VOTE / 2, VOTE / 2, VOTE / 3], [VOTE / 2, 0, VOTE / 3]]
    np.testing.assert_array_equal(vote_shares(activities), expected)


@pytest.mark.parametrize("n_frames", [12, 13, 300, 2 * VOTE])
def test_shares_are_even_and_do_not_vanish_however_many_frames_tie(n_frames):
    shares = vote_shares(np.zeros((n_frames, 1), np.float32))
    assert len(np.unique(shares)) == 1
    assert VOTE <= shares.sum(dtype=np.int64) < VOTE + n_frames  # at most one unit more for each
    assert n_frames > 12 or shares.sum() == VOTE
