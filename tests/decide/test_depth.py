import numpy as np

from panfocus.decide import depth_between, most_probable, probabilities


def at(values):
    """One pixel."""
    return np.array(values, np.float32)[:, None, None]


def test_two_frames_have_the_odds_they_are_given():
    chances = probabilities(at([np.log(3)]))
    np.testing.assert_allclose(chances[:, 0, 0], [1 / 4, 3 / 4], rtol=1e-6)


def test_odds_between_neighbours_multiply_along_the_stack():
    chances = probabilities(at(np.log([2.0, 3.0, 0.25])))
    np.testing.assert_allclose(chances[:, 0, 0], np.array([1, 2, 6, 1.5]) / 10.5, rtol=1e-6)


def test_no_evidence_leaves_all_frames_equally_probable():
    np.testing.assert_allclose(probabilities(np.zeros((3, 2, 2), np.float32)), 0.25)


def test_long_stacks_do_not_overflow():
    odds = np.full((300, 1, 1), 40, np.float32)
    chances = probabilities(odds)
    assert np.isfinite(chances).all()
    assert chances[-1] == 1


def test_the_label_is_the_likeliest_frame_and_the_earlier_on_a_tie():
    labels, likely = most_probable(at([0.2, 0.4, 0.4]))
    assert (labels.item(), likely.item()) == (1, np.float32(0.4))
    assert labels.dtype == np.uint8


def depth_at(label, odds):
    return depth_between(np.array([[label]], np.uint8), at(odds), beyond=10.0).item()


def test_depth_is_where_the_odds_change_sign():
    assert depth_at(1, [4, -4]) == 1
    assert depth_at(1, [9, -3]) == 1.25  # the next frame is the nearer rival
    assert depth_at(2, [5, 1, -3, -9]) == 1.75
    assert depth_at(1, [4, 0]) == 1.5  # frames 1 and 2 are equally sharp


def test_depth_does_not_go_beyond_the_ends():
    assert depth_at(0, [-30, -40]) == 0
    assert depth_at(2, [40, 30]) == 2
    assert depth_at(0, [0, -40]) == 0.5
    assert depth_at(0, [-10, -40]) == 0


def test_where_nothing_is_known_depth_is_the_label_or_at_the_first_frame_halfway_to_the_next():
    assert depth_at(1, [0, 0]) == 1
    assert depth_at(0, [0, 0]) == 0.5


def test_depth_is_within_half_a_frame_of_the_label_whatever_rounding_hid():
    # Frame 2 is ahead of frame 1 by less than the probabilities can tell.
    assert depth_at(1, [2e-9, 1e-9]) == 1.5
    assert depth_at(1, [-1e-9, -2e-9]) == 0.5


def test_depth_has_no_step_where_the_label_changes():
    """On both sides of equal odds between frames 1 and 2 depth is 1.5."""
    assert abs(depth_at(1, [6, -1e-4, -8]) - depth_at(2, [6, 1e-4, -8])) < 1e-4
