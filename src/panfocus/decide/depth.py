"""Depth between frames, interpolated from the log odds of neighbouring frames."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._numba import compiled


def interpolate_depth(labels: IntArray, log_odds: FloatArray, *, beyond: float) -> FloatArray:
    """Return the depth (h, w) in frames: where log odds (n - 1, h, w) change sign around the label.

    Log odds of two frames apply halfway between them, and are interpolated linearly. Outside the stack they
    are assumed to be `beyond`: each pixel loses sharpness before the first and after the last frame.
    """
    depth = np.empty(labels.shape, np.float32)
    _find_sign_change(labels, log_odds, np.float32(beyond), depth)
    return depth


@compiled()
def _find_sign_change(
    labels: NDArray[Any], log_odds: NDArray[Any], beyond: float, depth: NDArray[Any]
) -> None:
    last, height, width = log_odds.shape
    for y in range(height):
        for x in range(width):
            label = int(labels[y, x])
            # The label is the likeliest frame: only rounding can make these negative.
            rising = max(log_odds[label - 1, y, x] if label > 0 else beyond, np.float32(0))
            falling = max(-log_odds[label, y, x] if label < last else beyond, np.float32(0))
            total = rising + falling
            share = rising / total if total > 0 else np.float32(0.5)  # no evidence: stay at the label
            depth[y, x] = min(max(label + share - 0.5, 0), last)
