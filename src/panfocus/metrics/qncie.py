"""Q_NCIE: nonlinear correlation information entropy of the fused image and its sources."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import LEVELS, check_fusion, entropy, joint_histogram, mutual_information


def qncie(sources: Sequence[ArrayLike], fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the general dependence among the fused image and all sources.

    The nonlinear correlation coefficient of two images is their mutual information to the base of 256, the
    number of levels. The coefficients of all pairs of images, with ones on the diagonal, form a matrix of
    n = K + 1 rows. From its eigenvalues r, Q_NCIE = 1 + sum of (r / n) log_256(r / n).

    Parameters
    ----------
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    data_range : float, optional
        Value of white; black is 0. Default for integers: the type's maximum. Floats must give it.

    Returns
    -------
    float
        From 1 - log_256(n), for unrelated images (0.802 with two sources), to at most 1.
        Larger is better. Constant images count as unrelated.

    Notes
    -----
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
