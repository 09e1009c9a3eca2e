"""One frame on another: coarse to fine, block by block, blind to what only defocus explains.

Every block of a frame is looked for in the other, near where it is expected, by a Gauss-Newton step on both
frames' gradients. Defocus widens an edge to both sides alike: it adds to the difference of the frames, not to
a movement. So a block that differs much, for whatever reason, is no false witness of where it is, only a less
precise one, and is weighed so.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import for_all
from panfocus.registration._kernel_blocks import SUMS, compare_blocks
from panfocus.registration.coarse_search import search
from panfocus.registration.model_fit import Matches, fit, fit_anew
from panfocus.registration.models import N_PARAMETERS, Matrix, apply, at_level, movement
from panfocus.registration.pyramid import Pyramid

SIDE, SMALL_SIDE = 16, 8  # pixels of a block; the small ones where a level has few
ROWS_AT_ONCE = 12  # of blocks, that a thread compares
FEW = 160  # pixels of the shorter side
LEAST_FOR_ALL = max(N_PARAMETERS.values())  # blocks: twice as many as would do if none were mistaken
BENT = 0.5  # pixels of the finest level by which a homography has to move a corner to be followed
WORSE = 1.15  # times as far from a full correlation
STEPS = 12  # at most, at each level
STILL, STILL_FINEST = 0.05, 0.03  # pixels of a level: a step that moves no corner further is the last
FARTHEST = 2.0  # pixels of a level that a block may be found from where it is expected
LEVELS_TOGETHER = 3  # the finest ones, which find the final places together
# Of a frame's contrast: smaller differences count as so large. A smooth place in a JPEG agrees with itself,
# and with the grid of the compression, to the last bit, wherever the scene is.
FLOOR = 0.02


@dataclass(frozen=True, eq=False)
class Registration:
    """Where one frame lies on another."""

    H: Matrix  # from the first frame to the second
    matches: Matches
    score: float  # correlation of the frames, -1 to 1


def register(fixed: Pyramid, moving: Pyramid, *, model: str, start: Matrix | None = None) -> Registration:
    """Find where `moving` lies on `fixed`; with a good `start` only the finest levels are looked at.

    `model` is one of `MODELS`, or "auto": places are then looked for by a similarity, or by a homography
    where that fits clearly better.
    """
    finest, coarsest = fixed.finest, fixed.coarsest
    followed = (
        "shift" if model == "shift" else "similarity"
    )  # few blocks, and moves that are large, tell no more
    if start is None:
        H, first = search(fixed, moving, shift_only=model == "shift"), coarsest
    else:
        H, first = start, min(finest + LEVELS_TOGETHER - 1, coarsest)
    judge = min(finest + LEVELS_TOGETHER - 1, coarsest)  # the level where defocus matters least
    trusted = first
    for level in range(first, finest - 1, -1):
        finer = _refined(fixed, moving, H, followed, level)
        if level < judge and _doubtful(
            match(fixed, moving, finer, judge)[1], match(fixed, moving, H, judge)[1]
        ):
            break
        H, trusted = finer, level
    together, score = _match_from(fixed, moving, H, trusted, judge)
    if model not in ("shift", "similarity") and len(together) >= LEAST_FOR_ALL:
        richest = "homography" if model == "auto" else model
        richer = fit_anew(richest, together, fixed.shape)
        if model != "auto" or movement(richer, fixed.shape, H) > BENT * 2**finest:
            richer = _refined(fixed, moving, richer, richest, trusted)
            matches, richer_score = _match_from(fixed, moving, richer, trusted, judge)
            if model != "auto" or _doubtful(score, richer_score):
                H, together, score = richer, matches, richer_score
    return Registration(H, together, score)


def _doubtful(one: float, other: float) -> bool:
    """Tell by its score whether one answer is clearly worse than another.

    One of a finer level is worse where that shows what does not move with the scene: a grid of
    compression, dust.
    """
    return 1 - one > WORSE * (1 - other) + 1e-4


def _refined(fixed: Pyramid, moving: Pyramid, H: Matrix, model: str, level: int) -> Matrix:
    """Match and fit in turns, until nothing moves any more."""
    for _ in range(STEPS):
        matches, _ = match(fixed, moving, H, level)
        if len(matches) < N_PARAMETERS[model]:
            break
        last, H = H, fit(model, matches, fixed.shape, H)
        if movement(H, fixed.shape, last) < (STILL_FINEST if level == fixed.finest else STILL) * 2**level:
            break
    return H


def _match_from(fixed: Pyramid, moving: Pyramid, H: Matrix, finest: int, judge: int) -> tuple[Matches, float]:
    """Match at a level and those below it; the score is of the level that judges."""
    together, score = match(fixed, moving, H, max(judge, finest))
    for level in range(finest, max(judge, finest)):
        matches, _ = match(fixed, moving, H, level)
        together = together.with_more(matches)
    return together, score


def match(fixed: Pyramid, moving: Pyramid, H: Matrix, level: int) -> tuple[Matches, float]:
    """Look for the blocks of a level where H expects them; also return how well the frames correlate."""
    here, there = fixed[level], moving[level]
    side = SMALL_SIDE if min(here.shape) < FEW else SIDE
    sums = np.zeros((here.shape[0] // side, here.shape[1] // side, SUMS))
    local = at_level(H, level)

    def compare(first: int) -> None:
        compare_blocks(here, there, local, side, first, sums[first : first + ROWS_AT_ONCE])

    starts = range(0, len(sums), ROWS_AT_ONCE)
    if len(starts) > 1:
        for_all(compare, starts)
    else:  # less work than to start threads for it
        compare(0)
    floor = side**2 * (FLOOR * float(here.std())) ** 2
    rows, cols = np.nonzero(sums[..., 6] > 0)
    kept = sums[rows, cols]
    centres = np.stack([cols, rows], axis=1).astype(np.float64) * side + (side - 1) / 2
    matches = _places(kept, centres, local, side, floor)
    scale = 2.0**level
    places, found = ((points + 0.5) * scale - 0.5 for points in (matches.places, matches.found))
    return Matches(places, found, matches.precision / scale**2), correlation(kept)


def correlation(sums: NDArray[np.float64]) -> float:
    """Return the mean correlation of blocks, each weighed by its contrast."""
    strength = np.sqrt(sums[:, 6] * sums[:, 7]).sum()
    return float(sums[:, 8].sum() / strength) if strength > 0 else 0.0


def _places(
    sums: NDArray[np.float64], centres: NDArray[np.float64], H: Matrix, side: int, floor: float
) -> Matches:
    """Return where each block was found, in pixels of the level."""
    xx, xy, yy, dx, dy, squares = sums[:, :6].T
    # A little is added, as if the block were known to be near: along an edge it then stays where it is.
    ridge = 0.01 * (xx + yy) + 1e-30
    xx, yy = xx + ridge, yy + ridge
    determinant = xx * yy - xy * xy
    offset = np.stack([yy * dx - xy * dy, xx * dy - xy * dx], axis=1) / determinant[:, None]
    length = np.hypot(*offset.T)
    offset *= np.minimum(1, FARTHEST / np.maximum(length, FARTHEST))[:, None]
    variance = (squares + floor) / side**2
    precision = np.stack([np.stack([xx, xy], axis=1), np.stack([xy, yy], axis=1)], axis=1)
    return Matches(centres, apply(H, centres + offset), precision / variance[:, None, None])
