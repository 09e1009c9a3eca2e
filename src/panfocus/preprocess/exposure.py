"""How bright each frame is beside the others, channel by channel, whatever is in focus in it.

docs/exposure.md has the reasons, and what was measured.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import IntensityScale
from panfocus._threads import map_blocks
from panfocus.preprocess._kernel_exposure import block_statistics
from panfocus.preprocess.equalized_frames import CorrectedFrames
from panfocus.preprocess.tone_curve import Curve
from panfocus.stack import Frames, colours, sampled_strips

Array = NDArray[np.float64]

BLOCK = 16  # pixels a side: blur keeps the light, and carries little of it from block to block
FLAT = 1 / 128  # of the brightest value: blocks that vary by less are as good as flat
CERTAIN = 0.001  # no two frames are compared better than that
PLATEAU = 0.001  # of a frame's pixels at the brightest value: they are clipped there
LEAST, TIMES_DOUBT = 0.01, 3.0  # a smaller difference is none: by itself, and beside what is in doubt


@dataclass(frozen=True, eq=False)
class Exposure:
    """By what each frame's channels (n, c), without alpha, are multiplied to be as bright as the reference.

    All ones if no frame is known to differ: then frames stay what they are.
    """

    gains: Array
    reference: int
    curve: Curve

    @property
    def differs(self) -> bool:
        """Whether there is anything to correct."""
        return bool(np.any(self.gains != 1))

    def correct(self, frames: Frames) -> Frames:
        """Return these frames as bright as the reference, part by part as they are asked for."""
        return CorrectedFrames(frames, self.gains, self.reference, self.curve) if self.differs else frames

    def report(self) -> dict[str, Any]:
        """Return the reference, the gains of all frames, and from where they count, as plain data."""
        return {
            "reference": self.reference,
            "gains": np.round(self.gains, 4).tolist(),
            "black": round(self.curve.black, 4),
        }


class _Growth(NamedTuple):
    """How much channels (c,) have grown, in logarithms; half of the spread of that; what it leaves open."""

    middle: Array
    doubt: Array
    misfit: Array


def measure_exposure(frames: Frames) -> Exposure:
    """Compare neighbours, and frames 2, 4, 8, ... apart, so that small errors do not add up."""
    n = len(frames)
    blocks = np.stack(list(map_blocks(partial(_blocks, frames), range(n))))
    gains = np.ones((n, blocks.shape[3]))
    curve = Curve(IntensityScale.of(frames.dtype).white)
    if blocks[:, 0].min() < 0:
        return Exposure(gains, 0, curve)  # light is counted from black, which is elsewhere
    pairs = [(i, i + apart) for apart in _powers_of_two(n) for i in range(n - apart)]
    brightest = blocks[:, 2].max(axis=(0, 1))

    def compared(curve: Curve) -> _Growth:
        of_pairs = map_blocks(partial(_growth, blocks, brightest, curve), pairs)
        return _Growth(*(np.stack(part) for part in zip(*of_pairs, strict=True)))

    def levels_of(growth: _Growth) -> Array:
        channels = zip(growth.middle.T, growth.doubt.T, strict=True)
        return np.stack([_levels(n, pairs, grown, doubts) for grown, doubts in channels], axis=1)

    plain = compared(curve)
    levels = levels_of(plain)
    reference = _middle(levels.mean(axis=1))
    levels -= levels[reference]
    doubt = np.stack([_doubt(n, pairs, doubts, reference) for doubts in plain.doubt.T], axis=1)
    if np.any(np.abs(levels) >= np.maximum(LEAST, TIMES_DOUBT * doubt)):
        curve = Curve(_white(frames, brightest.max()))
        srgb = Curve.srgb(curve.white)
        curved = compared(srgb)
        known = np.array_equal(np.isfinite(curved.doubt), np.isfinite(plain.doubt))
        straight = compared(replace(srgb, black=0))  # of the same blocks
        if known and curved.misfit.sum() < straight.misfit.sum():
            curve, levels = srgb, levels_of(curved)
            levels -= levels[reference]
        gains = np.exp(-levels).round(5)  # so that no rounding of the solver decides on a pixel
    return Exposure(gains, reference, curve)


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


def _white(frames: Frames, brightest: float) -> float:
    """Return what is white: of 16 bit, the brightest value if many pixels of a frame have just that.

    So 12 bit, and others, keep their white in files of 16.
    """
    full = IntensityScale.of(frames.dtype).white
    if frames.dtype != np.uint16:
        return full
    for k in range(len(frames)):
        strips = sampled_strips(frames, k)
        at_top = np.mean([(colours(strip) == brightest).mean(axis=(0, 1)) for strip in strips], axis=0)
        if at_top.max() >= PLATEAU:
            return float(brightest)
    return full


def _powers_of_two(below: int) -> list[int]:
    return [2**i for i in range((below - 1).bit_length())]


def _growth(blocks: NDArray[np.float32], brightest: Array, curve: Curve, pair: tuple[int, int]) -> _Growth:
    """Compare two frames: the median over blocks, of which flat and bright ones count most.

    Where nothing varies, focus changes nothing, and neither does whether values are light or its root. What
    moves, shines or enters at a border is in the minority. Clipped blocks tell nothing.
    """
    before, after = (blocks[k].astype(np.float64) for k in pair)
    middle, doubt, misfit = (np.full(len(brightest), value) for value in (0.0, np.inf, 0.0))
    for c, white in enumerate(brightest):
        (mean, variance, largest), (mean_after, variance_after, largest_after) = before[..., c], after[..., c]
        told = (np.maximum(largest, largest_after) < white) & (np.minimum(mean, mean_after) > curve.toe)
        if not told.any():
            continue
        light, light_after = mean[told] - curve.black, mean_after[told] - curve.black
        detail = np.maximum(variance, variance_after)[told] + (FLAT * white) ** 2
        low, middle[c], high = _quartiles(np.log(light_after / light), weights=light * light_after / detail)
        doubt[c] = (high - low) / 2 + CERTAIN
        misfit[c] = np.sum(np.abs(light_after - light * np.exp(middle[c])) / detail)
    return _Growth(middle, doubt, misfit)


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
