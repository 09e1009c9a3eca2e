"""Frames with gains, corrected where they are read: no second stack is held."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.preprocess.tone_curve import Curve
from panfocus.stack import Frames, LazyFrames, colours


class CorrectedFrames(LazyFrames):
    """Frames whose channels are multiplied, one factor a frame and channel, as they are indexed.

    Whole numbers are rounded and end at white. A value that is white already may have been any light beyond
    it: it becomes what the reference frame has there, and as much more or less as the pixel's other channels
    have, but no less than white times the factor. So what is all white in both stays white.
    """

    def __init__(self, frames: Frames, gains: NDArray[np.float64], reference: int, curve: Curve) -> None:
        super().__init__(frames.shape, frames.dtype)
        self._frames = frames
        self._gains = gains  # (n, c) without alpha
        self._reference = reference
        self._curve = curve

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        frame, gains = np.asarray(self._frames[k, *place]), self._gains[k]
        if np.all(gains == 1):
            return frame
        given, corrected = colours(frame), frame.copy()
        working = np.float64 if self.dtype == np.float64 else np.float32
        white = working(self._curve.white)
        values = self._curve.multiplied(given, gains.astype(working))
        if self.dtype.kind == "u":
            np.minimum(np.rint(values, out=values), white, out=values)
        clipped = given == white
        if clipped.any():
            known = colours(np.asarray(self._frames[self._reference, *place])).astype(working)
            n_told = np.maximum(np.sum(~clipped, axis=2), 1).astype(working)
            sharper = np.sum(values - known, axis=2, where=~clipped) / n_told
            guess = known + sharper[..., None]
            if self.dtype.kind == "u":
                np.rint(guess, out=guess)
            values[clipped] = np.minimum(np.maximum(values, guess), white)[clipped]
        colours(corrected)[...] = values
        return corrected
