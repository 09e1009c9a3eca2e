"""Frames that show nothing, black or of one tone but for noise: they are no other scene, and lie nowhere."""

from collections.abc import Iterable

import numpy as np

from panfocus.stack import Frames, sampled_strips

_BLOCK = 8  # pixels of a side; noise hardly shows in the means of such blocks
_BLANK = 0.03  # of the largest contrast in the stack: a frame that is out of focus everywhere has more


def find_blank(frames: Frames, among: Iterable[int]) -> set[int]:
    """Return those of some frames that are blank beside the others of their stack."""
    contrasts = [_contrast(frames, k) for k in range(len(frames))]
    return {k for k in among if contrasts[k] <= _BLANK * max(contrasts)}


def _contrast(frames: Frames, k: int) -> float:
    """Return the spread of a frame's means over blocks."""
    means = []
    for strip in sampled_strips(frames, k):
        height, width = (length // _BLOCK for length in strip.shape[:2])
        whole = strip[: height * _BLOCK, : width * _BLOCK]
        blocks = whole.reshape(height, _BLOCK, width, _BLOCK, -1)
        means.append(blocks.mean(axis=(1, 3, 4), dtype=np.float64).ravel())
    return float(np.concatenate(means).std())
