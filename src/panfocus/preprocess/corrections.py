"""Corrections of frames before fusion: repaired hot pixels and equalised exposure, applied on reading."""

from dataclasses import dataclass
from typing import Any

from panfocus._checks import check_choice
from panfocus.preprocess.exposure import Exposure, measure_exposure
from panfocus.preprocess.hot_pixels import HotPixels, find_hot_pixels
from panfocus.stack import Frames

HOT_PIXELS, EXPOSURE = ("auto", "on", "off"), ("auto", "off")


def check_corrections(hot_pixels: str, exposure: str) -> None:
    """Refuse unknown values of the two settings."""
    check_choice("hot_pixels", hot_pixels, HOT_PIXELS)
    check_choice("exposure", exposure, EXPOSURE)


@dataclass(frozen=True, eq=False)
class Corrections:
    """Measured corrections; None where they are switched off."""

    hot_pixels: HotPixels | None = None
    exposure: Exposure | None = None

    @classmethod
    def measure(cls, frames: Frames, *, hot_pixels: str = "off", exposure: str = "off") -> "Corrections":
        """Find hot pixels, then measure the exposure of the repaired frames."""
        found = find_hot_pixels(frames, in_pairs=hot_pixels == "on") if hot_pixels != "off" else None
        repaired = found.repair(frames) if found else frames
        return cls(found, measure_exposure(repaired) if exposure == "auto" else None)

    def of(self, frames: Frames) -> Frames:
        """Return the frames, corrected when they are read."""
        repaired = self.hot_pixels.repair(frames) if self.hot_pixels else frames
        return self.exposure.correct(repaired) if self.exposure else repaired

    def within(self, rows: slice, cols: slice) -> "Corrections":
        """Return the corrections of a rectangle."""
        return Corrections(self.hot_pixels and self.hot_pixels.within(rows, cols), self.exposure)

    def report(self) -> dict[str, Any]:
        """Return the corrections as plain data."""
        report: dict[str, Any] = {}
        if self.hot_pixels:
            report["hot_pixels"] = self.hot_pixels.report()
        if self.exposure:
            report["exposure"] = self.exposure.report()
        return report
