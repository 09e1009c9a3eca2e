"""EN: entropy of the fused image."""

import math

from numpy.typing import ArrayLike

from panfocus.metrics._inputs import single_image
from panfocus.metrics._levels import distribution, entropy


def en(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Shannon entropy of the histogram, in bits.

    EN = - sum over 256 levels i of p(i) log2 p(i), the data range being rounded half up to 0..255. Values
    outside it are clipped.

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
        From 0, for constant images, to 8. Larger counts as better.

    Notes
    -----
    *What it rewards wrongly.* Noise, and any spread of the histogram. It does not see where pixels are:
    shuffling them leaves it as it is. A sharp picture of a plain scene has little entropy and should have.

    *Variants in use.* Natural logarithm; other numbers of levels.

    References
    ----------
    J. W. Roberts, J. van Aardt, F. Ahmed, "Assessment of image fusion procedures using entropy, image
    quality, and multispectral classification", Journal of Applied Remote Sensing 2(1), 2008.
    """
    return entropy(distribution(single_image(fused, data_range))) / math.log(2)
