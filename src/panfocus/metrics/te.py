"""TE: Tsallis mutual information of the fused image and its sources."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from panfocus.errors import InputError
from panfocus.metrics._images import Plane, check_fusion, joint_histogram, stretch_levels

_Q = 1.85
_VARIANTS = ("z-liu", "tsallis")


def te(
    sources: Sequence[ArrayLike],
    fused: ArrayLike,
    *,
    data_range: float | None = None,
    variant: Literal["z-liu", "tsallis"] = "z-liu",
) -> float:
    """Return the sum over the sources of their Tsallis mutual information with the fused image.

    I_q(s, F) = 1 / (1 - q) * (1 - sum of p(i, j)^q / (p_s(i) p_F(j))^(q - 1)) over all pairs of levels that
    occur, with q = 1.85.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        Value of white; black is 0. Default for integers: the type's maximum. Floats must give it.
    variant : {"z-liu", "tsallis"}
        "tsallis" is the definition above. "z-liu", the default, matches the customary toolbox to 1e-12. We
        infer from its values that it swaps the marginals, p_s(j) p_F(i), and leaves out pairs where one
        of them is 0.

    Returns
    -------
    float
        From 0, for independent or constant images, to about 130 for each source that equals the
        fused image. Larger is better. For very different histograms of source and result, "z-liu" has no
        such bounds.

    Notes
    -----
    Each image is first stretched from its minimum and maximum to 0..255 and rounded half up. For
    "tsallis" this only renames the levels of 8-bit images; for "z-liu" it matters.

    *What it rewards wrongly.* Rare levels: one pixel with a unique level weighs as much as thousands of
    common ones, so that noise and single outliers change the value by several units. It grows with the image
    size and depends on the scene far more than on the fusion: compare only within a scene.

    *Variants in use.* The letter divides the sum by H_q(A) + H_q(B) - I_q(A, B), which is negative for
    ordinary photographs with this q; the toolbox omits the division.

    References
    ----------
    N. Cvejic, C. N. Canagarajah, D. R. Bull, "Image fusion metric based on mutual information and Tsallis
    entropy", Electronics Letters 42(11), 2006. Z. Liu et al., "Objective assessment of multiresolution image
    fusion algorithms for context enhancement in night vision: a comparative study", IEEE Transactions on
    Pattern Analysis and Machine Intelligence 34(1), 2012.
    """
    images, result = check_fusion(sources, fused, data_range)
    if variant not in _VARIANTS:
        raise InputError(
            f"`variant` must be one of {', '.join(_VARIANTS)}, got {variant!r}.",
            setting="variant",
            got=variant,
        )
    fused_levels = stretch_levels(result)
    joints = [joint_histogram(stretch_levels(image), fused_levels) for image in images]
    return sum(_tsallis_information(joint, swapped=variant == "z-liu") for joint in joints)


def _tsallis_information(joint: Plane, *, swapped: bool) -> float:
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    if swapped:
        independent = independent.T
    occurs = (joint > 0) & (independent > 0)
    return float((joint[occurs] ** _Q / independent[occurs] ** (_Q - 1)).sum() - 1) / (_Q - 1)
