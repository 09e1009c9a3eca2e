"""Conversion of frames to one grey plane, on which most methods decide."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntensityScale
from panfocus._numba import compiled

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601, for the gamma-coded values that cameras write


def to_gray(frame: NDArray[Any]) -> FloatArray:
    """Return a frame (h, w) or (h, w, c) as one plane (h, w) in unit range.

    One or two channels: the first channel. Three or four channels: luma. More channels: their mean. Alpha
    (the second or fourth channel) is ignored.
    """
    scale = IntensityScale.of(frame.dtype)
    unit = scale.to_unit
    if frame.ndim == 2:
        return unit(frame)
    channels = frame.shape[2]
    if channels in (1, 2):
        return unit(frame[..., 0])
    if channels in (3, 4) and frame.dtype.kind == "u":
        luma: FloatArray = np.empty(frame.shape[:2], np.float32)
        _weigh(frame, np.float32(scale.white), tuple(map(np.float32, LUMA)), luma)
        return luma
    if channels in (3, 4):
        red, green, blue = (unit(frame[..., i]) for i in range(3))
        return np.asarray(LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue)
    return np.asarray(unit(frame).mean(axis=2))


@compiled()
def _weigh(frame: NDArray[Any], white: float, weights: tuple[float, ...], out: NDArray[Any]) -> None:
    """Compute the luma of an integer frame (h, w, c), without a float copy of its channels."""
    red, green, blue = weights
    for y in range(frame.shape[0]):
        for x in range(frame.shape[1]):
            out[y, x] = (
                red * (np.float32(frame[y, x, 0]) / white)
                + green * (np.float32(frame[y, x, 1]) / white)
                + blue * (np.float32(frame[y, x, 2]) / white)
            )
