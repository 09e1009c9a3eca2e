import numpy as np

from panfocus.decide.depth import interpolate_depth


def depth_at(label, log_odds):
    """Return the depth of one pixel."""
    log_odds = np.array(log_odds, np.float32)[:, None, None]
    return interpolate_depth(np.array([[label]], np.uint8), log_odds, beyond=10.0).item()


def test_depth_is_where_the_log_odds_change_sign():
    assert depth_at(1, [4, -4]) == 1
    assert depth_at(1, [9, -3]) == 1.25  # the next frame is nearly as sharp
    assert depth_at(2, [5, 1, -3, -9]) == 1.75
    assert depth_at(1, [4, 0]) == 1.5  # frames 1 and 2 are equally sharp


def test_depth_stays_inside_the_stack():
    assert depth_at(0, [-30, -40]) == 0
    assert depth_at(2, [40, 30]) == 2
    assert depth_at(0, [0, -40]) == 0.5
    assert depth_at(0, [-10, -40]) == 0


def test_depth_without_evidence_is_the_label_or_half_a_frame_from_the_first():
    assert depth_at(1, [0, 0]) == 1
    assert depth_at(0, [0, 0]) == 0.5


def test_depth_is_within_half_a_frame_of_the_label_despite_rounding():
    # Frame 2 is sharper than frame 1 by less than the rounding of the probabilities.
    assert depth_at(1, [2e-9, 1e-9]) == 1.5
    assert depth_at(1, [-1e-9, -2e-9]) == 0.5


def test_depth_has_no_step_where_the_label_changes():
    # At equal odds of frames 1 and 2, both labels give a depth of 1.5.
    assert abs(depth_at(1, [6, -1e-4, -8]) - depth_at(2, [6, 1e-4, -8])) < 1e-4
