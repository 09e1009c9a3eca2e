"""What the scores of several methods on the same scenes say together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

Scores = NDArray[np.float64]


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
        Mean rank, 1 being the best, over the scenes on which every method has a score; equal scores share.
    p : ndarray (methods, methods)
        In the row of a method, how likely differences as large as those of the others from it are by chance:
        Wilcoxon signed-rank test, two-sided, over the scenes that both have, corrected after Holm for the
        number of others. NaN where no scene is shared, and on the diagonal.
    ahead : ndarray of bool (methods, methods)
        In the row of a method, which others the test sees ahead of it; means may say otherwise.
    """

    n: NDArray[np.intp]
    mean: Scores
    rank: Scores
    p: Scores
    ahead: NDArray[np.bool_]


def summarise(scores: Scores, *, larger_is_better: bool) -> Summary:
    """Sum up scores (scenes, methods), NaN where there is none."""
    gains = scores if larger_is_better else -scores
    present = ~np.isnan(scores)
    n = present.sum(axis=0)
    complete = gains[present.all(axis=1)]
    methods = range(scores.shape[1])
    tests = np.array([[_paired_test(gains[:, a], gains[:, b]) for b in methods] for a in methods])
    np.fill_diagonal(tests[..., 0], np.nan)
    return Summary(
        n=n,
        mean=_mean(np.where(present, scores, 0).sum(axis=0), n),
        rank=_mean(rankdata(-complete, axis=1).sum(axis=0), np.full(len(methods), len(complete))),
        p=np.array([holm(row) for row in tests[..., 0]]),
        ahead=tests[..., 1] > 0,
    )


def holm(p: Scores) -> Scores:
    """Correct p-values of one family after Holm (1979); NaN is no member of it."""
    corrected = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return corrected


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
