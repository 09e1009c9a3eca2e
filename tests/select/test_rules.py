import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.select import RunningBest, level_weights, weighted_activity


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


def test_the_running_best_is_the_first_argmax(rng):
    activities = rng.integers(0, 4, (5, 200)).astype(np.float32)  # few values: many ties
    best = RunningBest(200, 5)
    for k, activity in enumerate(activities):
        best.offer(k, activity)
    np.testing.assert_array_equal(best.labels, activities.argmax(axis=0))


def test_without_any_activity_the_first_frame_stays():
    best = RunningBest(3, 2)
    for k in range(2):
        best.offer(k, np.zeros(3, np.float32))
    np.testing.assert_array_equal(best.labels, 0)


@pytest.mark.parametrize(("n_frames", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_labels_have_room_for_all_frames(n_frames, dtype):
    best = RunningBest(1, n_frames)
    for k in range(n_frames):
        best.offer(k, np.array([k], np.float32))
    assert best.labels.dtype == dtype
    assert best.labels[0] == n_frames - 1
