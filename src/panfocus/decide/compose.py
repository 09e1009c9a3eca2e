"""Put the fused image together from the frames' own pixels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus.decide._kernel_compose import average_by_votes

VOTES = 1 << 14  # a weight of one: finer steps would not show in 16 bit, and sums stay exact


def by_votes(frames: NDArray[Any], votes: IntArray) -> NDArray[Any]:
    """Mean of frames (n, h, w) or (n, h, w, c), weighted per pixel by whole votes (n, h, w).

    That is what averaging the overlapping winning patches gives, without moving a patch. Integer frames are
    averaged exactly and rounded half up. A pixel with unanimous votes is that frame's pixel, bit for bit.
    The order of the frames changes no bit.
    """
    if frames.dtype.kind == "u":
        image = np.empty(frames.shape[1:], frames.dtype)
        planes = (*votes.shape, -1)
        average_by_votes(frames.reshape(planes), votes, image.reshape(planes[1:]))
        return image
    if frames.ndim == 4:
        votes = votes[..., None]
    total = votes.sum(axis=0, dtype=np.int64)
    # Offsets from the smallest pixel that has votes: nothing to round where all agree, or one has them all.
    base = np.where(votes > 0, frames, np.inf).min(axis=0).astype(np.float64)
    return np.asarray(base + sum_in_any_order(votes * (frames - base)) / total, frames.dtype)


def by_labels(frames: NDArray[Any], labels: IntArray) -> NDArray[Any]:
    """Take each pixel from the frame (n, h, w) or (n, h, w, c) that its label (h, w) names."""
    chosen = labels[None] if frames.ndim == 3 else labels[None, ..., None]
    return np.asarray(np.take_along_axis(frames, chosen, axis=0)[0])


def as_votes(weights: FloatArray) -> IntArray:
    """Turn weights (n, h, w), which sum to 1 per pixel, into whole votes for `by_votes`."""
    return np.rint(weights * VOTES).astype(np.int32)


def by_weights(frames: Sequence[NDArray[Any]], weights: FloatArray) -> NDArray[Any]:
    """Mean of frames (h, w) or (h, w, c) with one weight (n,) each; the weights sum to 1.

    Integer frames are rounded, half to even. Where all frames agree the pixel is theirs, bit for bit.
    """
    image = np.empty_like(frames[0])
    for y, first in enumerate(frames[0]):  # row by row: no image of doubles
        base = first.astype(np.float64)
        offset = np.zeros(first.shape)
        for frame, weight in zip(frames[1:], weights[1:], strict=True):
            offset += weight * (frame[y] - base)  # from one frame: nothing to round where all agree
        image[y] = np.rint(base + offset) if image.dtype.kind == "u" else base + offset
    return image


def sum_in_any_order(terms: FloatArray) -> FloatArray:
    """Sum over the first axis, whose order changes no bit: every sum adds its smallest term first."""
    total: FloatArray = np.zeros_like(terms[0])
    for term in terms if len(terms) == 2 else np.sort(terms, axis=0):  # two have the same sum either way
        total += term
    return total
