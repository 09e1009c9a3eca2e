"""Q_C: local quality index, weighted by the covariance with each source."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import Band, check_fusion, sum_bands
from panfocus.metrics._windows import (
    box,
    local_ssim,
    normalize_weights,
    rows_under,
    valid_shape,
    window_statistics,
)

_SIDE = 8
_TAPS = box(_SIDE)


def qc(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity to the sources, weighted by their covariance with the fused image.

    In each window, Q = sum over sources s of sim_s Q_0(s, F). The weight sim_s is the share of s in the
    covariances with the fused image, cov(s, F) / sum of cov(s', F), clipped to 0..1. Q_0 is the universal
    quality index, 4 cov m_s m_F / ((var s + var F) (m_s^2 + m_F^2)). Windows are uniform, of 8 x 8 pixels.
    Q_C is the mean over all of them.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image, at least 8 x 8 pixels.
    data_range : float, optional
        Value of white; black is 0. Default for integers: the type's maximum. Floats must give it.

    Returns
    -------
    float
        From -1 to 1, reached when all sources equal the fused image. Larger is better. Constant images
        score the mean of 2 x y / (x^2 + y^2) over their levels x and y, and 1 if equal.

    Notes
    -----
    Windows with variances below 1e-6 (on 0..255) count as constant. Sources have equal weights where all
    covariances are 0, and two constant windows are compared by their means. Only windows inside the image
    count. For more than two sources the clipped shares are divided by their sum, which is 1 for two.

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
    valid = valid_shape(result, _SIDE, "qc")

    def quality(band: Band) -> float:
        rows = rows_under(band, _SIDE)
        fused_plane = result.plane(rows)
        to_fused = [window_statistics(image.plane(rows), fused_plane, _TAPS) for image in images]
        cov = np.stack([s.cov for s in to_fused])
        whole = cov.sum(axis=0)
        # Where the covariances cancel, the quotient is infinite; clipping leaves its sign.
        sim = np.clip(np.divide(cov, whole, out=np.sign(cov), where=whole != 0), 0, 1)
        return float((normalize_weights(sim) * np.stack([local_ssim(s, 0.0) for s in to_fused])).sum())

    return sum_bands(quality, valid) / (valid[0] * valid[1])
