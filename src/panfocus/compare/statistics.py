"""Means, ranks and significance tests of several methods on the same scenes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

Scores = NDArray[np.float64]

SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of one metric over the scenes of a group, with one array element per method.

    Attributes
    ----------
    n : ndarray of int (methods,)
        Number of scenes with a score.
    mean : ndarray (methods,)
        Mean over these scenes.
    rank : ndarray (methods,)
        Mean rank over the scenes on which all methods have a score; 1 is best, equal scores share a rank.
        Methods without any score are ignored.
    rank_n : int
        Number of these scenes.
    p : ndarray (methods, methods)
        Two-sided p-values of Wilcoxon's signed-rank test between two methods, over the scenes that both
        have, with Holm's correction for the number of pairs. Symmetric; NaN on the diagonal and for methods
        without a common scene.
    ahead : ndarray of bool (methods, methods)
        Element (i, j): whether the signed ranks favour method j over i. The means may disagree.
    best : ndarray of bool (methods,)
        Whether a method has the best mean among those with the most scenes; ties share.
    proven : bool
        Whether a single method is best and significantly ahead of all others with as many scenes.
    """

    n: NDArray[np.intp]
    mean: Scores
    rank: Scores
    rank_n: int
    p: Scores
    ahead: NDArray[np.bool_]
    best: NDArray[np.bool_]
    proven: bool


def summarise(scores: Scores, *, larger_is_better: bool) -> Summary:
    """Summarise scores (scenes, methods); NaN means no score."""
    gains = scores if larger_is_better else -scores
    present = ~np.isnan(scores)
    n = present.sum(axis=0)
    total = np.where(present, scores, 0).sum(axis=0)
    mean = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    rank, rank_n = _ranks(gains)
    p, ahead = _tests(gains)
    complete = (n == n.max()) & (n > 0)
    mean_gain = np.where(complete, mean if larger_is_better else -mean, -np.inf)
    best = complete & (mean_gain == mean_gain.max())
    rivals = complete & ~best
    winner = best.argmax()
    proven = best.sum() == 1 and rivals.any() and (p[rivals, winner] < SIGNIFICANT).all()
    return Summary(
        n=n,
        mean=mean,
        rank=rank,
        rank_n=rank_n,
        p=p,
        ahead=ahead,
        best=best,
        proven=bool(proven and ahead[rivals, winner].all()),
    )


def holm(p: Scores) -> Scores:
    """Correct the p-values of one family after Holm (1979); NaN values are ignored."""
    corrected = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return corrected


def _ranks(gains: Scores) -> tuple[Scores, int]:
    scored = ~np.isnan(gains).all(axis=0)
    shared = gains[:, scored][~np.isnan(gains[:, scored]).any(axis=1)]
    rank = np.full(gains.shape[1], np.nan)
    if shared.size:
        rank[scored] = rankdata(-shared, axis=1).mean(axis=0)
    return rank, len(shared) if shared.size else 0


def _tests(gains: Scores) -> tuple[Scores, NDArray[np.bool_]]:
    """Test all pairs of methods as one family."""
    n = gains.shape[1]
    first, second = np.triu_indices(n, k=1)
    tests = [_paired_test(gains[:, a], gains[:, b]) for a, b in zip(first, second, strict=True)]
    raw, lead = np.array(tests, np.float64).reshape(-1, 2).T
    p, ahead = np.full((n, n), np.nan), np.zeros((n, n), bool)
    p[first, second] = p[second, first] = holm(raw)
    ahead[first, second], ahead[second, first] = lead > 0, lead < 0
    return p, ahead


def _paired_test(a: Scores, b: Scores) -> tuple[float, float]:
    """Return p and the sum of the signed ranks, which is positive if b is ahead."""
    both = ~(np.isnan(a) | np.isnan(b))
    if not both.any():
        return np.nan, 0.0
    a, b = a[both], b[both]
    # Equal pairs are left out, as in Wilcoxon's test; two infinite scores are equal.
    differences = b[a != b] - a[a != b]
    if not differences.size:
        return 1.0, 0.0
    result: Any = wilcoxon(differences)
    return float(result.pvalue), float(np.sign(differences) @ rankdata(np.abs(differences)))
