"""Distances between frames, as people write them, and what depths are in them."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panfocus.errors import InputError

if TYPE_CHECKING:
    from panfocus.stack import Acquisition

_UNITS = {"um": "um", "µm": "um", "μm": "um", "mm": "mm"}  # the sign of micro has two codes


@dataclass(frozen=True)
class DepthScale:
    """How far it is from frame to frame; without a distance, depth counts frames."""

    step: float = 1.0
    unit: str = "frames"

    @classmethod
    def parse(cls, text: str) -> "DepthScale":
        """Return what a text such as 5um or 0.1mm says."""
        match = re.fullmatch(r"(\d{1,12}(?:\.\d*)?|\.\d+)\s*(\w+)", text.strip().lower())
        if not match or match[2] not in _UNITS or float(match[1]) == 0:
            raise InputError(f"--step {text}: needed is a distance with its unit, such as 5um or 0.1mm")
        return cls(float(match[1]), _UNITS[match[2]])

    @classmethod
    def of(cls, acquisition: "Acquisition | None") -> "DepthScale":
        """Return what a microscope's file says; frames, if it says nothing."""
        if acquisition and acquisition.step and acquisition.unit in _UNITS:
            return cls(acquisition.step, _UNITS[acquisition.unit])
        return cls()

    def level(self, n_frames: int) -> float:
        """Distance from one value of a 16-bit picture to the next; the last frame has the largest."""
        return (n_frames - 1) * self.step / 65535
