"""Which of two frames is the sharper at each pixel: the one that, blurred some more, gives the other."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from panfocus._filters import filter_into, filtered, gaussian, reach
from panfocus._intensity import FloatArray
from panfocus.decide._kernel_reblur import REACH, add_floor_and_doubt, keep_best

# Blurs that may lie between two frames, standard deviations in pixels. A disk of radius r is close to a
# Gaussian of r / 2: these go up to a radius of 12. Each is made of the one before it, which is smooth enough
# to be looked at in steps.
WIDTHS = (0.7, 1.5, 3.0, 6.0)
BLURS = tuple(
    gaussian(float(np.sqrt(width**2 - before**2)), cut=2, step=step)
    for before, width, step in zip((0.0, *WIDTHS[:-1]), WIDTHS, (1, 1, 2, 3), strict=True)
)
# Which of them does is judged, by `keep_best`, over 15 x 15 pixels: depth hardly changes within, and one
# pixel cannot tell.

# Errors below this, in squared levels of 255, mean little: rounding to 8 bit alone leaves 1/6 between two
# frames, and JPEG files some levels.
FLOOR = 4.0
# For a pixel on its own, so many times what neither frame explains around it comes on top. Motion, highlights
# and misalignment leave that: they are not blur.
DOUBT, DOUBTED = 2.0, gaussian(5.0, cut=2)
HALF_IN_DOUBT = 1000.0  # squared levels that come on top where doubt is a half
GAIN = 4.0  # of the logarithm of the errors' ratio: the samples in the window, halved
WINDOW = 0.6  # standard deviation in pixels of the window over which errors are averaged; about one pixel
# What noise, in levels, adds to that: errors of noise alone must average out.
WINDOW_PER_NOISE = 0.2

HIGH_PASS = np.array([1.0, -2.0, 1.0])  # down and across, noise of deviation 1 has 6
MEDIAN_OF_NORMAL = 0.6745  # the median of absolute values, in standard deviations


class LogOdds(NamedTuple):
    """Logarithms of odds (h, w) that one of two frames is the sharper."""

    witness: FloatArray  # a pixel among many
    alone: FloatArray  # a pixel on its own: near even where neither frame explains the other
    doubt: FloatArray  # how far that is so, 0 to 1


def log_odds(frames: Iterable[FloatArray], *, noise: float) -> Iterator[LogOdds]:
    """Yield, for every two neighbours of frames (c, h, w) in levels, the log odds that the later is sharper.

    If b is the sharp one, b blurred gives a, but a blurred does not give b: with E the mean squared error of
    the better attempts around a pixel, the odds are (E_ab / E_ba)^GAIN. Where neither frame has detail, or
    noise hides it, both errors are about FLOOR, and the odds even. Where neither frame explains the other
    nearby, which of two bad attempts is the better one is chance, and a pixel on its own is in doubt.

    Only three frames are held at a time, and each is blurred once, to be compared with both neighbours.
    """
    window = gaussian(_window(noise))
    coming = iter(frames)
    before: FloatArray | None = None
    first = next(coming)
    here: FloatArray | None = first
    forward = None  # error of taking `here` for `before`, blurred
    attempts = room_for_attempts(first)  # the same memory again and again: new memory has to be cleared
    while here is not None:
        after = next(coming, None)
        neighbours = [frame for frame in (before, after) if frame is not None]
        errors = [filtered(error, window) for error in unexplained(here, neighbours, attempts)]
        if forward is not None:
            yield _odds(forward, errors[0], noise)
        before, here, forward = here, after, errors[-1]


def room_for_attempts(frame: FloatArray) -> FloatArray:
    """Return an array for a frame (c, h, w), blurred in all ways."""
    return np.empty((len(BLURS), *frame.shape), np.float32)


def unexplained(sharp: FloatArray, others: Sequence[FloatArray], attempts: FloatArray) -> list[FloatArray]:
    """Mean squared errors (h, w) of taking others (c, h, w) for `sharp`, blurred as suits each best there.

    `attempts`, from `room_for_attempts`, is overwritten.
    """
    for blur, attempt in zip(BLURS, attempts, strict=True):
        for plane, blurred in zip(sharp, attempt, strict=True):
            filter_into(plane, blur, blurred)
        sharp = attempt
    errors = [np.empty(sharp.shape[1:], np.float32) for _ in others]
    for other, error in zip(others, errors, strict=True):
        keep_best(attempts, other, error)
    return errors


def _odds(a_gives_b: FloatArray, b_gives_a: FloatArray, noise: float) -> LogOdds:
    """Log odds that b is the sharper one, from errors."""
    doubt = filtered(np.minimum(a_gives_b, b_gives_a), DOUBTED)
    logs = np.empty((2, 2, *doubt.shape), np.float32)
    constants = (FLOOR, DOUBT, noise**2, HALF_IN_DOUBT)
    add_floor_and_doubt(a_gives_b, b_gives_a, tuple(map(np.float32, constants)), doubt, logs)
    np.log(logs, out=logs)
    odds = np.subtract(logs[:, 0], logs[:, 1], out=logs[:, 0])
    odds *= np.float32(GAIN)
    return LogOdds(odds[0], odds[1], doubt)


def log_odds_reach(noise: float) -> int:
    """Pixels around one that its `log_odds` depend on."""
    return reach(*BLURS) + REACH + reach(gaussian(_window(noise)), DOUBTED)


def noise_level(parts: Iterable[FloatArray]) -> float:
    """Measure the standard deviation of the noise of a frame in some parts (h, w) of it, in their unit.

    Second differences down and across leave little of a picture but its noise. Half of them are smaller than
    the median: edges and texture, as long as they are less than half, hardly move it.
    """
    differences = []
    for gray in parts:
        across = gray[:, :-2] - 2 * gray[:, 1:-1] + gray[:, 2:]
        differences.append(np.abs(across[:-2] - 2 * across[1:-1] + across[2:]).ravel())
    measured = np.concatenate(differences)
    if not measured.size:
        return 0.0
    return float(np.median(measured)) / (MEDIAN_OF_NORMAL * float(np.sum(HIGH_PASS**2)))


def _window(noise: float) -> float:
    return float(np.hypot(WINDOW, WINDOW_PER_NOISE * noise))
