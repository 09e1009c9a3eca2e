"""Base class of methods that take each pixel from the frame with the largest energy in a window around it."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d

from panfocus._checks import check_integer
from panfocus._intensity import FloatArray, IntArray
from panfocus._numba import compiled
from panfocus.decide.compose import by_labels
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import most_probable
from panfocus.errors import InputError
from panfocus.methods._method import FusionMethod
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult

MAX_WINDOW = 255  # px: a wider window mostly measures other objects
TINY = float(np.finfo(np.float32).tiny)  # stands for zero, whose logarithm is infinite


@dataclass(frozen=True, kw_only=True)
class LocalEnergyMethod(FusionMethod):
    """Copy each pixel from the frame with most energy in grey; on a tie, from the earlier frame.

    Confidence is the share of the chosen frame in the energies of all frames; flat areas have 1/n. Depth is
    the vertex of a parabola through the logarithms of the energies of the chosen frame and its neighbours.
    """

    maps: ClassVar[tuple[str, ...]] = ("labels", "confidence", "depth")

    window: int = field(
        default=9,
        metadata={
            "help": "Side in pixels of the square in which detail is measured, odd, 3 to 255; larger "
            "resists noise, smaller follows depth edges. Default: 9."
        },
    )

    def __post_init__(self) -> None:
        check_integer("window", self.window, at_least=3, at_most=MAX_WINDOW)
        if self.window % 2 == 0:
            raise InputError(f"`window` must be odd, got {self.window}.", setting="window", got=self.window)

    @abstractmethod
    def energy(self, gray: FloatArray) -> FloatArray:
        """Return the energy at each pixel of a grey frame (h, w), 0 or more; 0 in flat areas."""

    @property
    def halo(self) -> int:
        """Radius of the window."""
        return self.window // 2

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the bytes of the energies, copied once, and of the planes that measure one frame."""
        return (80 + n_channels + 8 * n_frames) * tile.pixels

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile."""
        energies = np.stack([self.energy(to_gray(frame))[tile.core].astype(np.float32) for frame in frames])
        np.maximum(energies, TINY, out=energies)  # flat areas then have equal shares
        energies /= energies.sum(axis=0)
        labels, confidence = most_probable(energies)
        image = by_labels(frames[:, *tile.core], labels)
        return FusionResult(image, labels, confidence, peak_depth(labels, energies))


def window_mean(plane: FloatArray, window: int) -> FloatArray:
    """Return the mean of the square around each pixel, mirrored at the borders; sums have a fixed order."""
    box = np.ones(window)
    sums = correlate1d(correlate1d(plane, box, axis=0, mode="reflect"), box, axis=1, mode="reflect")
    return np.asarray(sums / window**2)


def peak_depth(labels: IntArray, energies: FloatArray) -> FloatArray:
    """Return the depth (h, w) of the largest energy (n, h, w), which the labels name, interpolated.

    A parabola is fitted to the logarithms of three energies, which is exact for a Gaussian focus curve. At
    the first and last frame, depth is the label.
    """
    depth = np.empty(labels.shape, np.float32)
    _fit_parabolas(labels, energies, depth)
    return depth


@compiled()
def _fit_parabolas(labels: NDArray[Any], energies: NDArray[Any], depth: NDArray[Any]) -> None:
    n, height, width = energies.shape
    for y in range(height):
        for x in range(width):
            label = int(labels[y, x])
            offset = 0.0
            if 0 < label < n - 1:
                here = max(np.float64(energies[label, y, x]), TINY)
                before = math.log(max(np.float64(energies[label - 1, y, x]), TINY) / here)  # not positive
                after = math.log(max(np.float64(energies[label + 1, y, x]), TINY) / here)
                if before + after < 0:
                    offset = 0.5 * (before - after) / (before + after)
            depth[y, x] = label + offset
