"""Focus measure: energy of the Laplacian around each pixel."""

import numpy as np
from scipy.ndimage import correlate, correlate1d

from panfocus._intensity import FloatArray

# The isotropic Laplacian and the window of Nejati, Samavi and Shirani (2015): 5 x 5 pixels of a Gaussian with
# a standard deviation of 5/6 px. The Laplacian is stored as whole numbers, times 6.
SIX_LAPLACIANS = np.array([[1, 4, 1], [4, -20, 4], [1, 4, 1]])
WINDOW = np.exp(-0.5 * (np.arange(-2, 3) / (5 / 6)) ** 2)
WINDOW /= WINDOW.sum()
REACH = 3  # px: radius of the Laplacian and the window together

# Mean energy of white noise with standard deviation 1.
NOISE_GAIN = float((SIX_LAPLACIANS**2).sum() / 36)

ROUNDINGS = 8  # Laplacians below this many rounding errors of the brightness count as zero


def laplacian_energy(image: FloatArray) -> FloatArray:
    """Return the mean squared Laplacian around every pixel of an image (h, w), in float64.

    The image is mirrored at its borders. In flat areas the energy is exactly zero.
    """
    plane = image.astype(np.float64)
    laplacian = correlate(plane, SIX_LAPLACIANS, mode="reflect") / 6
    laplacian[np.abs(laplacian) <= ROUNDINGS * np.finfo(image.dtype).eps * np.abs(plane)] = 0
    energy = laplacian**2
    for axis in (0, 1):
        energy = correlate1d(energy, WINDOW, axis=axis, mode="reflect")
    return np.asarray(energy)
