"""Labels: which frame each pixel is taken from, by votes of patches or by probabilities.

Methods that decide per patch give each patch's vote to its most active frame (`vote_shares`) and choose the
frame with most votes (`majority`). The method `panfocus` turns log odds between neighbouring frames into
probabilities (`probabilities`) and chooses the most probable frame (`most_probable`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._numba import compiled

Array = NDArray[Any]

VOTE = 27720  # units of one vote: divisible by 1 to 12, so that up to 12 tied frames share it exactly

# Log probabilities this far below the largest are treated as zero: rounding would hide them anyway, and
# arithmetic with denormal numbers is a hundred times slower.
NEGLIGIBLE = np.float32(-30)


def label_dtype(n_frames: int) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest type that holds the labels of this many frames."""
    return np.uint8 if n_frames <= 256 else np.uint16


def vote_shares(activities: FloatArray) -> IntArray:
    """Give the vote of each patch to its most active frame (n_frames, ...): the argmax of Eq. (7).

    A vote is VOTE units. Tied frames share it evenly, so that their order does not matter.
    """
    tied = activities == activities.max(axis=0)
    share = -(-VOTE // tied.sum(axis=0, dtype=np.int32))  # rounded up, so that no share is zero
    return np.where(tied, share, 0).astype(np.uint16)


def majority(votes: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the frame with most votes (n_frames, h, w) at each pixel, and its share of all votes.

    On a tie the earlier frame wins.
    """
    labels = votes.argmax(axis=0)
    most = np.take_along_axis(votes, labels[None], axis=0)[0]
    share = most / votes.sum(axis=0, dtype=np.int64)
    return labels.astype(label_dtype(len(votes))), share.astype(np.float32)


def probabilities(log_odds: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return the probability (n, h, w) that each of n frames is the sharpest at a pixel.

    `log_odds` (n - 1, h, w) compare each frame with the one before it; they add up through the stack. They
    may be stored in `out[1:]`.
    """
    chances = np.empty((len(log_odds) + 1, *log_odds.shape[1:]), np.float32) if out is None else out
    _add_up(log_odds, chances)
    np.exp(chances, out=chances)
    _normalise(chances)
    return chances


def most_probable(chances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the most probable frame (n, h, w) at each pixel and its probability; ties go to the earlier."""
    labels: IntArray = np.empty(chances.shape[1:], label_dtype(len(chances)))
    largest = np.empty(chances.shape[1:], chances.dtype)
    _find_largest(chances, labels, largest)
    return labels, largest


def remove_small_regions(mask: NDArray[np.bool_], min_area: int) -> NDArray[np.bool_]:
    """Remove connected regions of fewer than `min_area` pixels from a mask, then fill holes as small.

    Diagonal neighbours are connected, in regions and in holes.
    """
    large = _large_regions(mask, min_area)
    return ~_large_regions(~large, min_area) if large.any() else large


def _large_regions(mask: NDArray[np.bool_], min_area: int) -> NDArray[np.bool_]:
    from scipy.ndimage import label  # lazy: the import takes 0.2 s, and most methods do without it

    regions, _ = label(mask, np.ones((3, 3)))
    large = np.bincount(regions.ravel()) >= min_area
    large[0] = False  # outside the mask
    return large[regions]


@compiled()
def _add_up(log_odds: Array, out: Array) -> None:
    """Sum log odds (n - 1, h, w) through the stack: out (n, h, w) is 0 at the likeliest frame, else negative.

    Negligible values become minus infinity. The odds may be stored in `out[1:]`.
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
def _normalise(likelihoods: Array) -> None:
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
def _find_largest(values: Array, labels: Array, largest: Array) -> None:
    """Find the largest of (n, h, w) values at each pixel, and the first frame that has it."""
    n, height, width = values.shape
    for y in range(height):
        label, most = labels[y], largest[y]
        label[:] = 0
        most[:] = values[0, y]
        for k in range(1, n):
            here = values[k, y]
            for x in range(width):
                # Load and store unconditionally: the compiler can vectorise this form.
                value, frame = here[x], labels.dtype.type(k)
                old_value, old_frame = most[x], label[x]
                if not value > old_value:
                    value, frame = old_value, old_frame
                most[x], label[x] = value, frame
