"""PSNR_RGB: peak signal-to-noise ratio of the colours against a reference."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus.metrics._inputs import UndefinedError
from panfocus.metrics.mse import mse
from panfocus.metrics.psnr import decibels


def psnr_rgb(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Mean squared error of red, green and blue together as a ratio to the square of white, in decibels.

    PSNR_RGB = 10 log10(255^2 / MSE), with the mean over all pixels of all three colours, on a scale of
    0..255. The colours are those of the file: nothing is linearised, weighed or made grey.

    Parameters
    ----------
    reference : array (h, w, 3)
        The colour image that counts as right: uint8, uint16, float32 or float64. A fourth channel, alpha,
        does not count.
    image : array (h, w, 3)
        The colour image that is measured, of the reference's size and type; alpha does not count.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From 0 dB, for black against white, to infinity, for equal images. Larger is better. Three equal
        channels have the PSNR of one of them.

    Notes
    -----
    *What it rewards wrongly.* What PSNR does. An error in blue, which the eye hardly sees, counts as much as
    one in green. Errors that grey does not show, of colour alone, count here: PSNR is mostly larger.

    *Variants in use.* The mean over the channels of the ratio in decibels, which is not the ratio of the
    mean error. The luma channel alone, which is nearly that of grey.

    References
    ----------
    Q. Huynh-Thu, M. Ghanbari, "Scope of validity of PSNR in image/video quality assessment", Electronics
    Letters 44(13), 2008.
    """
    truth, compared = _colours("the reference", reference), _colours("the image", image)
    errors = [mse(truth[..., i], compared[..., i], data_range=data_range) for i in range(3)]
    return decibels(math.fsum(errors) / 3)


def _colours(name: str, image: ArrayLike) -> NDArray[Any]:
    """Return red, green and blue (h, w, 3)."""
    pixels = np.asarray(image)
    if pixels.shape[2:] not in ((3,), (4,)):
        raise UndefinedError(f"psnr_rgb needs colour (h, w, 3), {name} has shape {pixels.shape}")
    return pixels[..., :3]
