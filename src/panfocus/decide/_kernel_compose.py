"""Loop of composing: whole votes of the frames for each pixel, counted exactly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]


@compiled()
def average_by_votes(frames: Array, votes: Array, out: Array) -> None:
    """Mean of whole-numbered frames (n, h, w, c), weighted by votes (n, h, w), rounded half up.

    Doubles hold the sums exactly: 16 bits of a pixel, and far fewer votes than 2^36. A quotient that is not
    whole is far enough from the next whole number to stay below it.
    """
    n_frames, height, width, n = frames.shape
    weighted = np.empty((width, n), np.float64)
    total = np.empty(width, np.float64)
    for y in range(height):
        weighted[:] = 0
        total[:] = 0
        for k in range(n_frames):
            for x in range(width):
                vote = np.float64(votes[k, y, x])
                total[x] += vote
                for i in range(n):
                    weighted[x, i] += vote * frames[k, y, x, i]
        for x in range(width):
            for i in range(n):
                out[y, x, i] = np.floor((2 * weighted[x, i] + total[x]) / (2 * total[x]))
