"""SSIM: structural similarity to a reference."""

from numpy.typing import ArrayLike

from panfocus.metrics._bands import Band, total
from panfocus.metrics._inputs import compared_images
from panfocus.metrics._windows import gaussian, under, valid_shape, windowed

_SIDE = 11
_TAPS = gaussian(_SIDE, 1.5)
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def ssim(reference: ArrayLike, image: ArrayLike, *, data_range: float | None = None) -> float:
    """Likeness of two images in luminance, contrast and structure, window by window.

    SSIM = mean over all windows of
    (2 m_x m_y + C1) (2 s_xy + C2) / ((m_x^2 + m_y^2 + C1) (s_x^2 + s_y^2 + C2)), with means m, variances
    s^2 and covariance s_xy under a Gaussian window of 11 x 11 pixels and standard deviation 1.5;
    C1 = (.01 L)^2, C2 = (.03 L)^2, L = 255.

    Parameters
    ----------
    reference : array (h, w)
        The grey image that counts as right: uint8, uint16, float32 or float64.
    image : array (h, w)
        The grey image that is measured, of the reference's size and type; at least 11 x 11 pixels.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From -1 to 1, which only equal images reach. Larger is better. Two constant images of levels x and
        y score (2 x y + C1) / (x^2 + y^2 + C1).

    Notes
    -----
    Only windows that lie within the image count, as in the authors' own code.

    *What it rewards wrongly.* Dark areas and flat ones, where C1 and C2 rule and every image is nearly
    alike; a scene with much plain background scores high under any method. Between a fused image and its
    sources it rewards the average: a source out of focus is most like a result that is out of focus too.

    *Variants in use.* A uniform window of 7 x 7 (scikit-image's default), sample covariance, padded
    borders, a first reduction of the image to about 256 pixels (the authors' advice for viewing distance), or
    other grey. scikit-image gives this value with gaussian_weights=True, sigma=1.5,
    use_sample_covariance=False and data_range=255. As a fusion metric some take the mean over the sources
    and some the sum; the multi-scale and the complex-wavelet SSIM are measures of their own.

    References
    ----------
    Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality assessment: from error visibility to
    structural similarity", IEEE Transactions on Image Processing 13(4), 2004.
    """
    truth, compared = compared_images(reference, image, data_range)
    valid = valid_shape(truth, _SIDE, "ssim")

    def similarity(band: Band) -> float:
        rows = under(band, _SIDE)
        x, y = truth.plane(rows), compared.plane(rows)
        mx, my, power, product = (windowed(p, _TAPS) for p in (x, y, x * x + y * y, x * y))
        mxy, squares = mx * my, mx * mx + my * my
        # The denominator needs the variances' sum only, so that one filter serves both.
        likeness = (2 * mxy + _C1) / (squares + _C1) * (2 * (product - mxy) + _C2) / (power - squares + _C2)
        return float(likeness.sum())

    return total(similarity, valid) / (valid[0] * valid[1])
