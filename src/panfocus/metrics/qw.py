"""Q_W: local quality index, weighted by the contrast of the sources."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import Band, Plane, check_fusion, sum_bands
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
_C = (1e-6 * 255) ** 2  # C1 and C2 of SSIM, from K = 1e-6
_FLAT_WEIGHT = 0.5  # weight of windows that are constant in every source


def qw(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity to the sources, weighted by their local variance.

    In each window w, the sources' similarity to the fused image is weighted by their variances:
    Q(w) = sum over sources s of lambda_s Q_0(s, F), lambda_s = var(s) / sum of the variances. Then
    Q_W = sum of c(w) Q(w) / sum of c(w), with c(w) the largest variance. Q_0 is the universal quality
    index, 4 cov m_s m_F / ((var s + var F) (m_s^2 + m_F^2)), here SSIM with C1 = C2 = (1e-6 * 255)^2, and
    windows are uniform, of 8 x 8 pixels.

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
        From -1 to 1, reached when all sources equal the fused image. Larger is better. Windows that are
        constant in every source (variance below 1e-6 on 0..255) have the weight 0.5 and equal shares.
        Constant images of levels x and y score 2 x y / (x^2 + y^2), and 1 if equal.

    Notes
    -----
    Only windows inside the image count.

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
    valid = valid_shape(result, _SIDE, "qw")

    def quality_and_weight(band: Band) -> Plane:
        rows = rows_under(band, _SIDE)
        fused_plane = result.plane(rows)
        to_fused = [window_statistics(image.plane(rows), fused_plane, _TAPS) for image in images]
        variances = np.stack([s.var_x for s in to_fused])
        quality = (normalize_weights(variances) * np.stack([local_ssim(s, _C) for s in to_fused])).sum(axis=0)
        weight = variances.max(axis=0)
        weight[weight == 0] = _FLAT_WEIGHT
        return np.array([(weight * quality).sum(), weight.sum()])

    quality, weight = sum_bands(quality_and_weight, valid)
    return float(quality / weight)
