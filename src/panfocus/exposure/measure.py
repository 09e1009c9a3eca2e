"""How bright each frame is beside the others, channel by channel, whatever is in focus in it.

docs/exposure.md has the reasons, and what was measured.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import map_blocks
from panfocus.exposure._kernel_blocks import block_statistics
from panfocus.exposure.corrected import CorrectedFrames
from panfocus.stack import Frames, colours, sampled_strips

Array = NDArray[np.float64]

BLOCK = 16  # pixels a side: blur keeps the light, and carries little of it from block to block
FLAT = 1 / 128  # of the brightest value: blocks that vary by less are as good as flat
CERTAIN = 0.001  # no two frames are compared better than that
LEAST, TIMES_DOUBT = 0.01, 3.0  # a smaller difference is none: by itself, and beside what is in doubt


@dataclass(frozen=True, eq=False)
class Exposure:
    """By what each frame's channels (n, c), without alpha, are multiplied to be as bright as the reference.

    All ones if no frame is known to differ: then frames stay what they are.
    """

    gains: Array
    reference: int

    @property
    def differs(self) -> bool:
        """Whether there is anything to correct."""
        return bool(np.any(self.gains != 1))

    def correct(self, frames: Frames) -> Frames:
        """Return these frames as bright as the reference, part by part as they are asked for."""
        return CorrectedFrames(frames, self.gains, self.reference) if self.differs else frames

    def report(self) -> dict[str, Any]:
        """Return the reference, and the gains of all frames, as plain data."""
        return {"reference": self.reference, "gains": np.round(self.gains, 4).tolist()}


class _Growth(NamedTuple):
    """By how much the light of channels (c,) has grown, in logarithms, and half of the spread of that."""

    middle: Array
    doubt: Array


def measure_exposure(frames: Frames) -> Exposure:
    """Compare neighbours, and frames 2, 4, 8, ... apart, so that small errors do not add up."""
    n = len(frames)
    blocks = np.stack(list(map_blocks(partial(_blocks, frames), range(n))))
    n_channels = blocks.shape[3]
    gains = np.ones((n, n_channels))
    if blocks[:, 0].min() < 0:
        return Exposure(gains, 0)  # light is counted from black, which is elsewhere
    pairs = [(i, i + apart) for apart in _powers_of_two(n) for i in range(n - apart)]
    brightest = blocks[:, 2].max(axis=(0, 1))
    compare = partial(_growth, blocks, brightest)
    grown, doubts = (np.stack(part) for part in zip(*map_blocks(compare, pairs), strict=True))
    levels = np.stack([_levels(n, pairs, grown[:, c], doubts[:, c]) for c in range(n_channels)], axis=1)
    reference = _middle(levels.mean(axis=1))
    levels -= levels[reference]
    doubt = np.stack([_doubt(n, pairs, doubts[:, c], reference) for c in range(n_channels)], axis=1)
    if np.any(np.abs(levels) >= np.maximum(LEAST, TIMES_DOUBT * doubt)):
        gains = np.exp(-levels).round(5)  # so that no rounding of the solver decides on a pixel
    return Exposure(gains, reference)


def _blocks(frames: Frames, k: int) -> NDArray[np.float32]:
    """Mean, variance and largest value (3, blocks, c) of frame k, all in float32: many frames are kept."""
    found = []
    for strip in sampled_strips(frames, k):
        planes = colours(strip)
        height, width = (min(BLOCK, length) for length in planes.shape[:2])
        statistics = np.empty(
            (3, planes.shape[0] // height, planes.shape[1] // width, planes.shape[2]), np.float32
        )
        block_statistics(planes, height, width, statistics)
        found.append(statistics.reshape(3, -1, planes.shape[2]))
    return np.concatenate(found, axis=1)


def _powers_of_two(below: int) -> list[int]:
    return [2**i for i in range((below - 1).bit_length())]


def _growth(blocks: NDArray[np.float32], brightest: Array, pair: tuple[int, int]) -> _Growth:
    """Compare two frames: the median over blocks, of which flat and bright ones count most.

    Where nothing varies, focus changes nothing, and neither does whether values are light or its root. What
    moves, shines or enters at a border is in the minority. Clipped blocks tell nothing.
    """
    before, after = (blocks[k].astype(np.float64) for k in pair)
    middle, doubt = np.zeros(len(brightest)), np.full(len(brightest), np.inf)
    for c, white in enumerate(brightest):
        (mean, variance, largest), (mean_after, variance_after, largest_after) = before[..., c], after[..., c]
        told = (np.maximum(largest, largest_after) < white) & (np.minimum(mean, mean_after) > 0)
        if not told.any():
            continue
        growth = np.log(mean_after[told] / mean[told])
        detail = np.maximum(variance, variance_after)[told] + (FLAT * white) ** 2
        low, middle[c], high = _quartiles(growth, weights=mean[told] * mean_after[told] / detail)
        doubt[c] = (high - low) / 2 + CERTAIN
    return _Growth(middle, doubt)


def _quartiles(values: Array, weights: Array) -> Array:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, below[-1] * np.array([0.25, 0.5, 0.75]))
    return np.asarray(values[order][places])


def _levels(n: int, pairs: list[tuple[int, int]], grown: Array, doubts: Array) -> Array:
    """Find the logarithms (n,) whose differences are nearest to what grew between frames: least squares."""
    weights = 1 / doubts**2
    first, second = np.array(pairs).T
    normal, right = np.zeros((n, n)), np.zeros(n)
    for a, b in ((first, second), (second, first)):
        np.add.at(normal, (a, a), weights)
        np.add.at(normal, (a, b), -weights)
    np.add.at(right, second, weights * grown)
    np.add.at(right, first, -weights * grown)
    # Only differences are known: of all solutions the smallest. A frame that tells nothing is as the mean.
    return np.asarray(np.linalg.lstsq(normal, right, rcond=None)[0])


def _middle(levels: Array) -> int:
    """Return the frame of middle exposure, the first of two: no outlier sets that of the picture."""
    return int(np.argmin(np.round(np.abs(levels - np.median(levels)), 6)))


def _doubt(n: int, pairs: list[tuple[int, int]], doubts: Array, reference: int) -> Array:
    """Return how far frames (n,) may be off: doubts along the surest way of comparisons to the reference."""
    first, second = np.array(pairs).T
    far = np.full(n, np.inf)
    far[reference] = 0
    while True:
        nearer = far.copy()
        np.minimum.at(nearer, first, far[second] + doubts)
        np.minimum.at(nearer, second, far[first] + doubts)
        if np.array_equal(nearer, far):
            return far
        far = nearer
