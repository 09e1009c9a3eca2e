"""EI: edge intensity of the fused image."""

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._inputs import single_image
from panfocus.metrics._windows import squared_sobel


def ei(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Mean Sobel magnitude.

    EI = mean over all pixels of sqrt(gx^2 + gy^2), with Sobel differences (weights 1, 2, 1, not divided) on a
    scale of 0..255 and the border repeated.

    Parameters
    ----------
    fused : array (h, w)
        The grey fused image: uint8, uint16, float32 or float64.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From 0, for constant images, to about 1140. Larger counts as better.

    Notes
    -----
    *What it rewards wrongly.* Noise, halos and doubled edges. It knows no source.

    *Variants in use.* Zeros outside the border; kernels divided by 4 or 8.

    References
    ----------
    B. Rajalingam, R. Priya, "Hybrid multimodality medical image fusion technique for feature enhancement in
    medical diagnosis", International Journal of Engineering Science Invention 2, 2018.
    """
    return float(np.sqrt(squared_sobel(single_image(fused, data_range).plane())).mean())
