"""SF: spatial frequency of the fused image."""

import math

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._inputs import single_image


def sf(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Root mean square of the differences between neighbouring pixels, along rows and columns together.

    SF = sqrt(RF^2 + CF^2), where RF^2 and CF^2 are the sums of the squared differences of horizontal and of
    vertical neighbours, each divided by the number of pixels; on a scale of 0..255.

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
        From 0, for constant images, to 361 (a chessboard of pixels). Larger counts as better.

    Notes
    -----
    *What it rewards wrongly.* Everything that varies fast: noise, ringing, halos, JPEG blocks. It knows no
    source; sharpening any image raises it beyond that of the true scene.

    *Variants in use.* Division by the number of differences instead of pixels; a version with diagonal
    differences (Zheng et al. 2007), which also relates it to the sources. In unit range it is 255 times
    smaller.

    References
    ----------
    A. M. Eskicioglu, P. S. Fisher, "Image quality measures and their performance", IEEE Transactions on
    Communications 43(12), 1995.
    """
    plane = single_image(fused, data_range).plane()
    squares = (np.square(np.diff(plane, axis=axis)).sum() for axis in (0, 1))
    return math.sqrt(float(sum(squares)) / plane.size)
