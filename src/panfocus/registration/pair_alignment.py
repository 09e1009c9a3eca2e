"""Registration of one frame with another: coarse grid search, then block matching from coarse to fine.

Each block of one frame is located in the other by a Gauss-Newton step on the mean gradients of both frames.
Defocus widens edges symmetrically: it increases the difference between the frames but does not move a block.
Blocks that differ more are therefore weighted less, not rejected.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus._threads import for_all
from panfocus.registration._kernel_matching import SUMS, compare_blocks, warp
from panfocus.registration.models import (
    N_PARAMETERS,
    Matches,
    Matrix,
    apply,
    at_level,
    fit,
    fit_from_identity,
    movement,
)
from panfocus.registration.pyramid import Pyramid

# Grid search.
SEARCH_SIDE = 128  # pixels: longest side of the level that is searched
SCALES = np.exp(np.linspace(-0.2, 0.2, 11))  # 0.82 to 1.22
ROTATIONS = np.deg2rad(np.linspace(-5, 5, 7))
LARGEST_SHIFT = 0.25  # of the side

# Block matching.
SIDE, SMALL_SIDE = 16, 8  # pixels of a block; small blocks on small levels
SMALL_LEVEL = 160  # pixels of the shorter side below which blocks are small
ROWS_AT_ONCE = 12  # rows of blocks that a thread compares
LEAST_BLOCKS = max(N_PARAMETERS.values())  # for the richest model: twice the minimum
BENT = 0.5  # pixels of the finest level: smallest corner movement for which a homography is tried
WORSE = 1.15  # ratio of (1 - score) above which a result is clearly worse
STEPS = 12  # iterations at each level, at most
STILL, STILL_FINEST = 0.05, 0.03  # pixels of a level: stop when no corner moves further
LARGEST_OFFSET = 2.0  # pixels of a level that a block may move in one step
FINAL_LEVELS = 3  # finest levels whose matches are used together
# Smallest difference, relative to a frame's contrast. Smooth areas of JPEG files agree exactly with the
# compression grid, which does not move with the scene; without this floor they would get infinite weight.
FLOOR = 0.02


@dataclass(frozen=True, eq=False)
class Registration:
    """Motion between two frames."""

    H: Matrix  # from the first frame to the second
    matches: Matches
    score: float  # correlation of the frames, -1 to 1


def register(fixed: Pyramid, moving: Pyramid, *, model: str, start: Matrix | None = None) -> Registration:
    """Register `moving` with `fixed`. With a good `start`, only the finest levels are used.

    `model` is one of `MODELS` or "auto". With "auto", blocks are matched along a similarity, or along a
    homography if that fits clearly better.
    """
    finest, coarsest = fixed.finest, fixed.coarsest
    # A few blocks on coarse levels cannot determine more parameters.
    simple = "shift" if model == "shift" else "similarity"
    if start is None:
        H, first = search_grid(fixed, moving, shift_only=model == "shift"), coarsest
    else:
        H, first = start, min(finest + FINAL_LEVELS - 1, coarsest)
    judge = min(finest + FINAL_LEVELS - 1, coarsest)  # scores are compared here: defocus matters least
    trusted = first
    for level in range(first, finest - 1, -1):
        finer = _refine(fixed, moving, H, simple, level)
        if level < judge and _is_worse(
            match_blocks(fixed, moving, finer, judge)[1], match_blocks(fixed, moving, H, judge)[1]
        ):
            break
        H, trusted = finer, level
    together, score = _match_levels(fixed, moving, H, trusted, judge)
    if model not in ("shift", "similarity") and len(together) >= LEAST_BLOCKS:
        richest = "homography" if model == "auto" else model
        richer = fit_from_identity(richest, together, fixed.shape)
        if model != "auto" or movement(richer, fixed.shape, H) > BENT * 2**finest:
            richer = _refine(fixed, moving, richer, richest, trusted)
            matches, richer_score = _match_levels(fixed, moving, richer, trusted, judge)
            if model != "auto" or _is_worse(score, richer_score):
                H, together, score = richer, matches, richer_score
    return Registration(H, together, score)


def _is_worse(score: float, other: float) -> bool:
    """Return whether a score is clearly worse than another.

    A finer level can be worse if it shows structure that does not move with the scene: a compression grid or
    dust.
    """
    return 1 - score > WORSE * (1 - other) + 1e-4


def _refine(fixed: Pyramid, moving: Pyramid, H: Matrix, model: str, level: int) -> Matrix:
    """Match and fit alternately until the motion converges."""
    for _ in range(STEPS):
        matches, _ = match_blocks(fixed, moving, H, level)
        if len(matches) < N_PARAMETERS[model]:
            break
        last, H = H, fit(model, matches, fixed.shape, H)
        if movement(H, fixed.shape, last) < (STILL_FINEST if level == fixed.finest else STILL) * 2**level:
            break
    return H


def _match_levels(
    fixed: Pyramid, moving: Pyramid, H: Matrix, finest: int, judge: int
) -> tuple[Matches, float]:
    """Return the matches of all levels from `finest` to `judge`, and the score at `judge`."""
    together, score = match_blocks(fixed, moving, H, max(judge, finest))
    for level in range(finest, max(judge, finest)):
        matches, _ = match_blocks(fixed, moving, H, level)
        together = together.extend(matches)
    return together, score


def match_blocks(fixed: Pyramid, moving: Pyramid, H: Matrix, level: int) -> tuple[Matches, float]:
    """Locate the blocks of a level near the positions predicted by H; return matches and correlation."""
    here, there = fixed[level], moving[level]
    side = SMALL_SIDE if min(here.shape) < SMALL_LEVEL else SIDE
    sums = np.zeros((here.shape[0] // side, here.shape[1] // side, SUMS))
    local = at_level(H, level)

    def compare(first: int) -> None:
        compare_blocks(here, there, local, side, first, sums[first : first + ROWS_AT_ONCE])

    starts = range(0, len(sums), ROWS_AT_ONCE)
    if len(starts) > 1:
        for_all(compare, starts)
    else:  # starting threads would take longer than the work
        compare(0)
    floor = side**2 * (FLOOR * float(here.std())) ** 2
    rows, cols = np.nonzero(sums[..., 6] > 0)
    usable = sums[rows, cols]
    centres = np.stack([cols, rows], axis=1).astype(np.float64) * side + (side - 1) / 2
    matches = _locate(usable, centres, local, side, floor)
    scale = 2.0**level
    points, found = ((at + 0.5) * scale - 0.5 for at in (matches.points, matches.found))
    return Matches(points, found, matches.precision / scale**2), _correlation(usable)


def _correlation(sums: NDArray[np.float64]) -> float:
    """Return the mean correlation of blocks, weighted by their contrast."""
    strength = np.sqrt(sums[:, 6] * sums[:, 7]).sum()
    return float(sums[:, 8].sum() / strength) if strength > 0 else 0.0


def _locate(
    sums: NDArray[np.float64], centres: NDArray[np.float64], H: Matrix, side: int, floor: float
) -> Matches:
    """Return the position of each block after one Gauss-Newton step, in pixels of the level."""
    xx, xy, yy, dx, dy, squares = sums[:, :6].T
    # A small ridge keeps a block in place along an edge, where its position is undetermined.
    ridge = 0.01 * (xx + yy) + 1e-30
    xx, yy = xx + ridge, yy + ridge
    determinant = xx * yy - xy * xy
    offset = np.stack([yy * dx - xy * dy, xx * dy - xy * dx], axis=1) / determinant[:, None]
    length = np.hypot(*offset.T)
    offset *= np.minimum(1, LARGEST_OFFSET / np.maximum(length, LARGEST_OFFSET))[:, None]
    variance = (squares + floor) / side**2
    precision = np.stack([np.stack([xx, xy], axis=1), np.stack([xy, yy], axis=1)], axis=1)
    return Matches(centres, apply(H, centres + offset), precision / variance[:, None, None])


def search_grid(fixed: Pyramid, moving: Pyramid, *, shift_only: bool = False) -> Matrix:
    """Return the similarity (or shift) on a grid with the highest correlation, on a coarse level.

    For each scale and rotation, cross-correlation finds the best shift.
    """
    from scipy.fft import irfft2, next_fast_len, rfft2

    level = fixed.coarsest
    while level > fixed.finest and max(fixed[level - 1].shape) <= SEARCH_SIDE:
        level -= 1
    here, there = _normalize_contrast(fixed[level]), _normalize_contrast(moving[level])
    height, width = here.shape
    window = np.outer(_taper(height), _taper(width)).astype(np.float32)
    size = (
        next_fast_len(height + int(LARGEST_SHIFT * height), real=True),
        next_fast_len(width + int(LARGEST_SHIFT * width), real=True),
    )
    spectrum = np.conj(rfft2(here * window, size))
    allowed = np.outer(_allowed_shifts(size[0], height), _allowed_shifts(size[1], width))
    strength = float(np.linalg.norm(here * window))
    best, best_score = np.eye(3), -np.inf
    warped = np.empty_like(here)
    for scale, angle in [(1.0, 0.0)] if shift_only else product(SCALES, ROTATIONS):
        guess = _similarity(scale, angle, here.shape)
        warp(there, guess, warped)
        warped *= window
        peaks = irfft2(rfft2(warped, size) * spectrum, size)
        peaks[~allowed] = -np.inf
        row, col = np.unravel_index(int(np.argmax(peaks)), size)
        score = float(peaks[row, col]) / (strength * float(np.linalg.norm(warped)) + 1e-30)
        if score > best_score:
            shift = np.eye(3)
            shift[0, 2] = col if col < size[1] / 2 else col - size[1]
            shift[1, 2] = row if row < size[0] / 2 else row - size[0]
            best, best_score = guess @ shift, score
    return at_level(best, -level)


def _normalize_contrast(plane: FloatArray) -> FloatArray:
    """Remove slow brightness changes, such as vignetting, and reduce differences in local contrast."""
    from scipy.ndimage import gaussian_filter

    detail = plane - gaussian_filter(plane, 4, mode="nearest")
    strength = np.sqrt(gaussian_filter(detail * detail, 8, mode="nearest"))
    return np.asarray(detail / (strength + 0.2 * strength.mean() + 1e-12), np.float32)


def _similarity(scale: float, angle: float, shape: tuple[int, ...]) -> Matrix:
    middle = np.array([(shape[1] - 1) / 2, (shape[0] - 1) / 2])
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    H = np.eye(3)
    H[:2, :2], H[:2, 2] = turn, middle - turn @ middle
    return H


def _taper(n: int) -> NDArray[np.float64]:
    edge = np.minimum(np.arange(n) + 0.5, n - 0.5 - np.arange(n)) / (0.15 * n)
    return np.asarray(np.sin(np.pi / 2 * np.minimum(edge, 1)) ** 2)


def _allowed_shifts(size: int, length: int) -> NDArray[np.bool_]:
    offset = np.arange(size)
    return np.minimum(offset, size - offset) <= LARGEST_SHIFT * length
