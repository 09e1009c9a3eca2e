"""What the scores of several methods on the same scenes say together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

Scores = NDArray[np.float64]

SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Summary:
    """One metric over the scenes of a group; an entry of the arrays for every method.

    Attributes
    ----------
    n : ndarray of int (methods,)
        Scenes that have a score.
    mean : ndarray (methods,)
        Mean over these scenes.
    rank : ndarray (methods,)
        Mean rank, 1 being the best, over the scenes on which all methods have a score; equal scores share. A
        method without any score does not count.
    rank_n : int
        The number of these scenes.
    p : ndarray (methods, methods)
        How likely differences as large as those between two methods are by chance: Wilcoxon signed-rank test,
        two-sided, over the scenes that both have, corrected after Holm for the number of pairs. Symmetric;
        NaN where no scene is shared, and on the diagonal.
    ahead : ndarray of bool (methods, methods)
        In the row of a method, which others the test sees ahead of it; means may say otherwise.
    best : ndarray of bool (methods,)
        Which has the best mean, of those with the most scenes; equal means share.
    proven : bool
        Whether one is the best alone, and significantly ahead of every other with as many scenes.
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
    """Sum up scores (scenes, methods), NaN where there is none."""
    gains = scores if larger_is_better else -scores
    present = ~np.isnan(scores)
    n = present.sum(axis=0)
    mean = _mean(np.where(present, scores, 0).sum(axis=0), n)
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
    """Correct p-values of one family after Holm (1979); NaN is no member of it."""
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
    """Test all pairs, as one family, so that p does not depend on which method one looks from."""
    n = gains.shape[1]
    first, second = np.triu_indices(n, k=1)
    tests = [_paired_test(gains[:, a], gains[:, b]) for a, b in zip(first, second, strict=True)]
    raw, lead = np.array(tests, np.float64).reshape(-1, 2).T
    p, ahead = np.full((n, n), np.nan), np.zeros((n, n), bool)
    p[first, second] = p[second, first] = holm(raw)
    ahead[first, second], ahead[second, first] = lead > 0, lead < 0
    return p, ahead


def _paired_test(a: Scores, b: Scores) -> tuple[float, float]:
    """Return p, and the sum of the signed ranks: positive where b is ahead."""
    both = ~(np.isnan(a) | np.isnan(b))
    if not both.any():
        return np.nan, 0.0
    a, b = a[both], b[both]
    # Equal pairs are left out, as Wilcoxon has it, and two infinite scores are equal.
    differences = b[a != b] - a[a != b]
    if not differences.size:
        return 1.0, 0.0
    result: Any = wilcoxon(differences)
    return float(result.pvalue), float(np.sign(differences) @ rankdata(np.abs(differences)))


def _mean(total: Scores, n: NDArray[np.intp]) -> Scores:
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))
