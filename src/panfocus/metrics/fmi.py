"""FMI: mutual information of features, window by window."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from panfocus._checks import check_choice
from panfocus.metrics._images import Grey, Plane, check_fusion
from panfocus.metrics._windows import check_size, squared_sobel, sum_windows

_SIDE = 3
_CELLS = _SIDE**2

# Values are rounded to multiples of this, on 0..255. Features that are equal in 8-bit images are then also
# equal in float images of the same content, whose rounding errors are 1e-14, or 1e-5 in float32.
_GRID = 2.0**-14


def fmi(
    sources: Sequence[ArrayLike],
    fused: ArrayLike,
    *,
    data_range: float | None = None,
    feature: Literal["edge", "gradient", "none"] = "edge",
) -> float:
    """Return the mutual information of the sources' and the fused image's features in 3 x 3 windows.

    The feature values of a window minus their minimum form a distribution over its nine pixels, in column
    order. The joint distribution of source and fused image is built from these marginals p and q and from the
    correlation c of the two windows, after Nelsen: t H + (1 - t) p q'. Here p q' is the independent
    distribution, H the one with the largest (if c >= 0) or smallest correlation, and t is c over the
    correlation of H. The value of a window is 2 I / (H(p) + H(q)); FMI is the mean over windows and sources.

    *Range.* From 0 to slightly above 1; 1 when all sources equal the fused image. Larger is better. A window
    in which both are equal or constant counts as 1, so constant images score 1. Images need at least 3 x 3
    pixels.

    *Details.* Edges are pixels whose squared Sobel magnitude exceeds four times its mean over the image, and
    both horizontal or both vertical neighbours. Sobel repeats the border; neighbours outside the image are 0.
    Where |c| exceeds the correlation of H, the joint distribution has negative entries; as customary, the
    entropy uses the logarithm of their magnitude. A window with a single feature has no entropy; two such
    windows with the feature at different pixels share no information.

    *What it rewards wrongly.* Empty areas: with "edge" most windows have no edge in either image and count as
    1, so that values crowd near 0.9. An edge that moves by one pixel is lost, while a missing edge may cost
    nothing. The value depends on the column order of the pixels: a rotated scene scores differently.

    *Variants in use.* MATLAB's `edge` thins differently from Octave's, which is used here, so published
    values may differ slightly. Wavelet and cosine features exist as well, and a slower FMI with larger
    windows.

    Parameters
    ----------
    sources, fused, data_range
        See `panfocus.metrics`.
    feature : {"edge", "gradient", "none"}
        Compared feature: a map of edges, the horizontal gradient by central differences, or the pixels. The
        three give values on different scales.

    References
    ----------
    M. Haghighat, A. Aghagolzadeh, H. Seyedarabi, "A non-reference image fusion metric based on mutual
    information of image features", Computers and Electrical Engineering 37(5), 2011. M. Haghighat, M. A.
    Razian, "Fast-FMI: non-reference image fusion metric", AICT 2014. R. B. Nelsen, "Discrete bivariate
    distributions with given marginals and correlation", Communications in Statistics 16(1), 1987.
    """
    images, result = check_fusion(sources, fused, data_range)
    check_choice("feature", feature, tuple(_EXTRACT))
    check_size(result, _SIDE, "fmi")
    extract = _EXTRACT[feature]
    compare = _edge_similarity if feature == "edge" else _similarity
    fused_features = extract(_on_grid(result))
    score = 0.0
    for image in images:
        features = extract(_on_grid(image))

        def shared(rows: slice, features: Plane = features) -> float:
            return float(compare(_windows(features[rows]), _windows(fused_features[rows])).sum())

        total, count = sum_windows(shared, result, _SIDE, "fmi")
        score += total
    return score / (len(images) * count)


def _on_grid(image: Grey) -> Plane:
    return np.asarray(np.rint(image.plane() / _GRID) * _GRID)


def _edges(plane: Plane) -> Plane:
    strength = squared_sobel(plane)
    around = np.pad(strength, 1)
    above_row = (strength > around[1:-1, :-2]) & (strength > around[1:-1, 2:])
    above_column = (strength > around[:-2, 1:-1]) & (strength > around[2:, 1:-1])
    return np.asarray((strength > 4 * strength.mean()) & (above_row | above_column), np.float64)


def _gradient(plane: Plane) -> Plane:
    return np.asarray(np.gradient(plane, axis=1))


_EXTRACT: dict[str, Callable[[Plane], Plane]] = {
    "edge": _edges,
    "gradient": _gradient,
    "none": lambda plane: plane,
}


def _windows(features: Plane) -> Plane:
    """Return all windows as rows (n, 9), each in column order."""
    windows: Plane = sliding_window_view(features, (_SIDE, _SIDE)).swapaxes(2, 3).reshape(-1, _CELLS)
    return windows


def _edge_similarity(a: Plane, b: Plane) -> Plane:
    """Compare windows of zeros and ones. Few pairs differ, so each distinct pair is compared once."""
    bits = 1 << np.arange(_CELLS)
    pairs = (a @ bits).astype(np.intp) << _CELLS | (b @ bits).astype(np.intp)
    _, first, counts = np.unique(pairs, return_index=True, return_counts=True)
    return np.asarray(_similarity(a[first], b[first]) * counts)


def _similarity(a: Plane, b: Plane) -> Plane:
    """Return the normalised mutual information 2 I / (H(p) + H(q)) of pairs of windows (n, 9)."""
    p, q = _as_distribution(a), _as_distribution(b)
    entropies = _entropy(p) + _entropy(q)
    information = entropies - _entropy(_joint(p, q).reshape(-1, _CELLS**2))
    shared = np.divide(2 * information, entropies, out=np.zeros_like(entropies), where=entropies > 0)
    shared[(a == b).all(axis=1)] = 1
    return shared


def _as_distribution(windows: Plane) -> Plane:
    above = windows - windows.min(axis=1, keepdims=True)
    whole = above.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(above, whole, out=np.full_like(above, 1 / _CELLS), where=whole > 0))


def _joint(p: Plane, q: Plane) -> Plane:
    """Return joint distributions (n, 9, 9) with marginals p and q and, if possible, their correlation."""
    P, Q = p.cumsum(axis=1)[:, :, None], q.cumsum(axis=1)[:, None, :]
    correlation = _correlation(p, q)[:, None, None]
    # Fréchet's bounds: the largest and the smallest joint distribution function with these marginals.
    extreme = np.where(correlation >= 0, np.minimum(P, Q), np.maximum(P + Q - 1, 0))
    # Hoeffding: the covariance of the positions under a joint distribution function H is the sum of H - P Q.
    attainable = (extreme - P * Q).sum(axis=(1, 2), keepdims=True)
    wanted = correlation * (_spread(p) * _spread(q))[:, None, None]
    t = np.divide(wanted, attainable, out=np.zeros_like(wanted), where=attainable != 0)
    cells = np.diff(np.diff(extreme, axis=1, prepend=0), axis=2, prepend=0)
    return np.asarray(t * cells + (1 - t) * p[:, :, None] * q[:, None, :])


def _correlation(p: Plane, q: Plane) -> Plane:
    p, q = (x - x.mean(axis=1, keepdims=True) for x in (p, q))
    size = np.sqrt((p * p).sum(axis=1) * (q * q).sum(axis=1))
    return np.asarray(np.divide((p * q).sum(axis=1), size, out=np.zeros_like(size), where=size > 0))


def _spread(p: Plane) -> Plane:
    """Return the standard deviation of the position 1..9 in a window."""
    place = np.arange(1, _CELLS + 1)
    return np.asarray(np.sqrt(np.maximum((p * place**2).sum(axis=1) - (p * place).sum(axis=1) ** 2, 0)))


def _entropy(p: Plane) -> Plane:
    logs = np.log(np.abs(p), out=np.zeros_like(p), where=p != 0)
    return np.asarray(-(p * logs).sum(axis=1))
