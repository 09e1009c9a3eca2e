"""Per patch: how much each frame has to show there, and which frame wins."""

import numpy as np

from panfocus._intensity import FloatArray, IntArray
from panfocus.errors import InputError

VOTE = 27720  # divided by 1 to 12 without rest: so many frames may tie and share the vote exactly


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


def vote_shares(activities: FloatArray) -> IntArray:
    """Give the vote of each place to its most active frame (n_frames, ...): the argmax of Eq. (7).

    A vote is VOTE units. Frames that tie share it evenly, so that their order does not matter.
    """
    tied = activities == activities.max(axis=0)
    share = -(-VOTE // tied.sum(axis=0, dtype=np.int32))  # rounded up: it never vanishes
    return np.where(tied, share, 0).astype(np.uint16)
