"""VIFF: visual information fidelity of a fusion."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import Plane, check_fusion
from panfocus.metrics._windows import check_size, gaussian, window_means, window_statistics

_WINDOWS = (17, 9, 5, 3)  # sides at the four scales; the standard deviation is a fifth of the side
_WEIGHTS = (1 / 2.15, 0.0, 0.15 / 2.15, 1 / 2.15)
_NOISE = 0.005 * 255**2  # variance of the noise of the eye
_FLOOR = 1e-7  # added to the information of every window, so that 0 of 0 gives 1
_SMALL = 1e-10  # smaller variances are rounding errors
_SIDE = 41  # smallest image that has a window at the coarsest scale


def viff(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the visual information about the sources that the fused image preserves.

    After Han et al. In each window of each scale the fused image is modelled as the source times a gain g
    plus distortion of variance v: g = cov(s, F) / var(s), v = var(F) - g cov(s, F). With the noise of the eye
    n = 0.005 * 255^2, the source has the information log(1 + var(s) / n), and the fused image preserves
    log(1 + g^2 var(s) / (v + n)). Each window uses the source with the smallest gain. Per scale, the sum of
    preserved information is divided by the sum in the sources. VIFF is the mean of the scales with weights
    (1, 0, 0.15, 1) / 2.15. Arguments: see `panfocus.metrics`.

    *Range.* From 0; 1 when all sources equal the fused image, above 1 when its contrast exceeds theirs.
    Larger is better. Constant images score 1. Images need at least 41 x 41 pixels.

    *Details.* Windows are Gaussian, with sides 17, 9, 5 and 3 and standard deviations of a fifth of the side.
    Between scales the images are filtered by the next window and downsampled by 2. Only windows inside the
    image count. Sources of equal gain share a window. For more than two sources the smallest gain decides.

    *What it rewards wrongly.* Excess contrast, for example from sharpening: values above 1 are not better
    than perfect. The smallest gain usually belongs to the out-of-focus or least similar source, so that each
    window is judged by the source that the fusion did not choose.

    *Variants in use.* Han et al. choose weights by colour space; these are the luminance weights of their
    code. The base of the logarithm cancels, except for the constant 1e-7, which is added to decimal
    logarithms.

    References
    ----------
    Y. Han, Y. Cai, Y. Cao, X. Xu, "A new image fusion performance metric based on visual information
    fidelity", Information Fusion 14(2), 2013.
    """
    images, result = check_fusion(sources, fused, data_range)
    check_size(result, _SIDE, "viff")
    planes, fused_plane = [image.plane() for image in images], result.plane()
    value = 0.0
    for scale, (side, weight) in enumerate(zip(_WINDOWS, _WEIGHTS, strict=True)):
        taps = gaussian(side, side / 5)
        if scale > 0:
            *planes, fused_plane = (window_means(p, taps)[::2, ::2] for p in (*planes, fused_plane))
        if weight > 0:
            value += weight * _fidelity(planes, fused_plane, taps)
    return value


def _fidelity(planes: Sequence[Plane], fused: Plane, taps: Plane) -> float:
    """Return preserved over available information at one scale."""
    gains, preserved, available = map(
        np.stack, zip(*(_information(plane, fused, taps) for plane in planes), strict=True)
    )
    weakest = gains == gains.min(axis=0)
    judge = weakest / weakest.sum(axis=0)
    count = judge[0].size
    return float(((judge * preserved).sum() + count * _FLOOR) / ((judge * available).sum() + count * _FLOOR))


def _information(source: Plane, fused: Plane, taps: Plane) -> tuple[Plane, Plane, Plane]:
    """Return gain, preserved and available information of each window."""
    s = window_statistics(source, fused, taps, flat=_SMALL)
    # A window that is constant in either image, or inverted, preserves nothing: all of F is distortion.
    gain = np.maximum(s.cov / (s.var_x + _SMALL), 0)
    distortion = np.maximum(s.var_y - gain * s.cov, _SMALL)
    return gain, np.log10(1 + gain**2 * s.var_x / (distortion + _NOISE)), np.log10(1 + s.var_x / _NOISE)
