"""Exposure of frames: measure brightness and colour relative to the stack, and equalise them when read.

docs/exposure.md has the reasons and the measurements.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import IntensityScale
from panfocus._numba import compiled
from panfocus._threads import map_blocks
from panfocus.stack import Frames, LazyFrames, colours, sampled_strips

Array = NDArray[np.float64]

BLOCK = 16  # pixels per side: blur preserves light and carries little of it across blocks
FLAT = 1 / 128  # of the brightest value: blocks that vary by less count as flat
LEAST_DOUBT = 0.001  # of a comparison of two frames
PLATEAU = 0.001  # share of a frame's pixels at the brightest value above which they are clipped
LEAST, TIMES_DOUBT = 0.01, 3.0  # smallest significant difference: absolute, and relative to its doubt


@dataclass(frozen=True)
class ToneCurve:
    """Relation between values and light: a gain multiplies values above `black`; below `toe` it is linear.

    Linear values, and powers of light, have black 0. For sRGB, black is below 0 (IEC 61966-2-1).
    """

    white: float
    black: float = 0.0
    toe: float = 0.0

    @classmethod
    def srgb(cls, white: float) -> "ToneCurve":
        """Return the curve of sRGB: from 0.04045 on, values + 0.055 are a power of the light."""
        return cls(white, -0.055 * white, 0.04045 * white)

    def multiply(self, values: NDArray[Any], gains: NDArray[np.floating[Any]]) -> NDArray[Any]:
        """Return values (..., c) multiplied by gains (c,), in the precision of the gains."""
        if self.black == 0:
            return np.asarray(values * gains)
        black, toe = gains.dtype.type(self.black), gains.dtype.type(self.toe)
        near_black = np.maximum((toe - black) * gains + black, 0) / toe
        return np.asarray(np.where(values < toe, values * near_black, (values - black) * gains + black))


class EqualizedFrames(LazyFrames):
    """Frames whose channels are multiplied by gains (n, c) when they are read.

    Integers are rounded and clipped at white. A clipped value stands for any brighter light. It becomes the
    value of the reference frame, plus the mean difference of the pixel's other channels, but at least white
    times the gain. A pixel that is white in both frames stays white.
    """

    def __init__(self, frames: Frames, gains: Array, reference: int, curve: ToneCurve) -> None:
        super().__init__(frames.shape, frames.dtype)
        self._frames = frames
        self._gains = gains  # without alpha
        self._reference = reference
        self._curve = curve

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        frame, gains = np.asarray(self._frames[k, *place]), self._gains[k]
        if np.all(gains == 1):
            return frame
        original, equalized = colours(frame), frame.copy()
        working = np.float64 if self.dtype == np.float64 else np.float32
        white = working(self._curve.white)
        values = self._curve.multiply(original, gains.astype(working))
        if self.dtype.kind == "u":
            np.minimum(np.rint(values, out=values), white, out=values)
        clipped = original == white
        if clipped.any():
            reference = colours(np.asarray(self._frames[self._reference, *place])).astype(working)
            n_valid = np.maximum(np.sum(~clipped, axis=2), 1).astype(working)
            difference = np.sum(values - reference, axis=2, where=~clipped) / n_valid
            guess = reference + difference[..., None]
            if self.dtype.kind == "u":
                np.rint(guess, out=guess)
            values[clipped] = np.minimum(np.maximum(values, guess), white)[clipped]
        colours(equalized)[...] = values
        return equalized


@dataclass(frozen=True, eq=False)
class Exposure:
    """Gains (n, c), without alpha, that bring all frames to the exposure of the reference.

    All gains are 1 if no frame differs significantly; the frames then stay unchanged.
    """

    gains: Array
    reference: int
    curve: ToneCurve

    @property
    def differs(self) -> bool:
        """Whether there is anything to correct."""
        return bool(np.any(self.gains != 1))

    def correct(self, frames: Frames) -> Frames:
        """Return the frames at the exposure of the reference, corrected when they are read."""
        return EqualizedFrames(frames, self.gains, self.reference, self.curve) if self.differs else frames

    def report(self) -> dict[str, Any]:
        """Return the reference, all gains and the black level as plain data."""
        return {
            "reference": self.reference,
            "gains": np.round(self.gains, 4).tolist(),
            "black": round(self.curve.black, 4),
        }


class _Ratio(NamedTuple):
    """Ratio of exposures for each channel (c,): its logarithm, the doubt, and the remaining misfit."""

    middle: Array
    doubt: Array
    misfit: Array


def measure_exposure(frames: Frames) -> Exposure:
    """Compare frames 1, 2, 4, 8, ... apart, so that small errors do not accumulate."""
    n = len(frames)
    blocks = np.stack(list(map_blocks(partial(_measure_blocks, frames), range(n))))
    gains = np.ones((n, blocks.shape[3]))
    curve = ToneCurve(IntensityScale.of(frames.dtype).white)
    if blocks[:, 0].min() < 0:
        return Exposure(gains, 0, curve)  # black is not at 0, so ratios are undefined
    pairs = [(i, i + apart) for apart in _powers_of_two(n) for i in range(n - apart)]
    brightest = blocks[:, 2].max(axis=(0, 1))

    def compare(curve: ToneCurve) -> _Ratio:
        ratios = map_blocks(partial(_compare_pair, blocks, brightest, curve), pairs)
        return _Ratio(*(np.stack(part) for part in zip(*ratios, strict=True)))

    def solve(ratio: _Ratio) -> Array:
        channels = zip(ratio.middle.T, ratio.doubt.T, strict=True)
        return np.stack([_solve_levels(n, pairs, middle, doubt) for middle, doubt in channels], axis=1)

    plain = compare(curve)
    levels = solve(plain)
    reference = _middle_frame(levels.mean(axis=1))
    levels -= levels[reference]
    doubt = np.stack([_propagate_doubt(n, pairs, doubts, reference) for doubts in plain.doubt.T], axis=1)
    if np.any(np.abs(levels) >= np.maximum(LEAST, TIMES_DOUBT * doubt)):
        curve = ToneCurve(_find_white(frames, brightest.max()))
        srgb = ToneCurve.srgb(curve.white)
        curved = compare(srgb)
        is_comparable = np.array_equal(np.isfinite(curved.doubt), np.isfinite(plain.doubt))
        straight = compare(replace(srgb, black=0))  # on the same blocks
        if is_comparable and curved.misfit.sum() < straight.misfit.sum():
            curve, levels = srgb, solve(curved)
            levels -= levels[reference]
        gains = np.exp(-levels).round(5)  # rounding errors of the solver must not change pixels
    return Exposure(gains, reference, curve)


def _measure_blocks(frames: Frames, k: int) -> NDArray[np.float32]:
    """Return mean, variance and largest value (3, blocks, c) of the blocks of frame k."""
    parts = []
    for strip in sampled_strips(frames, k):
        planes = colours(strip)
        height, width = (min(BLOCK, length) for length in planes.shape[:2])
        statistics = np.empty(
            (3, planes.shape[0] // height, planes.shape[1] // width, planes.shape[2]), np.float32
        )
        block_statistics(planes, height, width, statistics)
        parts.append(statistics.reshape(3, -1, planes.shape[2]))
    return np.concatenate(parts, axis=1)


def _find_white(frames: Frames, brightest: float) -> float:
    """Return the white level. For uint16: the brightest value if many pixels of a frame have it.

    Files with 12-bit values in 16 bits thus keep their white.
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


def _compare_pair(
    blocks: NDArray[np.float32], brightest: Array, curve: ToneCurve, pair: tuple[int, int]
) -> _Ratio:
    """Compare two frames by the weighted median over blocks; flat and bright blocks count most.

    Focus does not change flat blocks, whatever the tone curve. Blocks that move, shine or enter at a border
    are a minority. Clipped blocks are ignored.
    """
    before, after = (blocks[k].astype(np.float64) for k in pair)
    middle, doubt, misfit = (np.full(len(brightest), value) for value in (0.0, np.inf, 0.0))
    for c, white in enumerate(brightest):
        (mean, variance, largest), (mean_after, variance_after, largest_after) = before[..., c], after[..., c]
        usable = (np.maximum(largest, largest_after) < white) & (np.minimum(mean, mean_after) > curve.toe)
        if not usable.any():
            continue
        light, light_after = mean[usable] - curve.black, mean_after[usable] - curve.black
        detail = np.maximum(variance, variance_after)[usable] + (FLAT * white) ** 2
        low, middle[c], high = _quartiles(np.log(light_after / light), weights=light * light_after / detail)
        doubt[c] = (high - low) / 2 + LEAST_DOUBT
        misfit[c] = np.sum(np.abs(light_after - light * np.exp(middle[c])) / detail)
    return _Ratio(middle, doubt, misfit)


def _quartiles(values: Array, weights: Array) -> Array:
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    indices = np.searchsorted(cumulative, cumulative[-1] * np.array([0.25, 0.5, 0.75]))
    return np.asarray(values[order][indices])


def _solve_levels(n: int, pairs: list[tuple[int, int]], ratios: Array, doubts: Array) -> Array:
    """Return the log exposures (n,) whose differences fit the ratios of all pairs (least squares)."""
    weights = 1 / doubts**2
    first, second = np.array(pairs).T
    normal, right = np.zeros((n, n)), np.zeros(n)
    for a, b in ((first, second), (second, first)):
        np.add.at(normal, (a, a), weights)
        np.add.at(normal, (a, b), -weights)
    np.add.at(right, second, weights * ratios)
    np.add.at(right, first, -weights * ratios)
    # Only differences are known: take the minimum-norm solution. A frame without information gets the mean.
    return np.asarray(np.linalg.lstsq(normal, right, rcond=None)[0])


def _middle_frame(levels: Array) -> int:
    """Return the frame of median exposure, the first of two, so that no outlier sets the exposure."""
    return int(np.argmin(np.round(np.abs(levels - np.median(levels)), 6)))


def _propagate_doubt(n: int, pairs: list[tuple[int, int]], doubts: Array, reference: int) -> Array:
    """Return the doubt of each frame (n,): the smallest sum of doubts on a path to the reference."""
    first, second = np.array(pairs).T
    total = np.full(n, np.inf)
    total[reference] = 0
    while True:
        shorter = total.copy()
        np.minimum.at(shorter, first, total[second] + doubts)
        np.minimum.at(shorter, second, total[first] + doubts)
        if np.array_equal(shorter, total):
            return total
        total = shorter


@compiled()
def block_statistics(planes: NDArray[Any], height: int, width: int, out: NDArray[Any]) -> None:
    """Write mean, variance and largest value (3, rows, cols, c) of the blocks of planes (h, w, c).

    Sums are relative to the first value of each block: they stay small, and an offset does not change their
    rounding.
    """
    _, rows, cols, n = out.shape
    for row in range(rows):
        for col in range(cols):
            for c in range(n):
                first = np.float64(planes[row * height, col * width, c])
                total, squares, largest = 0.0, 0.0, first
                for y in range(row * height, (row + 1) * height):
                    for x in range(col * width, (col + 1) * width):
                        value = np.float64(planes[y, x, c])
                        total += value - first
                        squares += (value - first) ** 2
                        largest = max(largest, value)
                mean = total / (height * width)
                out[0, row, col, c] = first + mean
                out[1, row, col, c] = max(squares / (height * width) - mean**2, 0.0)
                out[2, row, col, c] = largest
