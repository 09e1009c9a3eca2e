"""Comparison of an image with a reference: MSE, PSNR, PSNR_RGB and SSIM."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus.metrics._images import UndefinedError, check_pair, sum_bands
from panfocus.metrics._windows import gaussian, sum_windows, window_means

# SSIM: window side in pixels, its taps, and the constants for a white of 255.
_SIDE = 11
_TAPS = gaussian(_SIDE, 1.5)
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def mse(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the mean squared difference of an image from a reference.

    MSE = mean over all pixels of (image - reference)^2, on a scale of 0..255 for every data type.
    Arguments: see `panfocus.metrics`.

    *Range.* From 0, for equal images, to 65025, for black against white. Smaller is better.

    *What it rewards wrongly.* Blur and blending: where the right pixel is uncertain, the mean of the
    candidates has the smallest expected error. A shift of the whole image by one pixel or one level costs
    more than a visible halo. Between the fused image and a source it does not measure quality: the
    out-of-focus source pulls the result towards itself.

    *Variants in use.* In unit range it is 65025 times smaller. Its root, in levels, is RMSE. Papers on
    fusion without ground truth report the mean over the sources.

    References
    ----------
    Z. Wang, A. C. Bovik, "Mean squared error: love it or leave it?", IEEE Signal Processing Magazine 26(1),
    2009.
    """
    truth, compared = check_pair(reference, image, data_range)

    def squared_error(rows: slice) -> float:
        return float(np.square(compared.plane(rows) - truth.plane(rows)).sum())

    return sum_bands(squared_error, truth.shape) / truth.pixels.size


def psnr(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the peak signal-to-noise ratio in decibels.

    PSNR = 10 log10(255^2 / MSE), with the mean squared error on a scale of 0..255.
    Arguments: see `panfocus.metrics`.

    *Range.* From 0 dB, for black against white, to infinity, for equal images. Larger is better.

    *What it rewards wrongly.* Blur and blending, like the mean squared error. It also exaggerates small
    errors: 60 and 70 dB look the same, and one almost perfect scene raises the mean of a table.

    *Variants in use.* Over the three colour channels together instead of grey: `psnr_rgb`. The mean over
    scenes of the ratio in decibels, as here, is not the ratio of the mean error.

    References
    ----------
    Q. Huynh-Thu, M. Ghanbari, "Scope of validity of PSNR in image/video quality assessment", Electronics
    Letters 44(13), 2008.
    """
    return _decibels(mse(reference, image, data_range=data_range))


def psnr_rgb(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the peak signal-to-noise ratio of red, green and blue together, in decibels.

    PSNR_RGB = 10 log10(255^2 / MSE), with the mean over all pixels of all three channels, on a scale of
    0..255. Channels are compared as stored: not linearised, weighted or converted to grey. Arguments: see
    `panfocus.metrics`, but in colour (h, w, 3). A fourth channel, alpha, is ignored.

    *Range.* From 0 dB, for black against white, to infinity, for equal images. Larger is better. Three equal
    channels have the PSNR of one of them.

    *What it rewards wrongly.* The same as PSNR. An error in blue, which the eye hardly sees, counts as much
    as one in green. Errors of colour alone, which grey does not show, count here: PSNR is mostly larger.

    *Variants in use.* The mean over the channels of the ratio in decibels, which is not the ratio of the
    mean error. The luma channel alone, which is nearly the grey value.

    References
    ----------
    Q. Huynh-Thu, M. Ghanbari, "Scope of validity of PSNR in image/video quality assessment", Electronics
    Letters 44(13), 2008.
    """
    truth, compared = _rgb_channels("the reference", reference), _rgb_channels("the image", image)
    errors = [mse(truth[..., i], compared[..., i], data_range=data_range) for i in range(3)]
    return _decibels(math.fsum(errors) / 3)


def ssim(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the similarity of two images in luminance, contrast and structure, averaged over windows.

    SSIM = mean over all windows of
    (2 m_x m_y + C1) (2 s_xy + C2) / ((m_x^2 + m_y^2 + C1) (s_x^2 + s_y^2 + C2)), with means m, variances
    s^2 and covariance s_xy under a Gaussian window of 11 x 11 pixels and standard deviation 1.5;
    C1 = (0.01 L)^2, C2 = (0.03 L)^2, L = 255. Arguments: see `panfocus.metrics`.

    *Range.* From -1 to 1, which only equal images reach. Larger is better. Two constant images of levels x
    and y score (2 x y + C1) / (x^2 + y^2 + C1). Images need at least 11 x 11 pixels.

    *Details.* Only windows inside the image count, as in the authors' code.

    *What it rewards wrongly.* Dark and flat areas, where C1 and C2 dominate and all images look alike: a
    scene with much plain background scores high with any method. Between a fused image and its sources it
    rewards the average: an out-of-focus source is most similar to an out-of-focus result.

    *Variants in use.* A uniform window of 7 x 7 (scikit-image's default), sample covariance, padded
    borders, a first reduction of the image to about 256 pixels (the authors' advice for viewing distance), or
    other grey. scikit-image gives this value with gaussian_weights=True, sigma=1.5,
    use_sample_covariance=False and data_range=255. As a fusion metric some papers take the mean over the
    sources and some the sum. Multi-scale and complex-wavelet SSIM are different measures.

    References
    ----------
    Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality assessment: from error visibility to
    structural similarity", IEEE Transactions on Image Processing 13(4), 2004.
    """
    truth, compared = check_pair(reference, image, data_range)

    def similarity(rows: slice) -> float:
        x, y = truth.plane(rows), compared.plane(rows)
        mx, my, power, product = (window_means(p, _TAPS) for p in (x, y, x * x + y * y, x * y))
        mxy, squares = mx * my, mx * mx + my * my
        # The denominator needs only the sum of the variances, so one filter is enough for both.
        local = (2 * mxy + _C1) / (squares + _C1) * (2 * (product - mxy) + _C2) / (power - squares + _C2)
        return float(local.sum())

    total, count = sum_windows(similarity, truth, _SIDE, "ssim")
    return total / count


def _decibels(error: float) -> float:
    """Return a mean squared error, on a scale of 0..255, as a ratio to the square of white."""
    return 10 * math.log10(255**2 / error) if error > 0 else math.inf


def _rgb_channels(name: str, image: ArrayLike) -> NDArray[Any]:
    """Return red, green and blue (h, w, 3)."""
    pixels = np.asarray(image)
    if pixels.shape[2:] not in ((3,), (4,)):
        raise UndefinedError(
            f"psnr_rgb needs colour images (h, w, 3), but {name} has shape {pixels.shape}.", got=pixels.shape
        )
    return pixels[..., :3]
