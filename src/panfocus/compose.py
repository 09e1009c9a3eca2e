"""Put the fused image together from the frames' own pixels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._float import FloatArray, IntArray


def by_votes(frames: NDArray[Any], votes: IntArray) -> NDArray[Any]:
    """Mean of frames (n, h, w) or (n, h, w, c), weighted per pixel by whole votes (n, h, w).

    That is what averaging the overlapping winning patches gives, without moving a patch. Integer frames are
    averaged exactly and rounded half up. A pixel with unanimous votes is that frame's pixel, bit for bit.
    """
    if frames.ndim == 4:
        votes = votes[..., None]
    total = votes.sum(axis=0, dtype=np.uint32)
    if frames.dtype.kind == "u":
        weighted = np.zeros(frames.shape[1:], np.uint64)
        for frame, vote in zip(frames, votes, strict=True):
            weighted += frame * vote.astype(np.uint64)
        return np.asarray((2 * weighted + total) // (2 * total), frames.dtype)
    winners = np.broadcast_to(votes.argmax(axis=0)[None], (1, *frames.shape[1:]))
    base = np.take_along_axis(frames, winners, axis=0)[0].astype(np.float64)
    offset = np.zeros(frames.shape[1:], np.float64)
    for frame, vote in zip(frames, votes, strict=True):
        offset += vote * (frame - base)  # differences from the winner: nothing to round where all agree
    return np.asarray(base + offset / total, frames.dtype)


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
