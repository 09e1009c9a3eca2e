"""Per pixel: what the votes of the patches over it add up to."""

import numpy as np

from panfocus._float import FloatArray, IntArray


def majority(votes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return from votes (n_frames, h, w) the frame with most of them and its share of all, 1 if unanimous.

    On a tie the earlier frame wins.
    """
    labels = votes.argmax(axis=0)
    most = np.take_along_axis(votes, labels[None], axis=0)[0]
    share = most.astype(np.float32) / votes.sum(axis=0, dtype=np.float32)
    return labels.astype(np.uint8 if len(votes) <= 256 else np.uint16), share
