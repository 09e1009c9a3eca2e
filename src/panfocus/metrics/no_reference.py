"""Statistics of the fused image alone: AG, EI, EN, SD and SF.

They know neither sources nor reference, so noise and halos raise them.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from panfocus.metrics._images import UndefinedError, check_image, entropy, histogram
from panfocus.metrics._windows import squared_sobel


def ag(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the average gradient, the mean length of the gradient.

    AG = mean over all pixels of sqrt((dx^2 + dy^2) / 2), with forward differences on a scale of 0..255. The
    last row and column are repeated, so that the difference there is 0. Arguments: see `panfocus.metrics`.

    *Range.* From 0, for constant images, to 255. Larger counts as better.

    *What it rewards wrongly.* Noise, ringing and halos, like the spatial frequency, though large differences
    count less here.

    *Variants in use.* Leaving out the last row and column; central differences; no division by 2.

    References
    ----------
    G. Cui, H. Feng, Z. Xu, Q. Li, Y. Chen, "Detail preserved fusion of visible and infrared images using
    regional saliency extraction and multi-scale image decomposition", Optics Communications 341, 2015.
    """
    plane = check_image(fused, data_range).plane()
    dx = np.diff(plane, axis=1, append=plane[:, -1:])
    dy = np.diff(plane, axis=0, append=plane[-1:])
    return float(np.sqrt((dx * dx + dy * dy) / 2).mean())


def ei(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the edge intensity, the mean Sobel magnitude.

    EI = mean over all pixels of sqrt(gx^2 + gy^2), with Sobel differences (weights 1, 2, 1, not divided) on a
    scale of 0..255 and the border repeated. Arguments: see `panfocus.metrics`.

    *Range.* From 0, for constant images, to about 1140. Larger counts as better.

    *What it rewards wrongly.* Noise, halos and doubled edges.

    *Variants in use.* Zeros outside the border; kernels divided by 4 or 8.

    References
    ----------
    B. Rajalingam, R. Priya, "Hybrid multimodality medical image fusion technique for feature enhancement in
    medical diagnosis", International Journal of Engineering Science Invention 2, 2018.
    """
    return float(np.sqrt(squared_sobel(check_image(fused, data_range).plane())).mean())


def en(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the Shannon entropy of the histogram, in bits.

    EN = - sum over 256 levels i of p(i) log2 p(i). The data range is rounded half up to 0..255; values
    outside are clipped. Arguments: see `panfocus.metrics`.

    *Range.* From 0, for constant images, to 8. Larger counts as better.

    *What it rewards wrongly.* Noise, and any spread of the histogram. Positions do not count: shuffled pixels
    have the same entropy. A sharp image of a plain scene has little entropy, and rightly so.

    *Variants in use.* Natural logarithm; other numbers of levels.

    References
    ----------
    J. W. Roberts, J. van Aardt, F. Ahmed, "Assessment of image fusion procedures using entropy, image
    quality, and multispectral classification", Journal of Applied Remote Sensing 2(1), 2008.
    """
    return entropy(histogram(check_image(fused, data_range))) / math.log(2)


def sd(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the mean of the columns' standard deviations.

    SD = mean over columns j of sqrt(sum over rows i of (x_ij - m_j)^2 / (h - 1)), on a scale of 0..255.
    The customary scripts compute this, not the standard deviation of all pixels.
    Arguments: see `panfocus.metrics`.

    *Range.* From 0, for images with constant columns, to 127.5 sqrt(h / (h - 1)). Larger counts as better.
    Images need at least two rows.

    *What it rewards wrongly.* Contrast of any kind at any scale: stretching the histogram raises it, blur
    hardly lowers it. Horizontal gradients do not count at all, so that rotating the image by 90 degrees
    changes the value.

    *Variants in use.* The papers' formula is the standard deviation of all pixels. It is larger wherever
    the columns' means differ.

    References
    ----------
    Surveys of fusion cite Y.-J. Rao, "In-fibre Bragg grating sensors", Measurement Science and Technology
    8(4), 1997.
    """
    image = check_image(fused, data_range)
    if image.shape[0] < 2:
        raise UndefinedError("sd needs an image with at least two rows.", needed=2, got=image.shape[0])
    return float(image.plane().std(axis=0, ddof=1).mean())


def sf(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Return the spatial frequency, the root mean square difference of neighbouring pixels.

    SF = sqrt(RF^2 + CF^2). RF^2 and CF^2 are the sums of the squared differences of horizontal and of
    vertical neighbours, each divided by the number of pixels, on a scale of 0..255.
    Arguments: see `panfocus.metrics`.

    *Range.* From 0, for constant images, to 361 (a chessboard of pixels). Larger counts as better.

    *What it rewards wrongly.* Everything that varies fast: noise, ringing, halos, JPEG blocks. Sharpening
    any image raises it above the value of the true scene.

    *Variants in use.* Division by the number of differences instead of pixels; a version with diagonal
    differences (Zheng et al. 2007), which also relates it to the sources. In unit range it is 255 times
    smaller.

    References
    ----------
    A. M. Eskicioglu, P. S. Fisher, "Image quality measures and their performance", IEEE Transactions on
    Communications 43(12), 1995.
    """
    plane = check_image(fused, data_range).plane()
    squares = (np.square(np.diff(plane, axis=axis)).sum() for axis in (0, 1))
    return math.sqrt(float(sum(squares)) / plane.size)
