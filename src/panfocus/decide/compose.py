"""Composition: merge the frames into the fused image, by votes, labels or weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._numba import compiled

VOTES = 1 << 14  # votes for a weight of 1: fine enough for 16-bit output, and sums stay exact


def by_votes(frames: NDArray[Any], votes: IntArray) -> NDArray[Any]:
    """Return the mean of frames (n, h, w) or (n, h, w, c), weighted at each pixel by integer votes (n, h, w).

    This equals averaging the overlapping winning patches. Integer frames are averaged exactly and rounded
    half up. A pixel with unanimous votes is copied exactly. The result does not depend on the frames' order.
    """
    if frames.dtype.kind == "u":
        image = np.empty(frames.shape[1:], frames.dtype)
        planes = (*votes.shape, -1)
        _average_by_votes(frames.reshape(planes), votes, image.reshape(planes[1:]))
        return image
    if frames.ndim == 4:
        votes = votes[..., None]
    total = votes.sum(axis=0, dtype=np.int64)
    # Average offsets from the smallest pixel with votes: exact where frames agree or one has all votes.
    base = np.where(votes > 0, frames, np.inf).min(axis=0).astype(np.float64)
    return np.asarray(base + sum_in_any_order(votes * (frames - base)) / total, frames.dtype)


def by_labels(frames: NDArray[Any], labels: IntArray) -> NDArray[Any]:
    """Take each pixel from the frame (n, h, w) or (n, h, w, c) given by its label (h, w)."""
    chosen = labels[None] if frames.ndim == 3 else labels[None, ..., None]
    return np.asarray(np.take_along_axis(frames, chosen, axis=0)[0])


def as_votes(weights: FloatArray) -> IntArray:
    """Convert weights (n, h, w), which sum to 1 at each pixel, to integer votes for `by_votes`."""
    return np.rint(weights * VOTES).astype(np.int32)


def by_weights(frames: Sequence[NDArray[Any]], weights: FloatArray) -> NDArray[Any]:
    """Return the mean of frames (h, w) or (h, w, c) with one weight (n,) each; the weights sum to 1.

    Integer frames are rounded half to even. Where all frames agree, the pixel is copied exactly.
    """
    image = np.empty_like(frames[0])
    for y, first in enumerate(frames[0]):  # row by row, to save memory
        base = first.astype(np.float64)
        offset = np.zeros(first.shape)
        for frame, weight in zip(frames[1:], weights[1:], strict=True):
            offset += weight * (frame[y] - base)  # offsets are exactly 0 where frames agree
        image[y] = np.rint(base + offset) if image.dtype.kind == "u" else base + offset
    return image


def sum_in_any_order(terms: FloatArray) -> FloatArray:
    """Sum over the first axis, smallest terms first, so that the order of the terms changes no bit."""
    total: FloatArray = np.zeros_like(terms[0])
    for term in terms if len(terms) == 2 else np.sort(terms, axis=0):  # a + b = b + a
        total += term
    return total


@compiled()
def _average_by_votes(frames: NDArray[Any], votes: NDArray[Any], out: NDArray[Any]) -> None:
    """Average integer frames (n, h, w, c) by votes (n, h, w), and round half up.

    Sums are exact in float64: pixels have 16 bits, and there are far fewer than 2^36 votes. A quotient that
    is not whole is far enough from the next integer for `floor`.
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
