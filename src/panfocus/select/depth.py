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


def depth_between(labels: IntArray, log_odds: FloatArray, *, beyond: float) -> FloatArray:
    """Depth (h, w) in frames, also between them: where log odds (n - 1, h, w) change sign around the label.

    Odds between two frames belong halfway between them; from one to the next they are taken to be straight.
    Before the first frame and after the last one, a place is taken to lose sharpness with log odds `beyond`.
    """
    here, last = labels.astype(np.intp), len(log_odds)

    def between(frame: IntArray) -> FloatArray:
        found: FloatArray = np.take_along_axis(log_odds, np.clip(frame, 0, last - 1)[None], axis=0)[0]
        return found

    rising = np.where(here > 0, between(here - 1), np.float32(beyond))
    falling = np.where(here < last, -between(here), np.float32(beyond))
    # A label is the likeliest frame: negative is only what rounding hid when it was found.
    np.maximum(rising, 0, out=rising)
    np.maximum(falling, 0, out=falling)
    total = rising + falling
    share = np.divide(rising, total, out=np.full_like(total, 0.5), where=total > 0)  # 0 / 0: nothing is known
    return np.asarray(np.clip(here + share - 0.5, 0, last), np.float32)
