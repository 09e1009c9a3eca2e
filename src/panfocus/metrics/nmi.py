"""NMI: normalised mutual information between the fused image and its sources."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from panfocus.metrics._inputs import Plane, fusion_images
from panfocus.metrics._levels import entropy, joint_distribution, mutual_information


def nmi(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Information that the fused image shares with its sources, each share normalised by the entropies.

    NMI = 2 * sum over sources s of I(s, F) / (H(s) + H(F)), as Hossny et al. corrected the older sum of
    mutual informations, in which a source of high entropy outweighs the others.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it. Values outside are clipped.

    Returns
    -------
    float
        From 0 to the number of sources, which is reached when all of them equal the fused image. Larger
        is better. Two images that are both constant share nothing: 0.

    Notes
    -----
    Entropies are those of joint histograms of 256 levels, the data range rounded half-up to 0..255.

    *What it rewards wrongly.* Copying: a fused image that is one of the sources, out of focus or not, takes 1
    from that source alone; on the 20 Lytro pairs the first frame scores 1.31 on average, more than good
    fusions do. Blending makes new levels and lowers it, also where that is nearer to the truth. Read
    it beside Q^AB/F, and beside ground truth where there is some.

    *Variants in use.* Some scripts first stretch every image from its own least and largest value to 0..255;
    for 8-bit images that only renames levels and gives the same value. For more than two sources papers
    also report the mean over sources or over pairs of sources; both are 2 / K times this sum.
    The normalised mutual information of image registration, (H(A) + H(F)) / H(A, F), is another measure.

    References
    ----------
    M. Hossny, S. Nahavandi, D. Creighton, "Comments on 'Information measure for performance of image
    fusion'", Electronics Letters 44(18), 2008.
    """
    images, result = fusion_images(sources, fused, data_range)
    return 2 * sum(_shared_information(joint_distribution(source, result)) for source in images)


def _shared_information(joint: Plane) -> float:
    """I(a, b) / (H(a) + H(b)); the logarithm's base cancels."""
    entropies = entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0))
    return mutual_information(joint) / entropies if entropies > 0 else 0.0
