"""A tile by itself, wherever that is: what to read for it, how to correct that, and the fusion."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.methods import FusionMethod, Region, Tile, within
from panfocus.preprocess import Exposure, HotPixels
from panfocus.result import FusionResult
from panfocus.stack import Frames


@dataclass(frozen=True, eq=False)
class Corrections:
    """What is done to frames before a method sees them; None where nothing was looked for."""

    hot_pixels: HotPixels | None = None
    exposure: Exposure | None = None

    def of(self, frames: Frames) -> Frames:
        """Return these frames corrected, part by part as they are asked for."""
        repaired = self.hot_pixels.repair(frames) if self.hot_pixels else frames
        return self.exposure.correct(repaired) if self.exposure else repaired

    def within(self, rows: slice, cols: slice) -> "Corrections":
        """Return those of a rectangle."""
        return Corrections(self.hot_pixels and self.hot_pixels.within(rows, cols), self.exposure)

    def report(self) -> dict[str, Any]:
        """Return what was found, as plain data."""
        report: dict[str, Any] = {}
        if self.hot_pixels:
            report["hot_pixels"] = {"fixed": self.hot_pixels.n_fixed, "single": self.hot_pixels.n_single}
        if self.exposure:
            report["exposure"] = self.exposure.report()
        return report


def read_for(tile: Tile) -> Region:
    """Return what has to be read for a tile: its outer part, and a pixel around it to repair that by."""
    rows, cols = (
        slice(max(0, span.start - 1), min(span.stop + 1, length))
        for span, length in zip(tile.outer, tile.shape, strict=True)
    )
    return rows, cols


def fuse_part(
    method: FusionMethod, pixels: NDArray[Any], tile: Tile, corrections: Corrections
) -> FusionResult:
    """Fuse a tile from pixels of all frames that were read for it; the corrections are those of that part."""
    outer = within(read_for(tile), tile.outer)
    return method.fuse(np.asarray(corrections.of(pixels)[:, *outer]), tile)
