"""Loops from log odds to probabilities, labels and depth; frames one after the other, in a fixed order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

# Logarithm of what beside one is lost in rounding. In a long stack most frames are far below it, and numbers
# that are nearly too small to be told from 0 take a hundred times as long to work with.
NEGLIGIBLE = np.float32(-30)


@compiled()
def add_up(log_odds: Array, out: Array) -> None:
    """Sum log odds (n - 1, h, w) through a stack: out (n, h, w), 0 at the likeliest frame, less at others.

    What is negligible is minus infinity. The odds may lie in `out[1:]`.
    """
    n, height, width = out.shape
    largest = np.empty(width, out.dtype)
    for y in range(height):
        out[0, y] = 0
        largest[:] = 0
        for k in range(1, n):
            before, here, odds = out[k - 1, y], out[k, y], log_odds[k - 1, y]
            for x in range(width):
                here[x] = before[x] + odds[x]
                largest[x] = max(largest[x], here[x])
        for k in range(n):
            here = out[k, y]
            for x in range(width):
                below = here[x] - largest[x]
                here[x] = below if below > NEGLIGIBLE else np.float32(-np.inf)


@compiled()
def make_sum_one(likelihoods: Array) -> None:
    """Divide likelihoods (n, h, w) by their sum over the frames."""
    n, height, width = likelihoods.shape
    total = np.empty(width, likelihoods.dtype)
    for y in range(height):
        total[:] = 0
        for k in range(n):
            here = likelihoods[k, y]
            for x in range(width):
                total[x] += here[x]
        for k in range(n):
            here = likelihoods[k, y]
            for x in range(width):
                here[x] /= total[x]


@compiled()
def find_largest(chances: Array, labels: Array, largest: Array) -> None:
    """Find for each pixel the first of the largest of (n, h, w) values."""
    n, height, width = chances.shape
    for y in range(height):
        label, most = labels[y], largest[y]
        label[:] = 0
        most[:] = chances[0, y]
        for k in range(1, n):
            here = chances[k, y]
            for x in range(width):
                larger, frame = here[x], labels.dtype.type(k)
                old, kept = most[x], label[x]
                if not larger > old:
                    larger, frame = old, kept
                most[x], label[x] = larger, frame


@compiled()
def find_depth(labels: Array, log_odds: Array, beyond: float, depth: Array) -> None:
    """Put the sign change of log odds (n - 1, h, w) around each label into `depth` (h, w), in frames."""
    last, height, width = log_odds.shape
    for y in range(height):
        for x in range(width):
            label = int(labels[y, x])
            # A label is the likeliest frame: negative is only what rounding hid when it was found.
            rising = max(log_odds[label - 1, y, x] if label > 0 else beyond, np.float32(0))
            falling = max(-log_odds[label, y, x] if label < last else beyond, np.float32(0))
            total = rising + falling
            share = rising / total if total > 0 else np.float32(0.5)  # 0 / 0: nothing is known
            depth[y, x] = min(max(label + share - 0.5, 0), last)
