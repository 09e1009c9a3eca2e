"""Q_NCIE: nonlinear correlation information entropy of the fused image and its sources."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._inputs import fusion_images
from panfocus.metrics._levels import LEVELS, entropy, joint_distribution, mutual_information


def qncie(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """General dependence among the fused image and all sources, by the eigenvalues of their correlations.

    The nonlinear correlation coefficient of two images is their mutual information to the base of 256, the
    number of levels. Those of all pairs of sources and fused image, with ones on the diagonal, make a matrix
    of n = K + 1 rows; from its eigenvalues r, Q_NCIE = 1 + sum of (r / n) log_256(r / n).

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
        From 1 - log_256(n), for images that have nothing in common (.802 with two sources), to at most 1.
        Larger is better. Constant images share nothing.

    Notes
    -----
    *What it rewards wrongly.* The likeness of the sources to each other, on which a fusion has no influence,
    counts as much as their likeness to the result. All fusions of a scene lie within a hundredth or so.
    Like every measure of information it favours copies of a source.

    *Variants in use.* Equal images do not reach 1 here, as their mutual information is their entropy, which
    is below 8 bits; with histograms of equally filled bins, as the authors define it, they do. Fusion
    papers use plain histograms, as here. The number of levels sets the scale: 256.

    References
    ----------
    Q. Wang, Y. Shen, J. Jin, "Performance evaluation of image fusion techniques", in: Image Fusion:
    Algorithms and Applications, Academic Press, 2008.
    """
    images, result = fusion_images(sources, fused, data_range)
    everything = [*images, result]
    n = len(everything)
    R = np.eye(n)
    for i, j in combinations(range(n), 2):
        shared = mutual_information(joint_distribution(everything[i], everything[j]))
        R[i, j] = R[j, i] = shared / np.log(LEVELS)
    return 1 - entropy(np.linalg.eigvalsh(R) / n) / float(np.log(LEVELS))
