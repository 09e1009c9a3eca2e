"""Per patch: how much each frame has to show there, and which frame wins."""

import numpy as np

from panfocus._float import FloatArray, IntArray
from panfocus.errors import InputError


def level_weights(w: float, n_levels: int) -> FloatArray:
    """Weights of the levels' l1 norms: w and 1 - w in Eq. (7), for more levels in equal steps between."""
    if not 0.5 <= w < 1:
        raise InputError(f"w must be at least 0.5 and below 1, got {w}")
    return np.linspace(w, 1 - w, n_levels, dtype=np.float32)


def weighted_activity(l1: FloatArray, weights: FloatArray) -> FloatArray:
    """Activity of patches (n,) from the l1 norms of their codes on each level (n_levels, n): Eq. (7)."""
    activity: FloatArray = weights[0] * l1[0]
    for weight, norm in zip(weights[1:], l1[1:], strict=True):  # one fixed order, whatever n is
        activity += weight * norm
    return activity


class RunningBest:
    """The frame of largest activity per place, over frames that come one by one: the argmax of Eq. (7).

    Holds one activity and one label for each place, however many frames there are. On a tie the earlier
    frame stays.
    """

    def __init__(self, n_places: int, n_frames: int) -> None:
        self.labels: IntArray = np.zeros(n_places, np.uint8 if n_frames <= 256 else np.uint16)
        self._activity: FloatArray = np.full(n_places, -np.inf, np.float32)

    def offer(self, frame: int, activity: FloatArray) -> None:
        """Let frame `frame` claim the places where it is more active than all before it."""
        better = activity > self._activity
        self.labels[better] = frame
        self._activity[better] = activity[better]
