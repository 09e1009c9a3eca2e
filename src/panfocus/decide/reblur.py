"""Re-blur test: if blurring frame A reproduces frame B, frame A is the sharper one at that pixel."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from panfocus._filters import filter_into, filtered, gaussian, largest_around, reach
from panfocus._intensity import FloatArray
from panfocus.decide._kernel_reblur import REACH, add_floor_and_doubt, average_squares, keep_best

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
# Errors of a single pixel that differ by less than the noise of two frames (and their rounding) tell nothing:
# without this, odds of noise alone add up along a stack.
TRUSTED, ROUNDING = 1.5, 0.3  # times the noise variance of a difference; squared levels
# Clipped pixels hide unknown light where they are at least this share of a blur, and where doubt is between
# these two: the more in doubt, the more.
LEAST_CLIPPED, IN_DOUBT_BY_CLIPPING = np.float32(0.05), (0.3, 0.6)
SQUARE = 64  # px: side of the squares in which this is examined
# Squared levels: smaller errors cause less doubt than the first of these. The factor allows for rounding.
NO_DOUBT = 0.99 * HALF_IN_DOUBT * IN_DOUBT_BY_CLIPPING[0] / (1 - IN_DOUBT_BY_CLIPPING[0]) / DOUBT
# px around blurs of clipped pixels in which nothing is taken to vanish: the rim of a bright background moves
# and changes its brightness through focus, and detail has a zero along it.
AROUND_CLIPPED = 10
UNKNOWN = np.float32(1e12)  # squared levels, more than any frame has
WINDOW = 0.6  # px: standard deviation of the window that averages errors, about one pixel
WINDOW_PER_NOISE = 0.2  # px per level of noise, added to the window so that noise averages out

HIGH_PASS = np.array([1.0, -2.0, 1.0])  # applied down and across; multiplies the deviation of noise by 6
MEDIAN_OF_NORMAL = 0.6745  # median absolute value of normal noise, in standard deviations


class LogOdds(NamedTuple):
    """Log odds (h, w) that the second of two frames is the sharper one."""

    regional: FloatArray  # to be averaged over a region
    single: FloatArray  # for the pixel itself: close to 0 where doubt is high or noise decides
    doubt: FloatArray  # 0 to 1: how much of the difference between the frames no blur explains


class _Errors(NamedTuple):
    """Mean squared errors (h, w) of reproducing a frame by blurring its neighbour."""

    usual: FloatArray
    least: FloatArray | None = None  # if the light of clipped pixels is unknown; None without such pixels


def log_odds(
    frames: Iterable[FloatArray], *, noise: float, clip: float | None = None, sections: bool = False
) -> Iterator[LogOdds]:
    """Yield for every two neighbouring frames (c, h, w), in levels, the log odds that the later is sharper.

    If b is sharp, blurring b reproduces a, but blurring a does not reproduce b. With E the mean squared error
    of the best blur around a pixel, the odds are (E_ab / E_ba)^GAIN. Without detail, or under noise, both
    errors are about FLOOR and the odds are even. Where neither frame explains the other, the comparison is
    random; `single` takes this doubt into account.

    At most three frames are in memory. Each is blurred once and compared with both neighbours.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in levels.
    clip : float, optional
        Level from which pixels are clipped: their light, and blurs that contain it, have no upper bound.
    sections : bool
        A frame is also explained if it has no detail: things may vanish out of focus instead of blurring, as
        in optical sections.
    """
    window = gaussian(_window(noise))
    margin = reach(window, window, DOUBT_WINDOW)
    remaining = iter(frames)
    before: FloatArray | None = None
    first = next(remaining)
    here: FloatArray | None = first
    forward = detail_before = None  # errors of reproducing `here` by blurring `before`; detail of `before`
    attempts = allocate_attempts(first)  # reused for all frames, to save allocations
    while here is not None:
        after = next(remaining, None)
        neighbours = [frame for frame in (before, after) if frame is not None]
        glow = _clipped_blurs(here, clip)
        blur_all(here, attempts)
        errors = [
            _Errors(*(filtered(e, window) for e in _errors(attempts, glow, b, margin))) for b in neighbours
        ]
        detail = filtered(_detail(here, attempts[-1], glow), window) if sections else None
        if forward is not None:
            a_gives_b, b_gives_a = _without_clipping(forward, errors[0], noise)
            if detail is not None and detail_before is not None:
                np.minimum(a_gives_b, detail, out=a_gives_b)
                np.minimum(b_gives_a, detail_before, out=b_gives_a)
            yield _odds(a_gives_b, b_gives_a, noise)
        before, here, forward, detail_before = here, after, errors[-1], detail


def allocate_attempts(frame: FloatArray) -> FloatArray:
    """Return an array for a frame (c, h, w) at all blurs."""
    return np.empty((len(BLURS), *frame.shape), np.float32)


def blur_all(frame: FloatArray, attempts: FloatArray) -> None:
    """Write a frame (c, h, w) at all blurs to `attempts`."""
    for blur, attempt in zip(BLURS, attempts, strict=True):
        for plane, blurred in zip(frame, attempt, strict=True):
            filter_into(plane, blur, blurred)
        frame = attempt


def reblur_error(attempts: FloatArray, glow: FloatArray, other: FloatArray) -> FloatArray:
    """Return the squared error (h, w) of reproducing `other` (c, h, w) by the best blur (n, c, h, w).

    Where `glow` (n, h, w) is positive, a blur is a lower bound; `glow` may have no planes.
    """
    error = np.empty(other.shape[1:], np.float32)
    keep_best(attempts, glow, other, error)
    return error


def _errors(attempts: FloatArray, glow: FloatArray, other: FloatArray, margin: int) -> Iterator[FloatArray]:
    """Yield the error of reproducing `other`, and with clipped pixels also the least error."""
    usual = reblur_error(attempts, glow[:0], other)
    yield usual
    if len(glow):
        yield _least_error(attempts, glow, other, usual, margin)


def _least_error(
    attempts: FloatArray, glow: FloatArray, other: FloatArray, usual: FloatArray, margin: int
) -> FloatArray:
    """Return the error (h, w) of reproducing `other` if blurs with clipped pixels are lower bounds.

    It is computed in squares where it can matter: blurs contain clipped pixels, and an error within `margin`
    pixels is large enough to cause doubt. Elsewhere it is the usual error.
    """
    least = usual.copy()
    glowing = np.max(glow, axis=0) > 0
    height, width = usual.shape
    for top, left in product(range(0, height, SQUARE), range(0, width, SQUARE)):
        square = slice(top, min(top + SQUARE, height)), slice(left, min(left + SQUARE, width))
        grown = _grown(square, REACH)
        if glowing[grown].any() and usual[_grown(square, margin)].max() > NO_DOUBT:
            parts = (np.ascontiguousarray(part[..., *grown]) for part in (attempts, glow, other))
            rows, columns = (
                slice(a.start - b.start, a.stop - b.start) for a, b in zip(square, grown, strict=True)
            )
            least[square] = reblur_error(*parts)[rows, columns]
    return least


def _grown(square: tuple[slice, slice], margin: int) -> tuple[slice, slice]:
    rows, columns = (slice(max(0, span.start - margin), span.stop + margin) for span in square)
    return rows, columns


def _clipped_blurs(frame: FloatArray, clip: float | None) -> FloatArray:
    """Return maps (n, h, w) that are positive where clipped pixels contribute to a blur of the frame.

    There are no maps (0, h, w) if no pixel is clipped.
    """
    clipped = None if clip is None else frame.max(axis=0) >= clip
    if clipped is None or not clipped.any():
        return np.empty((0, *frame.shape[1:]), np.float32)
    share = clipped[None].astype(np.float32)
    shares = np.empty((len(BLURS), *share.shape), np.float32)
    blur_all(share, shares)
    glow = shares[:, 0]
    glow -= LEAST_CLIPPED
    return np.maximum(glow, 0, out=glow)


def _detail(frame: FloatArray, smooth: FloatArray, glow: FloatArray) -> FloatArray:
    """Return the squared detail (h, w) of a frame (c, h, w); large around clipped pixels: it is unknown."""
    detail = np.empty(frame.shape[1:], np.float32)
    average_squares(frame, smooth, detail)
    if len(glow):
        detail[largest_around(glow[-1], AROUND_CLIPPED) > 0] = UNKNOWN
    return detail


def _without_clipping(forward: _Errors, backward: _Errors, noise: float) -> tuple[FloatArray, FloatArray]:
    """Replace errors by their least values where clipping is the likely reason that no blur explains a frame.

    Where some blur explains one of the frames, the clipped pixels are as bright as they look.
    """
    if forward.least is None and backward.least is None:
        return forward.usual, backward.usual
    unexplained = filtered(np.minimum(forward.usual, backward.usual), DOUBT_WINDOW)
    added = DOUBT * np.maximum(unexplained - np.float32(noise**2), 0)
    degree = added / (added + np.float32(HALF_IN_DOUBT))
    low, high = IN_DOUBT_BY_CLIPPING
    share = np.clip((degree - np.float32(low)) / np.float32(high - low), 0, 1)
    a, b = (
        usual if least is None else usual + share * (least - usual) for usual, least in (forward, backward)
    )
    return a, b


def _odds(a_gives_b: FloatArray, b_gives_a: FloatArray, noise: float) -> LogOdds:
    """Return the log odds that b is the sharper one, from squared errors (h, w)."""
    doubt = filtered(np.minimum(a_gives_b, b_gives_a), DOUBT_WINDOW)
    logs, trust = np.empty((2, 2, *doubt.shape), np.float32), np.empty(doubt.shape, np.float32)
    by_noise = TRUSTED * (2 * noise**2 + ROUNDING)
    constants = (FLOOR, DOUBT, noise**2, HALF_IN_DOUBT, by_noise)
    add_floor_and_doubt(a_gives_b, b_gives_a, tuple(map(np.float32, constants)), doubt, trust, logs)
    np.log(logs, out=logs)
    odds = np.subtract(logs[:, 0], logs[:, 1], out=logs[:, 0])
    odds *= np.float32(GAIN)
    odds[1] *= trust
    return LogOdds(odds[0], odds[1], doubt)


def log_odds_reach(noise: float, *, clipping: bool) -> int:
    """Return the radius in pixels of the area that `log_odds` at a pixel depend on."""
    doubts = [DOUBT_WINDOW] * (2 if clipping else 1)
    around = max(REACH, AROUND_CLIPPED) if clipping else REACH
    return reach(*BLURS) + around + reach(gaussian(_window(noise)), *doubts)


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
