"""NMI: normalised mutual information between the fused image and its sources."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from panfocus.metrics._images import Plane, check_fusion, entropy, joint_histogram, mutual_information


def nmi(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the normalised mutual information of the fused image and its sources.

    NMI = 2 * sum over sources s of I(s, F) / (H(s) + H(F)), after Hossny et al. They corrected the
    older sum of mutual informations, in which a source of high entropy outweighs the others.

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        Value of white; black is 0. Default for integers: the type's maximum. Floats must give it.
        Values outside are clipped.

    Returns
    -------
    float
        From 0 to the number of sources, reached when all sources equal the fused image. Larger is better.
        Two constant images share no information: 0.

    Notes
    -----
    Entropies come from joint histograms of 256 levels; the data range is rounded half up to 0..255.

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
