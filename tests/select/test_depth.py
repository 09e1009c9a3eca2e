import numpy as np

from panfocus.select import mean_depth, most_probable, probabilities


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


def test_depth_lies_between_frames_that_are_equally_probable():
    assert mean_depth(at([0, 0.5, 0.5, 0])).item() == 1.5
