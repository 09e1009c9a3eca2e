"""Similarity to the sources in sliding windows: QY, QW and QC."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import Plane, check_fusion
from panfocus.metrics._windows import (
    box,
    gaussian,
    local_ssim,
    normalize_weights,
    sum_windows,
    window_statistics,
)

# QY
_GAUSSIAN_SIDE = 7
_GAUSSIAN = gaussian(_GAUSSIAN_SIDE, 1.5)
_C_QY = 2e-16  # C1 and C2 of SSIM; almost 0, so that contrast counts in dark windows too
_AGREEMENT = 0.75  # SSIM from which two sources agree

# QW and QC
_BOX_SIDE = 8
_BOX = box(_BOX_SIDE)
_C_QW = (1e-6 * 255) ** 2  # C1 and C2 of SSIM in QW, from K = 1e-6
_FLAT_WEIGHT = 0.5  # weight in QW of windows that are constant in every source


def qy(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity to all sources where they agree, else to the most similar one.

    In windows where all pairs of sources have SSIM >= 0.75, the value is the mean of SSIM(s, F), weighted by
    the sources' variances. Elsewhere it is the largest SSIM(s, F). Q_Y is the mean over all windows. Windows
    are Gaussian, 7 x 7 pixels, with standard deviation 1.5; C1 = C2 = 2e-16.
    Arguments: see `panfocus.metrics`.

    *Range.* From -1 to 1, reached when all sources equal the fused image. Larger is better. Constant images
    of levels x and y score 2 x y / (x^2 + y^2), and 1 if all are equal. Images need at least 7 x 7 pixels.

    *Details.* In a constant window the variance is a rounding error larger than C, and the quotient is noise.
    Here variances below 1e-6 (on 0..255), and their covariances, count as 0, so that the value does not
    depend on the order of sums. Only windows inside the image count.

    *What it rewards wrongly.* Where the sources disagree, which is where fusion matters, similarity to any
    one of them is enough: a copy of the out-of-focus source scores nearly 1 there.

    *Variants in use.* Without the guard, values of images with flat areas differ by up to 3e-3 between
    implementations. Some use a uniform window. For more than two sources, agreement could also be tested
    pair by pair; here all pairs must agree.

    References
    ----------
    C. Yang, J.-Q. Zhang, X.-R. Wang, X. Liu, "A novel similarity based quality metric for image fusion",
    Information Fusion 9(2), 2008.
    """
    images, result = check_fusion(sources, fused, data_range)

    def quality(rows: slice) -> float:
        planes, fused_plane = [image.plane(rows) for image in images], result.plane(rows)
        to_fused = [window_statistics(plane, fused_plane, _GAUSSIAN) for plane in planes]
        kept = np.stack([local_ssim(s, _C_QY) for s in to_fused])
        agreed = np.all(
            [
                local_ssim(window_statistics(a, b, _GAUSSIAN), _C_QY) >= _AGREEMENT
                for a, b in combinations(planes, 2)
            ],
            axis=0,
        )
        mean = (normalize_weights(np.stack([s.var_x for s in to_fused])) * kept).sum(axis=0)
        return float(np.where(agreed, mean, kept.max(axis=0)).sum())

    total, count = sum_windows(quality, result, _GAUSSIAN_SIDE, "qy")
    return total / count


def qw(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity to the sources, weighted by their local variance.

    In each window w, the sources' similarity to the fused image is weighted by their variances:
    Q(w) = sum over sources s of lambda_s Q_0(s, F), lambda_s = var(s) / sum of the variances. Then
    Q_W = sum of c(w) Q(w) / sum of c(w), with c(w) the largest variance. Q_0 is the universal quality
    index, 4 cov m_s m_F / ((var s + var F) (m_s^2 + m_F^2)), here SSIM with C1 = C2 = (1e-6 * 255)^2, and
    windows are uniform, of 8 x 8 pixels. Arguments: see `panfocus.metrics`.

    *Range.* From -1 to 1, reached when all sources equal the fused image. Larger is better. Windows that are
    constant in every source (variance below 1e-6 on 0..255) have the weight 0.5 and equal shares. Constant
    images of levels x and y score 2 x y / (x^2 + y^2), and 1 if equal. Images need at least 8 x 8 pixels.

    *Details.* Only windows inside the image count.

    *What it rewards wrongly.* Contrast, not focus, decides which source counts: noise and halos have contrast
    too. The weights are variances, so that a few hard edges outweigh all texture.

    *Variants in use.* Piella and Heijmans also define Q, with equal weights for all windows, and Q_E, Q_W
    times a power of the same measure on edge images. Saliency may be the standard deviation or the entropy of
    the window.

    References
    ----------
    G. Piella, H. Heijmans, "A new quality metric for image fusion", ICIP 2003.
    """
    images, result = check_fusion(sources, fused, data_range)

    def quality_and_weight(rows: slice) -> Plane:
        fused_plane = result.plane(rows)
        to_fused = [window_statistics(image.plane(rows), fused_plane, _BOX) for image in images]
        variances = np.stack([s.var_x for s in to_fused])
        quality = (normalize_weights(variances) * np.stack([local_ssim(s, _C_QW) for s in to_fused])).sum(
            axis=0
        )
        weight = variances.max(axis=0)
        weight[weight == 0] = _FLAT_WEIGHT
        return np.array([(weight * quality).sum(), weight.sum()])

    (quality, weight), _ = sum_windows(quality_and_weight, result, _BOX_SIDE, "qw")
    return float(quality / weight)


def qc(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity to the sources, weighted by their covariance with the fused image.

    In each window, Q = sum over sources s of sim_s Q_0(s, F). The weight sim_s is the share of s in the
    covariances with the fused image, cov(s, F) / sum of cov(s', F), clipped to 0..1. Q_0 is the universal
    quality index, 4 cov m_s m_F / ((var s + var F) (m_s^2 + m_F^2)). Windows are uniform, of 8 x 8 pixels.
    Q_C is the mean over all of them. Arguments: see `panfocus.metrics`.

    *Range.* From -1 to 1, reached when all sources equal the fused image. Larger is better. Constant images
    score the mean of 2 x y / (x^2 + y^2) over their levels x and y, and 1 if equal. Images need at least
    8 x 8 pixels.

    *Details.* Windows with variances below 1e-6 (on 0..255) count as constant. Sources have equal weights
    where all covariances are 0, and two constant windows are compared by their means. Only windows inside the
    image count. For more than two sources the clipped shares are divided by their sum, which is 1 for two.

    *What it rewards wrongly.* The source that the result copies gets the weight, in focus or not: any single
    source scores near 1. The metric cannot distinguish a wrong choice from a right one.

    *Variants in use.* Cvejic et al. published two measures in one year; this is the one with covariances.
    Implementations differ in windows where the covariances cancel or vanish.

    References
    ----------
    N. Cvejic, A. Loza, D. Bull, N. Canagarajah, "A similarity metric for assessment of image fusion
    algorithms", International Journal of Signal Processing 2(3), 2005.
    """
    images, result = check_fusion(sources, fused, data_range)

    def quality(rows: slice) -> float:
        fused_plane = result.plane(rows)
        to_fused = [window_statistics(image.plane(rows), fused_plane, _BOX) for image in images]
        cov = np.stack([s.cov for s in to_fused])
        whole = cov.sum(axis=0)
        # Where the covariances cancel, the quotient is infinite; clipping leaves its sign.
        sim = np.clip(np.divide(cov, whole, out=np.sign(cov), where=whole != 0), 0, 1)
        return float((normalize_weights(sim) * np.stack([local_ssim(s, 0.0) for s in to_fused])).sum())

    total, count = sum_windows(quality, result, _BOX_SIDE, "qc")
    return total / count
