"""Information that the fused image shares with its sources, from histograms: NMI, QNCIE and TE."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from panfocus._checks import check_choice
from panfocus.metrics._images import (
    LEVELS,
    Plane,
    check_fusion,
    entropy,
    joint_histogram,
    mutual_information,
    stretch_levels,
)

_Q = 1.85  # exponent of TE


def nmi(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the normalised mutual information of the fused image and its sources.

    NMI = 2 * sum over sources s of I(s, F) / (H(s) + H(F)), after Hossny et al. They corrected the
    older sum of mutual informations, in which a source of high entropy outweighs the others.
    Arguments: see `panfocus.metrics`.

    *Range.* From 0 to the number of sources, reached when all sources equal the fused image. Larger is
    better. Two constant images share no information: 0.

    *Details.* Entropies come from joint histograms of 256 levels; the data range is rounded half up to
    0..255.

    *What it rewards wrongly.* Copying: a copy of one source, in focus or not, gets 1 from that source alone.
    On the 20 Lytro pairs the first frame scores 1.31 on average, more than good fusions do. Blending makes
    new levels and lowers the value, even where it is closer to the truth. Read it together with Q^AB/F, and
    with ground truth where available.

    *Variants in use.* Some scripts first stretch every image from its minimum and maximum to 0..255; for
    8-bit images this only renames levels and gives the same value. For more than two sources papers
    also report the mean over sources or over pairs of sources; both are 2 / K times this sum.
    The normalised mutual information of image registration, (H(A) + H(F)) / H(A, F), is a different measure.

    References
    ----------
    M. Hossny, S. Nahavandi, D. Creighton, "Comments on 'Information measure for performance of image
    fusion'", Electronics Letters 44(18), 2008.
    """
    images, result = check_fusion(sources, fused, data_range)
    return 2 * sum(_shared_information(joint_histogram(source, result)) for source in images)


def _shared_information(joint: Plane) -> float:
    """Return I(a, b) / (H(a) + H(b)); the base of the logarithm cancels."""
    entropies = entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0))
    return mutual_information(joint) / entropies if entropies > 0 else 0.0


def qncie(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the general dependence among the fused image and all sources.

    The nonlinear correlation coefficient of two images is their mutual information to the base of 256, the
    number of levels. The coefficients of all pairs of images, with ones on the diagonal, form a matrix of
    n = K + 1 rows. From its eigenvalues r, Q_NCIE = 1 + sum of (r / n) log_256(r / n).
    Arguments: see `panfocus.metrics`.

    *Range.* From 1 - log_256(n), for unrelated images (0.802 with two sources), to at most 1. Larger is
    better. Constant images count as unrelated.

    *What it rewards wrongly.* The similarity of the sources to each other, which no fusion can influence,
    counts as much as their similarity to the result. All fusions of a scene lie within about 0.01. Like every
    information measure, it favours copies of a source.

    *Variants in use.* Equal images do not reach 1 here, because their mutual information is their entropy,
    which is below 8 bits. With histograms of equally filled bins, as the authors define it, they do. Fusion
    papers use plain histograms, as here. The number of levels sets the scale: 256.

    References
    ----------
    Q. Wang, Y. Shen, J. Jin, "Performance evaluation of image fusion techniques", in: Image Fusion:
    Algorithms and Applications, Academic Press, 2008.
    """
    images, result = check_fusion(sources, fused, data_range)
    everything = [*images, result]
    n = len(everything)
    R = np.eye(n)
    for i, j in combinations(range(n), 2):
        shared = mutual_information(joint_histogram(everything[i], everything[j]))
        R[i, j] = R[j, i] = shared / np.log(LEVELS)
    return 1 - entropy(np.linalg.eigvalsh(R) / n) / float(np.log(LEVELS))


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

    *Range.* From 0, for independent or constant images, to about 130 for each source that equals the fused
    image. Larger is better. For very different histograms of source and result, "z-liu" has no such bounds.

    *Details.* Each image is first stretched from its minimum and maximum to 0..255 and rounded half up. For
    "tsallis" this only renames the levels of 8-bit images; for "z-liu" it matters.

    *What it rewards wrongly.* Rare levels: one pixel with a unique level weighs as much as thousands of
    common ones, so that noise and single outliers change the value by several units. It grows with the image
    size and depends on the scene far more than on the fusion: compare only within a scene.

    *Variants in use.* The letter divides the sum by H_q(A) + H_q(B) - I_q(A, B), which is negative for
    ordinary photographs with this q; the toolbox omits the division.

    Parameters
    ----------
    sources, fused, data_range
        See `panfocus.metrics`.
    variant : {"z-liu", "tsallis"}
        "tsallis" is the definition above. "z-liu", the default, matches the customary toolbox to 1e-12. We
        infer from its values that it swaps the marginals, p_s(j) p_F(i), and leaves out pairs where one
        of them is 0.

    References
    ----------
    N. Cvejic, C. N. Canagarajah, D. R. Bull, "Image fusion metric based on mutual information and Tsallis
    entropy", Electronics Letters 42(11), 2006. Z. Liu et al., "Objective assessment of multiresolution image
    fusion algorithms for context enhancement in night vision: a comparative study", IEEE Transactions on
    Pattern Analysis and Machine Intelligence 34(1), 2012.
    """
    images, result = check_fusion(sources, fused, data_range)
    check_choice("variant", variant, ("z-liu", "tsallis"))
    fused_levels = stretch_levels(result)
    joints = [joint_histogram(stretch_levels(image), fused_levels) for image in images]
    return sum(_tsallis_information(joint, swapped=variant == "z-liu") for joint in joints)


def _tsallis_information(joint: Plane, *, swapped: bool) -> float:
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    if swapped:
        independent = independent.T
    occurs = (joint > 0) & (independent > 0)
    return float((joint[occurs] ** _Q / independent[occurs] ** (_Q - 1)).sum() - 1) / (_Q - 1)
