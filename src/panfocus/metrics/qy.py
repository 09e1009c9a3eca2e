"""Q_Y: structural similarity to the sources, pooled by whether they agree."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._bands import Band, total
from panfocus.metrics._inputs import fusion_images
from panfocus.metrics._windows import gaussian, likeness, shares, statistics, under, valid_shape

_SIDE = 7
_TAPS = gaussian(_SIDE, 1.5)
_C = 2e-16  # C1 and C2 of SSIM: next to nothing, so that contrast counts in dark windows too
_AGREEMENT = 0.75


def qy(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Likeness to all sources where they agree, and to the best of them where they do not.

    In each window, SSIM of the fused image and of the sources among each other is taken. Where all pairs of
    sources have SSIM >= .75, the value is the mean of SSIM(s, F), weighted by the sources' variances;
    elsewhere it is the largest SSIM(s, F). Q_Y is the mean over all windows. They are Gaussian, 7 x 7 pixels,
    of standard deviation 1.5, and C1 = C2 = 2e-16.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image, at least 7 x 7 pixels.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From -1 to 1, which is reached when all sources equal the fused image. Larger is better. Constant
        images: 1 if all are equal, else the likeness of their levels, 2 x y / (x^2 + y^2).

    Notes
    -----
    In a constant window the variance is rounding, larger than C, and the quotient noise. Here variances
    below 1e-6 (on 0..255), and covariances with them, count as 0, so that the value does not depend on the
    order of sums. Only windows within the image count.

    *What it rewards wrongly.* Where the sources disagree, which is where fusion matters, being like any one
    of them is perfect: a fused image that copies the source out of focus scores nearly 1 there.

    *Variants in use.* Without the guard, values differ by up to 3e-3 between programs, on images with flat
    areas. Some codes take a uniform window. For more than two sources, "agree" could also be asked pair by
    pair; here all pairs must.

    References
    ----------
    C. Yang, J.-Q. Zhang, X.-R. Wang, X. Liu, "A novel similarity based quality metric for image fusion",
    Information Fusion 9(2), 2008.
    """
    images, result = fusion_images(sources, fused, data_range)
    valid = valid_shape(result, _SIDE, "qy")

    def quality(band: Band) -> float:
        rows = under(band, _SIDE)
        planes, fused_plane = [image.plane(rows) for image in images], result.plane(rows)
        to_fused = [statistics(plane, fused_plane, _TAPS) for plane in planes]
        kept = np.stack([likeness(s, _C) for s in to_fused])
        agreed = np.all(
            [likeness(statistics(a, b, _TAPS), _C) >= _AGREEMENT for a, b in combinations(planes, 2)], axis=0
        )
        mean = (shares(np.stack([s.var_x for s in to_fused])) * kept).sum(axis=0)
        return float(np.where(agreed, mean, kept.max(axis=0)).sum())

    return total(quality, valid) / (valid[0] * valid[1])
