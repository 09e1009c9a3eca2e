"""Laplacian-of-Gaussian energy: choose the frame with most detail of one scale, as in depth from focus.

D. Marr and E. Hildreth, "Theory of edge detection", Proceedings of the Royal Society B 207 (1980) 187-217,
introduced the operator. S. Pertuz, D. Puig and M. A. Garcia, "Analysis of focus measure operators for
shape-from-focus", Pattern Recognition 46 (2013) 1415-1432, compare such energies as focus measures.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import correlate1d

from panfocus._checks import check_number
from panfocus._intensity import FloatArray
from panfocus.decide.focus_measure import ROUNDINGS
from panfocus.errors import InputError
from panfocus.methods._local_energy import LocalEnergyMethod, window_mean

TRUNCATE = 4  # standard deviations: beyond, the Gaussian is below 0.0004 of its peak
SCALES = (0.5, 20.0)  # px: smaller Gaussians are no longer sampled, larger ones see no focus


@dataclass(frozen=True, kw_only=True)
class LogEnergy(LocalEnergyMethod):
    """Take each pixel from the frame with most fine detail (Laplacian of Gaussian); simple, with depth."""

    scale: float = field(
        default=1.0,
        metadata={
            "help": "Standard deviation of the Gaussian in pixels, 0.5 to 20: the size of the detail that "
            "decides. Larger resists noise and phase rings. Default: 1."
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("scale", self.scale)
        if not SCALES[0] <= self.scale <= SCALES[1]:
            raise InputError(
                f"`scale` must be between {SCALES[0]:g} and {SCALES[1]:g} pixels, got {self.scale}.",
                setting="scale",
                got=self.scale,
            )

    @property
    def halo(self) -> int:
        """Reach of the Laplacian and the window together."""
        return super().halo + _radius(self.scale)

    def energy(self, gray: FloatArray) -> FloatArray:
        """Return the mean squared Laplacian of Gaussian in the window around each pixel."""
        return window_mean(laplacian_of_gaussian(gray, self.scale) ** 2, self.window)


def _radius(scale: float) -> int:
    return math.ceil(TRUNCATE * scale)


def laplacian_of_gaussian(gray: FloatArray, scale: float) -> FloatArray:
    """Return the Laplacian of Gaussian (h, w), mirrored at the borders; exactly 0 in flat areas."""
    places = np.arange(-_radius(scale), _radius(scale) + 1)
    smooth = np.exp(-0.5 * (places / scale) ** 2)
    smooth /= smooth.sum()
    second = (places**2 - scale**2) / scale**4 * smooth
    second -= second.sum() * smooth  # sampling and truncation leave a response to brightness
    plane = gray.astype(np.float64)
    laplacian = np.zeros_like(plane)
    for down, across in ((second, smooth), (smooth, second)):
        filtered = correlate1d(plane, down, axis=0, mode="reflect")
        laplacian += correlate1d(filtered, across, axis=1, mode="reflect")
    laplacian[np.abs(laplacian) <= ROUNDINGS * np.finfo(gray.dtype).eps * np.abs(plane)] = 0
    return laplacian
