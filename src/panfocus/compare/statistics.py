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
    """

    n: NDArray[np.intp]
    mean: Scores
    rank: Scores
    p: Scores


def summarise(scores: Scores, *, larger_is_better: bool) -> Summary:
    """Sum up scores (scenes, methods), NaN where there is none."""
    present = ~np.isnan(scores)
    n = present.sum(axis=0)
    complete = scores[present.all(axis=1)]
    ranks = rankdata(-complete if larger_is_better else complete, axis=1)
    methods = range(scores.shape[1])
    raw = np.array([[_paired_p(scores[:, a], scores[:, b]) for b in methods] for a in methods])
    np.fill_diagonal(raw, np.nan)
    return Summary(
        n=n,
        mean=_mean(np.where(present, scores, 0).sum(axis=0), n),
        rank=_mean(ranks.sum(axis=0), np.full(len(methods), len(complete))),
        p=np.array([holm(row) for row in raw]),
    )


def holm(p: Scores) -> Scores:
    """Correct p-values of one family after Holm (1979); NaN is no member of it."""
    corrected = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return corrected


def _paired_p(a: Scores, b: Scores) -> float:
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if len(a) == 0:
        return np.nan
    differences = np.subtract(a, b, out=np.zeros(len(a)), where=a != b)  # two infinite scores are equal
    # Equal pairs are left out, as Wilcoxon has it; where nothing is left, nothing speaks for a difference.
    if not (moved := differences[differences != 0]).size:
        return 1.0
    result: Any = wilcoxon(moved)
    return float(result.pvalue)


def _mean(total: Scores, n: NDArray[np.intp]) -> Scores:
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))
