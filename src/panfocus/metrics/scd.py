"""SCD: sum of the correlations of differences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._inputs import Plane, UndefinedError, fusion_images
from panfocus.metrics._windows import FLAT


def scd(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Correlation of what each source added to the fused image with that source.

    SCD = r(F - B, A) + r(F - A, B), with Pearson's correlation r over all pixels: what the fused image has
    beyond one source should come from the other.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Exactly two grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From -2 to 2. Larger is better. A correlation with a constant counts as 0, so that three equal images,
        and all constant ones, score 0.

    Raises
    ------
    InputError
        If there are more than two sources: "what the other added" then has no meaning, and none is invented
        here.

    Notes
    -----
    *What it rewards wrongly.* Sums: F = A + B scores 2 exactly for uncorrelated sources, so brightness and
    contrast that no camera saw raise it. It was made for infrared and visible images, which add to each
    other; in focus stacks the sources are two views of one scene, and the correct selection scores low.

    *Variants in use.* None known for two sources.

    References
    ----------
    V. Aslantas, E. Bendes, "A new image quality metric for image fusion: the sum of the correlations of
    differences", AEU International Journal of Electronics and Communications 69(12), 2015.
    """
    images, result = fusion_images(sources, fused, data_range)
    if len(images) > 2:
        raise UndefinedError(f"scd is defined for two sources only, got {len(images)}; score pairs instead")
    a, b, f = images[0].plane(), images[1].plane(), result.plane()
    return _correlation(f - b, a) + _correlation(f - a, b)


def _correlation(x: Plane, y: Plane) -> float:
    x, y = x - x.mean(), y - y.mean()
    var_x, var_y = np.square(x).mean(), np.square(y).mean()
    return float((x * y).mean() / np.sqrt(var_x * var_y)) if min(var_x, var_y) > FLAT else 0.0
