"""Q^AB/F: preservation of the sources' edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from panfocus._checks import check_choice
from panfocus.metrics._images import Grey, Plane, check_fusion, sum_bands
from panfocus.metrics._kernel_numba import Sigmoid, edge_preservation, sobel_edges


@dataclass(frozen=True)
class _Variant:
    strength: Sigmoid
    orientation: Sigmoid
    folded: bool  # opposite orientations count as equal
    per_pixel: bool  # weighted mean over the sources in each pixel; all pixels have the same weight


_VARIANTS = {
    "xydeas-petrovic": _Variant((0.9994, -15.0, 0.5), (0.9879, -22.0, 0.8), folded=False, per_pixel=False),
    "z-liu": _Variant((1.0, -10.0, 0.5), (1.0, -20.0, 0.75), folded=True, per_pixel=True),
}

# Replaces a gradient of zero, to avoid division by zero; on 0..255.
_ZERO = 1e-5

# Smaller gradients are rounding errors of zero: the smallest true gradient is 1/257, in 16-bit images.
# Without this, rounding would decide the sign of a vertical orientation in float images.
_ROUNDING = 1e-3


def qabf(
    sources: Sequence[ArrayLike],
    fused: ArrayLike,
    *,
    data_range: float | None = None,
    variant: Literal["xydeas-petrovic", "z-liu"] = "xydeas-petrovic",
) -> float:
    """Return how well the fused image preserves the sources' edges, in strength and orientation.

    Q^AB/F = sum of w_s Q_s / sum of w_s, over all pixels of all sources s, after Xydeas and Petrovic. The
    weight w_s is the source's Sobel magnitude. The preservation of an edge is
    Q_s = 0.9994 / (1 + exp(-15 (G - 0.5))) * 0.9879 / (1 + exp(-22 (A - 0.8))). G is the smaller over the
    larger magnitude of source and fused image. A is 1 minus their difference in orientation over pi / 2.

    *Range.* From 0 to 0.9748, reached when all sources equal the fused image. Larger is better.

    *Details.* Sobel differences use zeros outside the image, and border pixels count. The orientation is
    atan(gy / gx), with gx from left to right; a gx or a magnitude of 0 is replaced by 1e-5, on a scale of
    0..255. Because of this, mirroring a scene changes its score by up to 0.002.

    *What it rewards wrongly.* Every edge of every source, including blurred edges, noise and halos. Where one
    source is sharp, the weaker edges of the others count against a fusion that rightly omits them, so that
    no fusion comes near the maximum. Smoothing the decision over a wide window raises the value although the
    error against ground truth grows.

    *Variants in use.* "z-liu", from an older toolbox: sigmoids 1 / (1 + exp(-10 (G - 0.5))) and
    1 / (1 + exp(-20 (A - 0.75))), opposite orientations equal, and the mean over pixels of the sources'
    weighted mean. It is 0.003 to 0.09 lower on Lytro fusions; its maximum is 0.9867. A third implementation
    uses other Sobel kernels. Never mix them in one table. With more than two sources, the mean over pairs of
    sources differs again.

    Parameters
    ----------
    sources, fused, data_range
        See `panfocus.metrics`.
    variant : {"xydeas-petrovic", "z-liu"}
        Which of two published sets of constants; see below.

    References
    ----------
    C. S. Xydeas, V. Petrovic, "Objective image fusion performance measure", Electronics Letters 36(4), 2000.
    """
    images, result = check_fusion(sources, fused, data_range)
    check_choice("variant", variant, tuple(_VARIANTS))
    chosen = _VARIANTS[variant]

    def kept_and_weight(rows: slice) -> Plane:
        kept, weight = np.zeros((2, *result.pixels[rows].shape))
        fused_edges = _edges(result, rows)
        for image in images:
            strength, orientation = _edges(image, rows)
            kept += strength * edge_preservation(
                strength, orientation, *fused_edges, chosen.strength, chosen.orientation, chosen.folded
            )
            weight += strength
        if chosen.per_pixel:
            return np.array([(kept / weight).sum(), weight.size])
        return np.array([kept.sum(), weight.sum()])

    kept, weight = sum_bands(kept_and_weight, result.shape)
    return float(kept / weight)


def _edges(image: Grey, rows: slice) -> tuple[Plane, Plane]:
    """Return strength and orientation of the edges in these rows, with zeros outside the image."""
    above, below = min(1, rows.start), min(1, image.shape[0] - rows.stop)  # neighbouring rows
    plane = image.plane(slice(rows.start - above, rows.stop + below))
    padded = np.pad(plane, ((1 - above, 1 - below), (1, 1)))
    edges: tuple[Plane, Plane] = sobel_edges(padded, _ROUNDING, _ZERO)
    return edges
