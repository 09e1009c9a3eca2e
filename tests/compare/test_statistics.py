"""Against values worked out by hand, and SciPy's."""

import numpy as np
import pytest
from scipy.stats import wilcoxon

from panfocus.compare.statistics import holm, summarise

NAN = np.nan


def test_means_and_ranks_by_hand():
    scores = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 1.0]])
    larger = summarise(scores, larger_is_better=True)
    np.testing.assert_array_equal(larger.mean, [4, 3, 1.5])
    np.testing.assert_array_equal(larger.rank, [1.25, 2.25, 2.5])  # (1, 3, 2) and (1.5, 1.5, 3)
    np.testing.assert_array_equal(larger.n, [2, 2, 2])
    smaller = summarise(scores, larger_is_better=False)
    np.testing.assert_array_equal(smaller.rank, [2.75, 1.75, 1.5])


def test_p_by_hand():
    # Five positive differences of different size: 2 of the 2 ** 5 signs are as extreme.
    scores = np.array([[1.0, 0.0], [2.5, 1.0], [4.0, 2.0], [5.5, 3.0], [7.0, 4.0]])
    p = summarise(scores, larger_is_better=True).p
    assert p[0, 1] == p[1, 0] == 2 / 2**5
    assert np.isnan(np.diag(p)).all()


def test_the_test_sees_ahead_who_wins_most_scenes_whatever_the_means_say():
    scores = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0], [99.0, 0.0]])
    larger, smaller = (summarise(scores, larger_is_better=direction) for direction in (True, False))
    assert larger.mean[0] > larger.mean[1]
    assert larger.ahead.tolist() == [[False, True], [False, False]]
    assert smaller.ahead.tolist() == [[False, False], [True, False]]
    np.testing.assert_array_equal(larger.p, smaller.p)


def test_p_is_scipys_corrected_for_the_number_of_others(rng):
    scores = rng.normal([0, 0.4, 1], size=(20, 3))
    p = summarise(scores, larger_is_better=True).p
    raw = [wilcoxon(scores[:, 0], scores[:, i]).pvalue for i in (1, 2)]
    np.testing.assert_allclose(p[0, 1:], holm(np.array(raw)))
    assert p[0, 2] == pytest.approx(2 * min(raw))


def test_holm_by_hand():
    np.testing.assert_allclose(
        holm(np.array([0.01, NAN, 0.04, 0.03])), [0.03, NAN, 0.06, 0.06]
    )  # 3 x .01, 2 x .03, and .04 no smaller than that
    np.testing.assert_array_equal(holm(np.array([0.6, 0.7])), [1, 1])
    assert np.isnan(holm(np.array([NAN]))).all()


def test_a_missing_score_counts_nowhere():
    scores = np.array([[1.0, 2.0], [2.0, NAN], [3.0, 4.0]])
    summary = summarise(scores, larger_is_better=True)
    np.testing.assert_array_equal(summary.n, [3, 2])
    np.testing.assert_array_equal(summary.mean, [2, 3])
    np.testing.assert_array_equal(summary.rank, [2, 1])
    assert summary.p[0, 1] == 0.5  # two differences of one sign: 2 of 4 signs are as extreme


def test_ties_all_over_say_nothing():
    summary = summarise(np.ones((7, 3)), larger_is_better=True)
    np.testing.assert_array_equal(summary.rank, [2, 2, 2])
    assert summary.p[0, 1] == summary.p[2, 0] == 1


def test_one_scene_is_no_evidence():
    assert summarise(np.array([[1.0, 2.0]]), larger_is_better=True).p[0, 1] == 1


def test_a_method_without_any_score_leaves_the_others_alone():
    summary = summarise(np.array([[1.0, NAN], [2.0, NAN]]), larger_is_better=True)
    assert summary.mean[0] == 1.5
    assert np.isnan([summary.mean[1], *summary.rank, *summary.p.ravel()]).all()


def test_infinite_scores_are_the_largest_and_equal_each_other():
    scores = np.array([[np.inf, np.inf], [np.inf, 40.0], [41.0, 39.0]])
    summary = summarise(scores, larger_is_better=True)
    assert summary.mean[0] == np.inf
    np.testing.assert_allclose(summary.rank, [7 / 6, 11 / 6])
    assert summary.p[0, 1] == wilcoxon([3.0, 2.0]).pvalue
