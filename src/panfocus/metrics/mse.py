"""MSE: mean squared error against a reference."""

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._bands import Band, total
from panfocus.metrics._inputs import compared_images


def mse(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Mean squared difference of an image from a reference.

    MSE = mean over all pixels of (image - reference)^2, on a scale of 0..255 whatever the type.

    Parameters
    ----------
    reference : array (h, w)
        The grey image that counts as right: uint8, uint16, float32 or float64.
    image : array (h, w)
        The grey image that is measured, of the reference's size and type.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From 0, for equal images, to 65025, for black against white. Smaller is better.

    Notes
    -----
    *What it rewards wrongly.* Blur and blending: where it is uncertain which pixel is right, their mean has
    the smallest expected error. A shift of the whole image by one pixel or one level costs more than a
    halo that everybody sees. Between the fused image and a source it is no measure of quality: the
    source that is out of focus pulls the result towards itself.

    *Variants in use.* In unit range it is 65025 times smaller. Its root, in levels, is RMSE. Papers on
    fusion without ground truth report the mean over the sources.

    References
    ----------
    Z. Wang, A. C. Bovik, "Mean squared error: love it or leave it?", IEEE Signal Processing Magazine 26(1),
    2009.
    """
    truth, compared = compared_images(reference, image, data_range)

    def squared_error(band: Band) -> float:
        return float(np.square(compared.plane(band.inner) - truth.plane(band.inner)).sum())

    return total(squared_error, truth.shape) / truth.pixels.size
