"""Q^AB/F: how much of the sources' edges the fused image keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from panfocus.errors import InputError
from panfocus.metrics._bands import Band, total
from panfocus.metrics._inputs import Grey, Plane, fusion_images
from panfocus.metrics._kernel_numba import Sigmoid, edge_preservation, sobel_edges


@dataclass(frozen=True)
class _Variant:
    strength: Sigmoid
    orientation: Sigmoid
    folded: bool  # orientations that differ by pi are taken for equal
    per_pixel: bool  # the sources' weighted mean is formed in each pixel, and all pixels count alike


_VARIANTS = {
    "xydeas-petrovic": _Variant((0.9994, -15.0, 0.5), (0.9879, -22.0, 0.8), folded=False, per_pixel=False),
    "z-liu": _Variant((1.0, -10.0, 0.5), (1.0, -20.0, 0.75), folded=True, per_pixel=True),
}

# Stands for a gradient of zero, so that quotients exist; on 0..255.
_ZERO = 1e-5

# Smaller gradients are zero with rounding on top: the smallest true one is 1/257, of 16-bit images. Without
# this, rounding would choose the sign of a vertical orientation in float images.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class _Edges:
    strength: Plane
    orientation: Plane


def qabf(
    sources: Sequence[ArrayLike],
    fused: ArrayLike,
    *,
    data_range: float | None = None,
    variant: Literal["xydeas-petrovic", "z-liu"] = "xydeas-petrovic",
) -> float:
    """Edges of the sources that survive in the fused image, in strength and orientation.

    Q^AB/F = sum of w_s Q_s / sum of w_s, over all pixels of all sources s, after Xydeas and Petrovic. The
    weight w_s is the source's Sobel magnitude. Edges are kept to the degree
    Q_s = .9994 / (1 + exp(-15 (G - .5))) * .9879 / (1 + exp(-22 (A - .8))), where G is the smaller over the
    larger magnitude of source and fused image, and A is 1 less their difference in orientation over pi / 2.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.
    variant : {"xydeas-petrovic", "z-liu"}
        Which of two sets of constants in use; see below.

    Returns
    -------
    float
        From 0 to .9748, which is reached when all sources equal the fused image. Larger is better.

    Notes
    -----
    Sobel differences are taken with zeros outside the image, and border pixels count. An orientation is
    atan(gy / gx), with gx from left to right; a gx or a magnitude of 0 is replaced by 1e-5, on a scale of
    0..255. So a purely vertical gradient leans right, and a mirrored scene scores up to .002 more or less.

    *What it rewards wrongly.* Every edge of every source, blur edges, noise and halos included. Where one
    source is sharp, the weaker edges of the others count against a fusion that rightly leaves them out,
    so that none comes near the maximum. Smoothing the decision over a wide window raises it while the error
    against ground truth grows.

    *Variants in use.* "z-liu", of an older toolbox: sigmoids 1 / (1 + exp(-10 (G - .5))) and 1 / (1 +
    exp(-20 (A - .75))), orientations folded so that opposite ones are equal, and the mean over pixels of
    the sources' weighted mean. It is .003 to .09 lower on Lytro fusions; its maximum is .9867. A third code
    has other Sobel kernels. Never put two of them in one table. With more than two sources, the mean over
    their pairs is another number again.

    References
    ----------
    C. S. Xydeas, V. Petrovic, "Objective image fusion performance measure", Electronics Letters 36(4), 2000.
    """
    images, result = fusion_images(sources, fused, data_range)
    if variant not in _VARIANTS:
        raise InputError(f"there is no variant {variant!r} of qabf; known: {', '.join(_VARIANTS)}")
    chosen = _VARIANTS[variant]

    def kept_and_weight(band: Band) -> Plane:
        kept, weight = np.zeros((2, *result.pixels[band.inner].shape))
        fused_edges = _edges(result, band)
        for image in images:
            edges = _edges(image, band)
            kept += edges.strength * _preservation(edges, fused_edges, chosen)
            weight += edges.strength
        if chosen.per_pixel:
            return np.array([(kept / weight).sum(), weight.size])
        return np.array([kept.sum(), weight.sum()])

    kept, weight = total(kept_and_weight, result.shape, halo=1)
    return float(kept / weight)


def _edges(image: Grey, band: Band) -> _Edges:
    """Edges of a band's own rows, with zeros outside the image."""
    above = band.own.start
    below = band.rows.stop - band.inner.stop
    padded = np.pad(image.plane(band.rows), ((1 - above, 1 - below), (1, 1)))
    return _Edges(*sobel_edges(padded, _ROUNDING, _ZERO))


def _preservation(source: _Edges, fused: _Edges, variant: _Variant) -> Plane:
    kept: Plane = edge_preservation(
        source.strength, source.orientation, fused.strength, fused.orientation,
        variant.strength, variant.orientation, variant.folded,
    )  # fmt: skip
    return kept
