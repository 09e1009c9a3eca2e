"""SCD: sum of the correlations of differences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import Plane, UndefinedError, check_fusion
from panfocus.metrics._windows import FLAT


def scd(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the sum of the correlations of differences.

    SCD = r(F - B, A) + r(F - A, B), with Pearson's correlation r over all pixels: the difference
    of the fused image from one source should come from the other source. Arguments: see `panfocus.metrics`.

    *Range.* From -2 to 2. Larger is better. A correlation with a constant counts as 0, so that three equal
    images and all constant images score 0.

    *What it rewards wrongly.* Sums: F = A + B scores exactly 2 for uncorrelated sources, so artificial
    brightness and contrast raise it. It was designed for infrared and visible images, which complement each
    other. In focus stacks the sources show one scene, and the correct selection scores low.

    *Variants in use.* None known. SCD is not defined for more than two sources, which are an error.

    References
    ----------
    V. Aslantas, E. Bendes, "A new image quality metric for image fusion: the sum of the correlations of
    differences", AEU International Journal of Electronics and Communications 69(12), 2015.
    """
    images, result = check_fusion(sources, fused, data_range)
    if len(images) > 2:
        raise UndefinedError(f"scd needs exactly two sources, got {len(images)}.", needed=2, got=len(images))
    a, b, f = images[0].plane(), images[1].plane(), result.plane()
    return _correlation(f - b, a) + _correlation(f - a, b)


def _correlation(x: Plane, y: Plane) -> float:
    x, y = x - x.mean(), y - y.mean()
    var_x, var_y = np.square(x).mean(), np.square(y).mean()
    return float((x * y).mean() / np.sqrt(var_x * var_y)) if min(var_x, var_y) > FLAT else 0.0
