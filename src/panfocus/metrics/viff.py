"""VIFF: visual information fidelity of a fusion."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._inputs import Plane, fusion_images
from panfocus.metrics._windows import gaussian, statistics, valid_shape, windowed

_WINDOWS = (17, 9, 5, 3)  # sides at the four scales; the standard deviation is a fifth
_WEIGHTS = (1 / 2.15, 0.0, 0.15 / 2.15, 1 / 2.15)
_NOISE = 0.005 * 255**2  # variance of the eye's own noise
_FLOOR = 1e-7  # added to the information of every window: without information, all of it is kept
_SMALL = 1e-10  # variances below are rounding
_SIDE = 41  # the smallest image that leaves a window at the coarsest scale


def viff(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Information about the sources that reaches an eye through the fused image, after Han et al.

    In each window of each scale the fused image is modelled as the source times a gain g plus distortion of
    variance v: g = cov(s, F) / var(s), v = var(F) - g cov(s, F). With the eye's noise n = .005 * 255^2, the
    information kept is log(1 + g^2 var(s) / (v + n)), of log(1 + var(s) / n) in the source. Each window is
    judged by the source with the smallest gain. Per scale, kept information is summed and divided by that of
    the sources; VIFF is the mean of the scales with weights (1, 0, .15, 1) / 2.15.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image, at least 41 x 41 pixels.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From 0; 1 when all sources equal the fused image, more when it has more contrast than they have.
        Larger is better. Constant images: 1, as there is nothing to lose.

    Notes
    -----
    Windows are Gaussian, of sides 17, 9, 5 and 3 and standard deviations of a fifth of them. From scale to
    scale the images are filtered by the next window and every second pixel is kept. Only windows
    within the image count. Sources of equal gain share a window. For more than two sources the smallest gain
    of all decides.

    *What it rewards wrongly.* Contrast beyond the sources', as from sharpening: values above 1 are not
    better than perfect. The smallest gain usually belongs to the source out of focus or to that with the
    least in common, so that each window is judged by the source that the fusion did not choose.

    *Variants in use.* Han et al. choose weights by colour space; these are the ones of their code for
    luminance. Logarithms of any base give the same value but for the floor of 1e-7, which is
    added to decimal logarithms.

    References
    ----------
    Y. Han, Y. Cai, Y. Cao, X. Xu, "A new image fusion performance metric based on visual information
    fidelity", Information Fusion 14(2), 2013.
    """
    images, result = fusion_images(sources, fused, data_range)
    valid_shape(result, _SIDE, "viff")
    planes, fused_plane = [image.plane() for image in images], result.plane()
    value = 0.0
    for scale, (side, weight) in enumerate(zip(_WINDOWS, _WEIGHTS, strict=True)):
        taps = gaussian(side, side / 5)
        if scale > 0:
            *planes, fused_plane = (windowed(p, taps)[::2, ::2] for p in (*planes, fused_plane))
        if weight > 0:
            value += weight * _fidelity(planes, fused_plane, taps)
    return value


def _fidelity(planes: Sequence[Plane], fused: Plane, taps: Plane) -> float:
    """Kept over available information at one scale."""
    gains, kept, available = map(
        np.stack, zip(*(_information(plane, fused, taps) for plane in planes), strict=True)
    )
    weakest = gains == gains.min(axis=0)
    judge = weakest / weakest.sum(axis=0)
    count = judge[0].size
    return float(((judge * kept).sum() + count * _FLOOR) / ((judge * available).sum() + count * _FLOOR))


def _information(source: Plane, fused: Plane, taps: Plane) -> tuple[Plane, Plane, Plane]:
    """Gain, information kept and information available, window by window."""
    s = statistics(source, fused, taps, flat=_SMALL)
    # A window that is constant in either image, or inverted, passes on nothing: all of F is distortion.
    gain = np.maximum(s.cov / (s.var_x + _SMALL), 0)
    distortion = np.maximum(s.var_y - gain * s.cov, _SMALL)
    return gain, np.log10(1 + gain**2 * s.var_x / (distortion + _NOISE)), np.log10(1 + s.var_x / _NOISE)
