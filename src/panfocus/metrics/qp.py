"""Q_P: edges and corners of the sources that are found in the fused image, by phase congruency."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d

from panfocus.metrics._inputs import Plane, fusion_images
from panfocus.metrics._phase_congruency import phase_congruency
from panfocus.metrics._windows import gaussian

_THRESHOLD = 0.1  # of phase congruency: what is above counts as a feature
_C = 1e-4
_TAPS = gaussian(11, 1.5)


def qp(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Local correlation of the sources' features with those of the fused image, after Zhao and others.

    Three maps of each image are compared: its phase congruency P and the largest and the smallest moment of
    it over six directions, which tell edges and corners. Beside the sources stands their best, X: at each
    pixel all three maps of the source with the largest P. In a Gaussian window (11 x 11 pixels, standard
    deviation 1.5), the correlation of a map of source i with that of the fused image F is

        (cov(i, F) + C) / (sqrt(|var(i) var(F)|) + C),  C = 1e-4,

    where P_i > .1, and 0 elsewhere; the largest of all sources and of X counts. Its sum over all pixels by
    the number of pixels with P_X > .1 is one term for each map; Q_P is the product of the three.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        About 0 to 1. Larger is better. Equal images stay below 1 (.96 to .97 for photographs, .8 for
        noise), as the maps of the sources are set to 0 where they show no feature and those of the fused
        image are not. Where no source has a feature, as in constant images, there is none to lose: 1.

    Notes
    -----
    Phase congruency is Kovesi's of 1999: log-Gabor filters of 4 scales from 3 pixels wavelength, each 2.1
    times the last, and 6 directions. Outside the image, windows see zeros.

    *What it rewards wrongly.* Nothing at all: where the fused image has no feature, covariance and variance
    vanish and C / C = 1, so that a constant image scores nearly 1, better than any real fusion. Phase
    congruency does not depend on contrast: a feature that is faded, or noise that happens to be in step,
    counts like a strong edge. The largest of several correlations is taken, so that any one source will do.

    *Variants in use.* Later programs of Kovesi's estimate noise and spread otherwise, and the moments with
    another factor; ports of Q_P that build on them give other values, as do those that take images from 0
    to 1. For images with an odd side, one family of the scripts in use shifts a low-pass filter by one
    frequency, which moves Q_P by up to 4e-3 in small images. For more than two sources the definition
    extends as written above.

    References
    ----------
    J. Zhao, R. Laganiere, Z. Liu, "Performance assessment of combinative pixel-level image fusion based on an
    absolute feature measurement", International Journal of Innovative Computing, Information and Control
    3(6), 2007.
    """
    images, result = fusion_images(sources, fused, data_range)
    of_fused = phase_congruency(result.plane())
    of_sources = [phase_congruency(image.plane()) for image in images]
    best = of_sources[0]
    for other in of_sources[1:]:
        stays = best.overall > other.overall
        best = type(best)(*(np.where(stays, a, b) for a, b in zip(best, other, strict=True)))
    candidates = [*of_sources, best]
    features = [candidate.overall > _THRESHOLD for candidate in candidates]
    if not features[-1].any():
        return 1.0
    terms = [
        np.max([_correlation(*pair, of_fused[k]) for pair in zip(maps, features, strict=True)], axis=0).sum()
        / features[-1].sum()
        for k, maps in enumerate(zip(*candidates, strict=True))
    ]
    return float(np.prod(terms))


def _correlation(source: Plane, feature: NDArray[np.bool_], fused: Plane) -> Plane:
    x = np.where(feature, source, 0)
    mean_x, mean_y = _windowed(x), _windowed(fused)
    var_x, var_y = _windowed(x * x) - mean_x**2, _windowed(fused * fused) - mean_y**2
    cov = _windowed(x * fused) - mean_x * mean_y
    return np.where(feature, (cov + _C) / (np.sqrt(np.abs(var_x * var_y)) + _C), 0)


def _windowed(plane: Plane) -> Plane:
    for axis in (0, 1):
        plane = correlate1d(plane, _TAPS, axis=axis, mode="constant")
    return plane
