"""Local detail of slices, and the height at which it is."""

import numpy as np
from scipy.ndimage import gaussian_filter

from panfocus._intensity import FloatArray

EDGES = (1.0, 3.0)  # pixels: Gaussians whose difference is detail
SURROUNDINGS = 1.5  # pixels: standard deviation of the Gaussian that averages squared detail


def local_detail(image: FloatArray) -> FloatArray:
    """Return the local contrast of an image (h, w): root mean square of a difference of Gaussians."""
    fine, coarse = (gaussian_filter(image, edge, mode="wrap") for edge in EDGES)
    return np.sqrt(gaussian_filter((fine - coarse) ** 2, SURROUNDINGS, mode="wrap"))


def find_strongest(
    amounts: FloatArray, heights: FloatArray, reach: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean height of the strongest group of amounts (k, h, w), its sum, and its share of all.

    A group is what a Gaussian along the heights sees; `reach` is its standard deviation.
    """
    near = np.exp(-0.5 * (np.subtract.outer(heights, heights) / reach) ** 2)
    grouped = np.tensordot(near, amounts, 1)
    best = grouped.argmax(axis=0)[None]
    moment = np.tensordot(near * heights, amounts, 1)
    total = np.maximum(amounts.sum(axis=0), np.finfo(np.float32).tiny)
    strength = np.take_along_axis(grouped, best, axis=0)[0]
    mean = np.take_along_axis(moment, best, axis=0)[0] / np.maximum(strength, np.finfo(np.float32).tiny)
    return mean, strength, strength / total
