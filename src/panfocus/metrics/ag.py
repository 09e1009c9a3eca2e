"""AG: average gradient of the fused image."""

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._inputs import single_image


def ag(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Mean length of the gradient.

    AG = mean over all pixels of sqrt((dx^2 + dy^2) / 2), with forward differences on a scale of 0..255;
    beyond the last row and column the border is repeated, so that the difference there is 0.

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
        From 0, for constant images, to 255. Larger counts as better.

    Notes
    -----
    *What it rewards wrongly.* Noise, ringing and halos, as the spatial frequency does, though large
    differences count less here. It knows no source.

    *Variants in use.* Leaving out the last row and column; central differences; no division by 2.

    References
    ----------
    G. Cui, H. Feng, Z. Xu, Q. Li, Y. Chen, "Detail preserved fusion of visible and infrared images using
    regional saliency extraction and multi-scale image decomposition", Optics Communications 341, 2015.
    """
    plane = single_image(fused, data_range).plane()
    dx = np.diff(plane, axis=1, append=plane[:, -1:])
    dy = np.diff(plane, axis=0, append=plane[-1:])
    return float(np.sqrt((dx * dx + dy * dy) / 2).mean())
