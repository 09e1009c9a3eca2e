"""From the odds between neighbouring frames to a probability of every frame, and to depth."""

import numpy as np

from panfocus._intensity import FloatArray, IntArray
from panfocus.decide._kernel_depth import add_up, find_depth, find_largest, make_sum_one


def probabilities(log_odds: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Probability (n, h, w) that a pixel is sharpest in each of n frames.

    `log_odds` (n - 1, h, w) say how much likelier each next frame is than the one before it. Going through
    the stack they add up, whatever lies between two frames: a place gets sharper until its own frame, then
    less sharp again. They may lie in `out[1:]`.
    """
    found = np.empty((len(log_odds) + 1, *log_odds.shape[1:]), np.float32) if out is None else out
    add_up(log_odds, found)
    np.exp(found, out=found)
    make_sum_one(found)
    return found


def most_probable(chances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return from probabilities (n, h, w) the likeliest frame, the earlier one on a tie, and how likely."""
    labels: IntArray = np.empty(chances.shape[1:], np.uint8 if len(chances) <= 256 else np.uint16)
    likely = np.empty(chances.shape[1:], chances.dtype)
    find_largest(chances, labels, likely)
    return labels, likely


def depth_between(labels: IntArray, log_odds: FloatArray, *, beyond: float) -> FloatArray:
    """Depth (h, w) in frames, also between them: where log odds (n - 1, h, w) change sign around the label.

    Odds between two frames belong halfway between them; from one to the next they are taken to be straight.
    Before the first frame and after the last one, a place is taken to lose sharpness with log odds `beyond`.
    """
    depth = np.empty(labels.shape, np.float32)
    find_depth(labels, log_odds, np.float32(beyond), depth)
    return depth
