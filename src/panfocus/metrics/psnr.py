"""PSNR: peak signal-to-noise ratio against a reference."""

import math

from numpy.typing import ArrayLike

from panfocus.metrics.mse import mse


def psnr(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Mean squared error as a ratio to the square of white, in decibels.

    PSNR = 10 log10(255^2 / MSE), with the mean squared error on a scale of 0..255.

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
        From 0 dB, for black against white, to infinity, for equal images. Larger is better.

    Notes
    -----
    *What it rewards wrongly.* What the mean squared error does: blur, and blending where the choice is
    uncertain. It also spreads small errors wide: 60 and 70 dB look the same, and one scene that is almost
    perfect lifts the mean of a table.

    *Variants in use.* Over the three colour channels together instead of grey: `psnr_rgb`. The mean over
    scenes of the ratio in decibels, as here, is not the ratio of the mean error.

    References
    ----------
    Q. Huynh-Thu, M. Ghanbari, "Scope of validity of PSNR in image/video quality assessment", Electronics
    Letters 44(13), 2008.
    """
    return decibels(mse(reference, image, data_range=data_range))


def decibels(error: float) -> float:
    """Return a mean squared error, on a scale of 0..255, as a ratio to the square of white."""
    return 10 * math.log10(255**2 / error) if error > 0 else math.inf
