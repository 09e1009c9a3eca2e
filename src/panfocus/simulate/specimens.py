"""Bodies of microscopic specimens (cells, granules, fibres, sheets, shells) and volumes of slices.

A body is given by its thickness at each pixel and the height of its middle. Each slice of a volume gets the
part of the body within it. Places are in pixels (row, column), heights and thickness in micrometres.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from panfocus._intensity import FloatArray

FINEST = 2.0  # pixels: thinner threads are drawn with this width and less substance


@dataclass(frozen=True, eq=False)
class Body:
    """One body of a specimen.

    Attributes
    ----------
    corner : tuple of int
        Row and column of the upper left pixel of the maps in the specimen.
    thickness : ndarray (h, w)
        Thickness in micrometres, 0 outside the body.
    middle : float or ndarray (h, w)
        Height of the middle of the body in micrometres.
    density : float or ndarray (h, w)
        Factor of the amounts of substance.
    """

    corner: tuple[int, int]
    thickness: FloatArray
    middle: float | FloatArray
    density: float | FloatArray = 1.0


class Volume:
    """Amounts of substances in even slices of a specimen.

    Attributes
    ----------
    heights : ndarray (k,)
        Heights of the middles of the slices in micrometres.
    amounts : ndarray of float32 (k, h, w, n)
        Amounts of n substances.
    """

    def __init__(self, heights: FloatArray, shape: tuple[int, int], n_substances: int) -> None:
        self.heights = heights
        self.amounts = np.zeros((len(heights), *shape, n_substances), np.float32)

    def add(self, body: Body, per_micrometre: Sequence[float]) -> None:
        """Add a body with the given amounts of the substances per micrometre of thickness."""
        step = self.heights[1] - self.heights[0]
        low = body.middle - body.thickness / 2
        high = body.middle + body.thickness / 2
        (top, left), (height, width) = body.corner, body.thickness.shape
        for amounts, middle in zip(self.amounts, self.heights, strict=True):
            inside = np.minimum(high, middle + step / 2) - np.maximum(low, middle - step / 2)
            if (inside > 0).any():
                part = np.maximum(inside, 0) * body.density
                amounts[top : top + height, left : left + width] += part[..., None] * np.array(per_micrometre)


class Pencil:
    """Draw bodies on a grid of pixels; bodies are cut at its borders."""

    def __init__(self, shape: tuple[int, int], pixel: float, rng: np.random.Generator) -> None:
        self.shape, self.pixel, self.rng = shape, pixel, rng

    def cell(
        self,
        place: tuple[float, float],
        radius: float,
        height: float,
        thickness: float,
        *,
        flatness: float = 4.0,
        dip: float = 0.0,
        wobble: float = 0.03,
        texture: float = 0.0,
    ) -> Body:
        """Draw a round body with a wavy outline: a dome, or a disc with high `flatness`.

        `dip` is the share of the thickness that is missing at the centre, as in red blood cells. `texture` is
        the relative variation of the density, in spots of 1 to 2 pixels.
        """
        corner, down, right = self._window(place, 1.5 * radius)
        squares = self._outline(down, right, radius, wobble)
        profile = np.sqrt(np.clip(1 - squares ** (flatness / 2), 0, 1))
        profile *= 1 - dip * np.exp(-squares / 0.2)
        density = np.clip(1 + texture * self._spots(profile.shape, 1.4), 0, None) if texture else 1.0
        return Body(corner, thickness * profile, height, density)

    def granule(self, place: tuple[float, float], radius: float, height: float) -> Body:
        """Draw a ball with a radius in pixels."""
        corner, down, right = self._window(place, radius + 1)
        half = np.sqrt(np.clip(radius**2 - down**2 - right**2, 0, None))
        return Body(corner, 2 * self.pixel * half, height)

    def fibre(
        self,
        place: tuple[float, float],
        heading: float,
        length: float,
        width: float,
        height: float,
        *,
        slope: float = 0.0,
        bend: float = 0.0,
    ) -> Body:
        """Draw a round thread; length and width in pixels.

        Its ends are `slope` micrometres below and above its middle, and `bend` pixels to the side.
        """
        corner, down, right = self._window(place, length / 2 + abs(bend) + width)
        along = (down * np.sin(heading) + right * np.cos(heading)) / (length / 2)
        across = down * np.cos(heading) - right * np.sin(heading) - bend * along**2
        across = across / np.hypot(1, 4 * bend * along / length)
        drawn = max(width, FINEST)
        half = np.sqrt(np.clip((drawn / 2) ** 2 - across**2, 0, None))
        half *= np.clip((1 - np.abs(along)) * length / 2 + 0.5, 0, 1)
        middle = height + slope * np.clip(along, -1, 1)
        return Body(corner, 2 * self.pixel * half, middle, (width / drawn) ** 2)

    def sheet(
        self,
        place: tuple[float, float],
        radius: float,
        height: float,
        thickness: float,
        *,
        tilt: tuple[float, float] = (0.0, 0.0),
        waves: float = 0.0,
        folds: float = 0.0,
    ) -> Body:
        """Draw a thin sheet with irregular outline, as of a squamous cell.

        Its height changes by `tilt` micrometres per radius, down and to the right, and varies by `waves`.
        Along folds it is thicker by the factor 1 + `folds`.
        """
        corner, down, right = self._window(place, 1.8 * radius)
        squares = self._outline(down, right, radius, 0.1)
        inside = np.clip((1 - np.sqrt(squares)) * radius / 2, 0, 1)
        spots = self._spots(inside.shape, radius / 4)
        middle = height + (tilt[0] * down + tilt[1] * right) / radius + waves * spots
        ridges = np.exp(-((self._spots(inside.shape, radius / 7) / 0.06) ** 2))
        return Body(corner, thickness * inside * (1 + folds * ridges), middle)

    def shells(
        self,
        place: tuple[float, float],
        heading: float,
        size: tuple[float, float],
        height: float,
        thickness: float,
        *,
        period: float,
        distance: float,
    ) -> list[Body]:
        """Draw the two walls of a diatom, one above the other at a distance; size in pixels.

        The walls have stripes across with a period in pixels, a rim, and a plain line along the middle.
        """
        corner, down, right = self._window(place, size[0] + 3)
        along = (down * np.sin(heading) + right * np.cos(heading)) / size[0]
        across = (down * np.cos(heading) - right * np.sin(heading)) / size[1]
        squares = along**2 + across**2
        inside = np.clip((1 - np.sqrt(squares)) * size[1] / 1.5, 0, 1)
        rim = 1 + 1.2 * np.exp(-(((1 - np.sqrt(squares)) * size[1] / 1.5 - 1) ** 2))
        stripes = 1 + 0.7 * np.cos(2 * np.pi * along * size[0] / period + 0.6 * np.abs(across))
        stripes = np.where(np.abs(across) * size[1] < 1.5, 1.6, stripes)
        wall = thickness * inside * rim * stripes
        return [Body(corner, wall, height + side * distance / 2) for side in (-1, 1)]

    def _window(
        self, place: tuple[float, float], reach: float
    ) -> tuple[tuple[int, int], FloatArray, FloatArray]:
        """Return the corner of the window around a place, and the distances down and right of its pixels."""
        low = [min(max(0, int(at - reach)), size - 1) for at, size in zip(place, self.shape, strict=True)]
        down, right = np.mgrid[
            tuple(
                slice(first, max(first + 1, int(at + reach) + 2))
                for first, at in zip(low, place, strict=True)
            )
        ].astype(np.float64)
        down, right = (a[: self.shape[0] - low[0], : self.shape[1] - low[1]] for a in (down, right))
        return (low[0], low[1]), down - place[0], right - place[1]

    def _outline(self, down: FloatArray, right: FloatArray, radius: float, wobble: float) -> FloatArray:
        """Return squared distances from the centre; the outline is at 1."""
        angle, rim = np.arctan2(down, right), np.ones_like(down)
        for k in range(2, 7):
            rim += (
                wobble
                * self.rng.normal()
                / np.sqrt(k - 1)
                * np.cos(k * angle + self.rng.uniform(0, 2 * np.pi))
            )
        return (down**2 + right**2) / (radius * np.maximum(rim, 0.3)) ** 2

    def _spots(self, shape: tuple[int, ...], sigma: float) -> NDArray[np.float64]:
        """Return smooth noise of standard deviation 1."""
        spots = gaussian_filter(self.rng.normal(size=shape), sigma, mode="wrap")
        return spots / max(float(spots.std()), 1e-12)
