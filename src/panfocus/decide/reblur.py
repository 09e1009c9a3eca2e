"""Re-blur test: if blurring frame A reproduces frame B, frame A is the sharper one at that pixel."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from panfocus._filters import filter_into, filtered, gaussian, reach
from panfocus._intensity import FloatArray
from panfocus.decide._kernel_reblur import REACH, add_floor_and_doubt, keep_best

# Blurs that are tried, as standard deviations in pixels. A disk of radius r is close to a Gaussian of r / 2,
# so these cover radii up to 12 px. Each blur is applied to the result of the one before it; the wide ones
# skip pixels, which is accurate on smooth images. `keep_best` chooses among them over 15 x 15 pixels: depth
# changes little in there, and a single pixel is too little to choose by.
WIDTHS = (0.7, 1.5, 3.0, 6.0)
BLURS = tuple(
    gaussian(float(np.sqrt(width**2 - before**2)), cut=2, step=step)
    for before, width, step in zip((0.0, *WIDTHS[:-1]), WIDTHS, (1, 1, 2, 3), strict=True)
)

# Added to every squared error, in squared levels (of 255): rounding to 8 bits alone leaves 1/6 between two
# frames, and JPEG compression several levels.
FLOOR = 4.0
# Doubt: errors that no blur explains (motion, highlights, misalignment), averaged by DOUBT_WINDOW, are added
# to single-pixel errors DOUBT times.
DOUBT, DOUBT_WINDOW = 2.0, gaussian(5.0, cut=2)
HALF_IN_DOUBT = 1000.0  # squared levels of added error at which doubt is 0.5
GAIN = 4.0  # log odds per log ratio of errors: half the number of samples in the window
WINDOW = 0.6  # px: standard deviation of the window that averages errors, about one pixel
WINDOW_PER_NOISE = 0.2  # px per level of noise, added to the window so that noise averages out

HIGH_PASS = np.array([1.0, -2.0, 1.0])  # applied down and across; multiplies the deviation of noise by 6
MEDIAN_OF_NORMAL = 0.6745  # median absolute value of normal noise, in standard deviations


class LogOdds(NamedTuple):
    """Log odds (h, w) that the second of two frames is the sharper one."""

    regional: FloatArray  # to be averaged over a region
    single: FloatArray  # for the pixel itself: close to 0 where doubt is high
    doubt: FloatArray  # 0 to 1: how much of the difference between the frames no blur explains


def log_odds(frames: Iterable[FloatArray], *, noise: float) -> Iterator[LogOdds]:
    """Yield for every two neighbouring frames (c, h, w), in levels, the log odds that the later is sharper.

    If b is sharp, blurring b reproduces a, but blurring a does not reproduce b. With E the mean squared error
    of the best blur around a pixel, the odds are (E_ab / E_ba)^GAIN. Without detail, or under noise, both
    errors are about FLOOR and the odds are even. Where neither frame explains the other, the comparison is
    random; `single` takes this doubt into account.

    At most three frames are in memory. Each is blurred once and compared with both neighbours.
    """
    window = gaussian(_window(noise))
    remaining = iter(frames)
    before: FloatArray | None = None
    first = next(remaining)
    here: FloatArray | None = first
    forward = None  # error of reproducing `here` by blurring `before`
    attempts = allocate_attempts(first)  # reused for all frames, to save allocations
    while here is not None:
        after = next(remaining, None)
        neighbours = [frame for frame in (before, after) if frame is not None]
        errors = [filtered(error, window) for error in reblur_errors(here, neighbours, attempts)]
        if forward is not None:
            yield _odds(forward, errors[0], noise)
        before, here, forward = here, after, errors[-1]


def allocate_attempts(frame: FloatArray) -> FloatArray:
    """Return an array for a frame (c, h, w) at all blurs."""
    return np.empty((len(BLURS), *frame.shape), np.float32)


def reblur_errors(sharp: FloatArray, others: Sequence[FloatArray], attempts: FloatArray) -> list[FloatArray]:
    """Return the squared errors (h, w) of reproducing each of `others` (c, h, w) by the best blur of `sharp`.

    `attempts`, from `allocate_attempts`, is overwritten.
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
    """Return the log odds that b is the sharper one, from squared errors (h, w)."""
    doubt = filtered(np.minimum(a_gives_b, b_gives_a), DOUBT_WINDOW)
    logs = np.empty((2, 2, *doubt.shape), np.float32)
    constants = (FLOOR, DOUBT, noise**2, HALF_IN_DOUBT)
    add_floor_and_doubt(a_gives_b, b_gives_a, tuple(map(np.float32, constants)), doubt, logs)
    np.log(logs, out=logs)
    odds = np.subtract(logs[:, 0], logs[:, 1], out=logs[:, 0])
    odds *= np.float32(GAIN)
    return LogOdds(odds[0], odds[1], doubt)


def log_odds_reach(noise: float) -> int:
    """Return the radius in pixels of the area that `log_odds` at a pixel depend on."""
    return reach(*BLURS) + REACH + reach(gaussian(_window(noise)), DOUBT_WINDOW)


def estimate_noise(parts: Iterable[FloatArray]) -> float:
    """Estimate the standard deviation of the noise of a frame from parts (h, w) of it, in their unit.

    Second differences remove most of the image content. Their median is hardly changed by edges and texture,
    as long as these cover less than half of the pixels.
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
