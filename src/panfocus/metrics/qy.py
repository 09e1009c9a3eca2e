"""Q_Y: structural similarity to all sources where they agree, else to the most similar one."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import Band, check_fusion, sum_bands
from panfocus.metrics._windows import (
    gaussian,
    local_ssim,
    normalize_weights,
    rows_under,
    valid_shape,
    window_statistics,
)

_SIDE = 7
_TAPS = gaussian(_SIDE, 1.5)
_C = 2e-16  # C1 and C2 of SSIM; almost 0, so that contrast counts in dark windows too
_AGREEMENT = 0.75


def qy(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity to all sources where they agree, else to the most similar one.

    In windows where all pairs of sources have SSIM >= 0.75, the value is the mean of SSIM(s, F), weighted by
    the sources' variances. Elsewhere it is the largest SSIM(s, F). Q_Y is the mean over all windows. Windows
    are Gaussian, 7 x 7 pixels, with standard deviation 1.5; C1 = C2 = 2e-16.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image, at least 7 x 7 pixels.
    data_range : float, optional
        Value of white; black is 0. Default for integers: the type's maximum. Floats must give it.

    Returns
    -------
    float
        From -1 to 1, reached when all sources equal the fused image. Larger is better. Constant images of
        levels x and y score 2 x y / (x^2 + y^2), and 1 if all are equal.

    Notes
    -----
    In a constant window the variance is a rounding error larger than C, and the quotient is noise. Here
    variances below 1e-6 (on 0..255), and their covariances, count as 0, so that the value does not depend on
    the order of sums. Only windows inside the image count.

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
    valid = valid_shape(result, _SIDE, "qy")

    def quality(band: Band) -> float:
        rows = rows_under(band, _SIDE)
        planes, fused_plane = [image.plane(rows) for image in images], result.plane(rows)
        to_fused = [window_statistics(plane, fused_plane, _TAPS) for plane in planes]
        kept = np.stack([local_ssim(s, _C) for s in to_fused])
        agreed = np.all(
            [
                local_ssim(window_statistics(a, b, _TAPS), _C) >= _AGREEMENT
                for a, b in combinations(planes, 2)
            ],
            axis=0,
        )
        mean = (normalize_weights(np.stack([s.var_x for s in to_fused])) * kept).sum(axis=0)
        return float(np.where(agreed, mean, kept.max(axis=0)).sum())

    return sum_bands(quality, valid) / (valid[0] * valid[1])
