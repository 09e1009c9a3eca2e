"""Phase contrast: detail that inverts through focus, as that of transparent objects under a microscope.

Blurring by defocus does not turn bright detail into dark detail. Transparent objects refract light: on one
side of focus they look bright, on the other side dark, often with more contrast than in focus.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panfocus._filters import filtered, gaussian
from panfocus._intensity import FloatArray
from panfocus._numba import REGROUPED, compiled
from panfocus._threads import map_blocks
from panfocus.stack import Frames

FINE, COARSE = gaussian(0.7), gaussian(2.0)  # detail is the difference of these; pixels of noise are left out
NOISE_GAIN = 0.11  # variance of the detail of white noise, per variance of the noise
LEAST_TIMES_NOISE, LEAST_ENERGY = 2.5, 0.2  # least energy of detail: per that of noise, plus squared levels
SIDE = 16  # px: side of the squares in which frames are correlated
# Noise alone makes products of two frames negative, in the worst of a hundred pairs by this many standard
# deviations. Neighbouring pixels of the detail of noise are alike: a square has 112 independent samples.
NOISE_DEVIATIONS, SAMPLES = np.float32(2.6), np.float32(112.0)
BY_CHANCE = np.float32(0.1)  # correlation of unrelated detail of several depths, which does not count either
REGION, REGIONS = 256, 4  # px: side of the sampled regions; at most this many in each direction
MOST_FRAMES = 24  # of a longer stack, evenly spaced frames are compared
LIKENESS = 0.3, 0.98  # limits of the likeness of neighbours: beyond, it is not known well enough


class PhaseContrast(NamedTuple):
    """How detail changes from frame to frame."""

    inversion: float  # share of the contrast of detail that is inverted in another frame
    depth_of_field: (
        float  # frames: deviation of the Gaussian by which detail loses its likeness to the best frame
    )


def measure_phase_contrast(
    frames: Frames, levels: Callable[[NDArray[Any]], FloatArray], *, noise: float, clip: float | None
) -> PhaseContrast:
    """Correlate the detail of frames (n, h, w) or (n, h, w, c) in sampled squares.

    In each square, the most negative product of the detail of two frames, beyond chance, is set in relation
    to the energy of the best frame, which has most detail. Squares count by the amplitude of their detail: by
    energy, a few dark grains would outweigh the rest. The products of the best frame and its neighbours are
    set in relation to its energy too. `levels` converts a part of a frame to colours (c, h, w) in levels.
    Squares with pixels of `clip` or more in any frame are left out.
    """
    step = -(-len(frames) // MOST_FRAMES)
    noise_energy = NOISE_GAIN * noise**2
    least = LEAST_TIMES_NOISE * noise_energy + LEAST_ENERGY
    height, width = frames.shape[1:3]
    work = partial(_sum_region, frames, levels, step, (least, noise_energy), clip)
    sums = np.sum(list(map_blocks(work, _regions((height, width)))), axis=0)
    inverted, best, with_neighbours, of_neighbours = (float(total) for total in sums)
    likeness = with_neighbours / of_neighbours if of_neighbours > 0 else 0.0
    low, high = LIKENESS
    depth_of_field = step / math.sqrt(-2 * math.log(min(max(likeness, low), high)))
    return PhaseContrast(inverted / best if best > 0 else 0.0, depth_of_field)


def _regions(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Yield regions that are spread evenly over an image."""
    spans = []
    for length in shape:
        side = min(REGION, length)
        n = min(REGIONS, length // side)
        starts = np.linspace(0, length - side, n).astype(int) if n > 1 else [(length - side) // 2]
        spans.append([slice(int(start), int(start) + side) for start in starts])
    yield from product(*spans)


def _sum_region(
    frames: Frames,
    levels: Callable[[NDArray[Any]], FloatArray],
    step: int,
    energies: tuple[float, float],
    clip: float | None,
    region: tuple[slice, slice],
) -> FloatArray:
    """Return the sums of `_correlate_squares` for a region of the frames."""
    details, clipped = [], None
    for k in range(0, len(frames), step):
        colours = levels(frames[k, *region])
        gray = colours.mean(axis=0)
        details.append(filtered(gray, FINE) - filtered(gray, COARSE))
        if clip is not None:
            at_top = colours.max(axis=0) >= clip
            clipped = at_top if clipped is None else clipped | at_top
    if clipped is None:
        clipped = np.zeros(details[0].shape, np.bool_)
    sums = np.zeros(4)
    least, noise = map(np.float32, energies)
    _correlate_squares(np.stack(details), clipped, least, noise, sums)
    return sums


@compiled()
def _correlate_squares(
    details: NDArray[Any], clipped: NDArray[Any], least: float, noise: float, sums: NDArray[Any]
) -> None:
    """Add up detail (n, h, w) in squares.

    `sums` are the amplitudes of the best frames, the first one times the inverted share, then the products of
    the best frames with their neighbours and what these would be if all frames were alike.
    """
    n, height, width = details.shape
    energies = np.empty(n, np.float32)
    for top in range(0, height - SIDE + 1, SIDE):
        for left in range(0, width - SIDE + 1, SIDE):
            if clipped[top : top + SIDE, left : left + SIDE].any():
                continue
            best, inverted = 0, np.float32(0)
            for i in range(n):
                energies[i] = _product(details[i], details[i], top, left)
                if energies[i] > energies[best]:
                    best = i
                for j in range(i):
                    by_noise = NOISE_DEVIATIONS * np.sqrt(noise * (energies[i] + energies[j]) / SAMPLES)
                    by_chance = by_noise + BY_CHANCE * np.sqrt(energies[i] * energies[j])
                    inverted = max(inverted, -_product(details[i], details[j], top, left) - by_chance)
            if energies[best] > least:
                amplitude = np.sqrt(energies[best])
                sums[0] += inverted / (amplitude * (np.float32(1) - BY_CHANCE))
                sums[1] += amplitude
                for j in (best - 1, best + 1):
                    if 0 <= j < n:
                        sums[2] += _product(details[best], details[j], top, left)
                        sums[3] += energies[best] - noise


@compiled(fastmath=REGROUPED)
def _product(a: NDArray[Any], b: NDArray[Any], top: int, left: int) -> float:
    """Return the mean product of two planes (h, w) in a square."""
    total = np.float32(0)
    for y in range(top, top + SIDE):
        for x in range(left, left + SIDE):
            total += a[y, x] * b[y, x]
    return total / np.float32(SIDE * SIDE)  # type: ignore[return-value]
