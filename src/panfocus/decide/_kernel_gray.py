"""Loop of the luma of whole-numbered colours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]


@compiled()
def weigh(frame: Array, white: float, weights: tuple[float, ...], out: Array) -> None:
    """Sum three channels of a frame (h, w, c), each divided by white and weighed, in their order."""
    red, green, blue = weights
    for y in range(frame.shape[0]):
        for x in range(frame.shape[1]):
            out[y, x] = (
                red * (np.float32(frame[y, x, 0]) / white)
                + green * (np.float32(frame[y, x, 1]) / white)
                + blue * (np.float32(frame[y, x, 2]) / white)
            )
