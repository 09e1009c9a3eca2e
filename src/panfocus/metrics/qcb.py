"""Q_CB: preservation of visible contrast."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from panfocus.metrics._images import Grey, Plane, check_fusion, stretch_levels
from panfocus.metrics._windows import normalize_weights, zero_padded_filter

# Contrast sensitivity as a difference of two Gaussians of the frequency: widths, and weight of the second.
_WIDE, _NARROW, _SHARE = 15.387, 1.3456, 0.7622
_PIXELS_PER_DEGREE = 30
_FINE, _COARSE, _REACH = 2.0, 4.0, 15  # Gaussians of Peli's contrast, in pixels; windows of 31 x 31
_POWER, _MASKING = 3, 1e-4  # C' = C^3 / (C^2 + 1e-4)


def qcb(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the share of the sources' visible local contrast that the fused image preserves.

    After Chen and Blum. Each image is filtered by the eye's contrast sensitivity, exp(-(r / 15.387)^2) -
    0.7622 exp(-(r / 1.3456)^2). Along each axis r = 2 f n / 30, with f the frequency in cycles per pixel and
    n the image's side: cycles per image over 15 stand for cycles per degree. Peli's contrast is C = |x2 / x4
    - 1|, with x2 and x4 blurred by Gaussians of 2 and 4 pixels. Masking gives C' = C^3 / (C^2 + 1e-4).
    Preservation, per pixel and source, is the smaller C' of source and fused image over the larger. Sources
    are weighted by C'^2. Q_CB is the mean over all pixels. Arguments: see `panfocus.metrics`.

    *Range.* From 0 to 1, reached when all sources equal the fused image. Larger is better. Contrast counts as
    preserved where neither image has any, so that constant images score 1.

    *Details.* Each image is first stretched from its minimum and maximum to 0..255 and rounded half up. The
    Gaussians are 31 x 31 pixels with zeros outside the image. They are not normalised where the border or the
    window truncates them.

    *What it rewards wrongly.* Contrast is divided by the local mean, so that dark areas dominate: noise there
    has huge contrast. The stretch hides a loss of brightness or range, and one outlying pixel changes the
    whole value. Because r grows with the image's side, the same detail gets another sensitivity in a larger
    image, in a crop, or along the other axis. Do not compare values of images of different sizes.

    *Variants in use.* Two other sensitivity functions (Mannos and Sakrison, Daly) in the paper; the toolbox
    uses the difference of Gaussians, as here. Weights C'^2 follow the toolbox.

    References
    ----------
    Y. Chen, R. S. Blum, "A new automated quality assessment algorithm for image fusion", Image and Vision
    Computing 27(10), 2009.
    """
    images, result = check_fusion(sources, fused, data_range)
    in_fused = _visible_contrast(result)
    in_sources = np.stack([_visible_contrast(image) for image in images])
    larger = np.maximum(in_sources, in_fused)
    preserved = np.divide(
        np.minimum(in_sources, in_fused), larger, out=np.ones_like(larger), where=larger > 0
    )
    return float((normalize_weights(in_sources**2) * preserved).sum(axis=0).mean())


def _visible_contrast(image: Grey) -> Plane:
    seen = _filtered_by_sensitivity(stretch_levels(image).plane())
    fine, coarse = _blurred(seen, _FINE), _blurred(seen, _COARSE)
    contrast = np.abs(np.divide(fine, coarse, out=np.ones_like(fine), where=coarse != 0) - 1)
    return np.asarray(contrast**_POWER / (contrast ** (_POWER - 1) + _MASKING))


def _filtered_by_sensitivity(plane: Plane) -> Plane:
    height, width = plane.shape
    # Frequencies depend on the image size, as in the published values: size / 30 at 1/2 cycle per pixel.
    down, across = (2 * fft.fftfreq(n) * n / _PIXELS_PER_DEGREE for n in (height, width))
    r = np.hypot(down[:, None], across)
    sensitivity = np.exp(-((r / _WIDE) ** 2)) - _SHARE * np.exp(-((r / _NARROW) ** 2))
    return np.asarray(fft.ifft2(fft.fft2(plane) * sensitivity).real)


def _blurred(plane: Plane, sigma: float) -> Plane:
    offsets = np.arange(-_REACH, _REACH + 1)
    taps = np.exp(-(offsets**2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)
    return zero_padded_filter(plane, taps)
