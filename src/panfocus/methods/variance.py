"""Local variance: choose the frame with most contrast in a window.

S. Pertuz, D. Puig and M. A. Garcia, "Analysis of focus measure operators for shape-from-focus", Pattern
Recognition 46 (2013) 1415-1432, compare it with other focus measures.
"""

from dataclasses import dataclass

import numpy as np

from panfocus._intensity import FloatArray
from panfocus.methods._local_energy import LocalEnergyMethod, window_mean

# Variances below this many rounding errors of the mean square, for each pixel of the window's side, count as
# zero: both means are sums of sums of that many terms.
ROUNDINGS = 8


@dataclass(frozen=True, kw_only=True)
class Variance(LocalEnergyMethod):
    """Take each pixel from the frame with most contrast around it; simple, coarse at depth edges."""

    def energy(self, gray: FloatArray) -> FloatArray:
        """Return the variance in the window around each pixel."""
        return local_variance(gray, self.window)


def local_variance(gray: FloatArray, window: int) -> FloatArray:
    """Return the variance in the square around each pixel, mirrored at the borders; 0 in flat areas."""
    plane = gray.astype(np.float64)
    square = window_mean(plane**2, window)
    variance = square - window_mean(plane, window) ** 2
    variance[variance <= ROUNDINGS * window * np.finfo(np.float64).eps * square] = 0
    return variance
