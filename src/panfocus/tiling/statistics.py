"""Statistics of the maps of a result for the report, added up tile by tile."""

from typing import Any

import numpy as np

from panfocus._intensity import IntArray
from panfocus.result import FusionResult

CONFIDENCE_STEPS = 1 << 24  # confidence is summed in integer steps: the order does not matter


class Shares:
    """Share of the image taken from each frame, mean confidence, and share that is never in focus.

    Sums are exact, so the result does not depend on the tiles or their order.
    """

    def __init__(self, n_frames: int) -> None:
        self._frames: IntArray = np.zeros(n_frames, np.int64)
        self._confidence = 0
        self._never_in_focus = 0
        self._pixels = 0
        self._known: set[str] = set()

    def add(self, part: FusionResult) -> None:
        """Count the pixels of a tile."""
        self._pixels += part.image.shape[0] * part.image.shape[1]
        if part.labels is not None:
            self._known.add("frame_shares")
            self._frames += np.bincount(part.labels.ravel(), minlength=len(self._frames))
        if part.confidence is not None:
            self._known.add("mean_confidence")
            steps = np.rint(part.confidence * np.float32(CONFIDENCE_STEPS))
            self._confidence += int(steps.sum(dtype=np.int64))
        if part.never_in_focus is not None:
            self._known.add("never_in_focus_share")
            self._never_in_focus += int(np.count_nonzero(part.never_in_focus))

    def counts(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            "frames": self._frames.tolist(),
            "confidence": self._confidence,
            "never_in_focus": self._never_in_focus,
            "pixels": self._pixels,
            "known": sorted(self._known),
        }

    def add_counts(self, counted: dict[str, Any]) -> None:
        """Add counts of another process."""
        self._frames += np.array(counted["frames"], np.int64)
        self._confidence += counted["confidence"]
        self._never_in_focus += counted["never_in_focus"]
        self._pixels += counted["pixels"]
        self._known.update(counted["known"])

    def report(self) -> dict[str, Any]:
        """Return the statistics of the maps that the method provides."""
        shares = {
            "frame_shares": [round(int(count) / self._pixels, 6) for count in self._frames],
            "mean_confidence": round(self._confidence / CONFIDENCE_STEPS / self._pixels, 6),
            "never_in_focus_share": round(self._never_in_focus / self._pixels, 6),
        }
        return {name: share for name, share in shares.items() if name in self._known}
