"""Colour to the one plane that decisions are made on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntensityScale
from panfocus.decide._kernel_gray import weigh

LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601, on the gamma-coded values that cameras write


def to_gray(frame: NDArray[Any]) -> FloatArray:
    """Return a frame (h, w) or (h, w, c) as one plane (h, w) in unit range.

    One channel, or one with alpha (c = 2), is taken as it is; three, or three with alpha (c = 4), are
    weighed as luma; any other number of channels is averaged. Alpha has no say in what is sharp.
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
        weigh(frame, np.float32(scale.white), tuple(map(np.float32, LUMA)), luma)
        return luma
    if channels in (3, 4):
        red, green, blue = (unit(frame[..., i]) for i in range(3))
        return np.asarray(LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue)
    return np.asarray(unit(frame).mean(axis=2))
