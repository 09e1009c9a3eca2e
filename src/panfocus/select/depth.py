"""From the odds between neighbouring frames to a probability of every frame, and to depth."""

import numpy as np

from panfocus._float import FloatArray, IntArray


def probabilities(log_odds: FloatArray) -> FloatArray:
    """Probability (n, h, w) that a pixel is sharpest in each of n frames.

    `log_odds` (n - 1, h, w) say how much likelier each next frame is than the one before it. Going through
    the stack they add up, whatever lies between two frames: a place gets sharper until its own frame, then
    less sharp again.
    """
    from_first = np.zeros((len(log_odds) + 1, *log_odds.shape[1:]), np.float32)
    for k, odds in enumerate(log_odds):
        np.add(from_first[k], odds, out=from_first[k + 1])
    from_first -= from_first.max(axis=0)
    np.exp(from_first, out=from_first)
    total = from_first[0].copy()
    for likelihood in from_first[1:]:  # in a fixed order
        total += likelihood
    from_first /= total
    return from_first


def most_probable(chances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return from probabilities (n, h, w) the likeliest frame, the earlier one on a tie, and how likely."""
    labels = chances.argmax(axis=0)
    likely = np.take_along_axis(chances, labels[None], axis=0)[0]
    return labels.astype(np.uint8 if len(chances) <= 256 else np.uint16), likely


def mean_depth(chances: FloatArray) -> FloatArray:
    """Mean of the frame numbers under probabilities (n, h, w): depth, also between frames."""
    depth = np.zeros(chances.shape[1:], np.float32)
    for k, chance in enumerate(chances):
        depth += np.float32(k) * chance
    return depth
