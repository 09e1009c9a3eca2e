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


def test_ahead_follows_the_signed_ranks_not_the_means():
    scores = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0], [99.0, 0.0]])
    larger, smaller = (summarise(scores, larger_is_better=direction) for direction in (True, False))
    assert larger.mean[0] > larger.mean[1]
    assert larger.ahead.tolist() == [[False, True], [False, False]]
    assert smaller.ahead.tolist() == [[False, False], [True, False]]
    np.testing.assert_array_equal(larger.p, smaller.p)


def test_p_matches_scipy_with_holm_correction(rng):
    scores = rng.normal([0, 0.4, 1], size=(20, 3))
    p = summarise(scores, larger_is_better=True).p
    raw = [wilcoxon(scores[:, i], scores[:, j]).pvalue for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose([p[0, 1], p[0, 2], p[1, 2]], holm(np.array(raw)))
    assert p[0, 2] == pytest.approx(3 * min(raw))
    np.testing.assert_array_equal(p, p.T)


def test_ahead_is_antisymmetric(rng):
    ahead = summarise(rng.normal([0, 0.4, 1], size=(20, 3)), larger_is_better=True).ahead
    np.testing.assert_array_equal(ahead, ~ahead.T & ~np.eye(3, dtype=bool))


def test_holm_by_hand():
    np.testing.assert_allclose(
        holm(np.array([0.01, NAN, 0.04, 0.03])), [0.03, NAN, 0.06, 0.06]
    )  # 3 x .01, 2 x .03, and .04 no smaller than that
    np.testing.assert_array_equal(holm(np.array([0.6, 0.7])), [1, 1])
    assert np.isnan(holm(np.array([NAN]))).all()


def test_a_missing_score_is_ignored():
    scores = np.array([[1.0, 2.0], [2.0, NAN], [3.0, 4.0]])
    summary = summarise(scores, larger_is_better=True)
    np.testing.assert_array_equal(summary.n, [3, 2])
    np.testing.assert_array_equal(summary.mean, [2, 3])
    np.testing.assert_array_equal(summary.rank, [2, 1])
    assert summary.p[0, 1] == 0.5  # two differences of one sign: 2 of 4 signs are as extreme


def test_ties_are_not_significant():
    summary = summarise(np.ones((7, 3)), larger_is_better=True)
    np.testing.assert_array_equal(summary.rank, [2, 2, 2])
    assert summary.p[0, 1] == summary.p[2, 0] == 1


def test_one_scene_is_not_significant():
    assert summarise(np.array([[1.0, 2.0]]), larger_is_better=True).p[0, 1] == 1


def test_a_method_without_scores_does_not_affect_the_others():
    scores = np.array([[1.0, NAN, 2.0], [2.0, NAN, 1.5]])
    summary = summarise(scores, larger_is_better=True)
    np.testing.assert_array_equal(summary.mean, [1.5, NAN, 1.75])
    np.testing.assert_array_equal(summary.rank, [1.5, NAN, 1.5])
    assert summary.rank_n == 2
    assert np.isnan(summary.p[1]).all()
    assert summary.best.tolist() == [False, False, True]


def test_ranks_count_their_scenes():
    scores = np.array([[1.0, 2.0], [2.0, NAN], [3.0, 4.0]])
    assert summarise(scores, larger_is_better=True).rank_n == 2
    disjoint = summarise(np.array([[1.0, NAN], [NAN, 2.0]]), larger_is_better=True)
    assert disjoint.rank_n == 0
    assert np.isnan(disjoint.rank).all()


def test_the_best_is_among_methods_with_the_most_scenes():
    scores = np.array([[1.0, 2.0, 9.0], [1.0, 2.0, NAN]])
    assert summarise(scores, larger_is_better=True).best.tolist() == [False, True, False]
    assert summarise(scores, larger_is_better=False).best.tolist() == [True, False, False]
    assert summarise(np.ones((3, 2)), larger_is_better=True).best.tolist() == [True, True]
    assert not summarise(np.full((3, 2), NAN), larger_is_better=True).best.any()


def test_a_lead_is_proven_if_significant_over_every_rival(rng):
    clear = rng.normal([0, 3, 1.5], 0.1, size=(12, 3))
    assert summarise(clear, larger_is_better=True).proven
    assert summarise(clear, larger_is_better=False).proven
    close = np.column_stack([clear, clear[:, 1] + rng.normal(0, 0.1, 12)])
    assert not summarise(close, larger_is_better=True).proven
    close[0, 3] = NAN  # fewer scenes: no rival
    assert summarise(close, larger_is_better=True).proven
    assert not summarise(clear[:4], larger_is_better=True).proven  # too few scenes
    assert not summarise(clear[:, :1], larger_is_better=True).proven  # nobody to be ahead of


def test_infinite_scores_are_equal_and_largest():
    scores = np.array([[np.inf, np.inf], [np.inf, 40.0], [41.0, 39.0]])
    summary = summarise(scores, larger_is_better=True)
    assert summary.mean[0] == np.inf
    np.testing.assert_allclose(summary.rank, [7 / 6, 11 / 6])
    assert summary.p[0, 1] == wilcoxon([3.0, 2.0]).pvalue
