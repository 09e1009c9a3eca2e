"""Alignment of a whole stack: register nearby pairs of frames, then solve for all frames together."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from panfocus._progress import Progress
from panfocus.registration import MODELS
from panfocus.registration.models import (
    N_PARAMETERS,
    Matches,
    Matrix,
    Points,
    apply,
    basis,
    corners,
    fit,
    fit_from_identity,
    information,
    inverse,
    movement,
    residuals,
    robust_weights,
    unit_coordinates,
)
from panfocus.registration.pair_alignment import Registration, register
from panfocus.registration.pyramid import Pyramid
from panfocus.stack import Frames

# In the image sets measured, defocused frames of one scene correlate by 0.88 or more, frames of different
# scenes by less than 0.35.
LEAST_SCORE = 0.5
LEAST_MATCHES = 8
LEAST_SCALE, MOST_SCALE = 0.6, 1.7  # focus breathing between two frames is smaller
LARGEST_SHIFT = 0.4  # of the longer side, for the centre of a frame
REACH = 2  # neighbours registered on each side; the second one keeps errors from accumulating
ROUNDS = 5  # of least squares over all pairs

Pair = tuple[int, int]
Matrices = NDArray[np.float64]  # (m, 3, 3) or (m, 2, 2)


def register_neighbours(frames: Frames, model: str, progress: Progress) -> dict[Pair, Registration]:
    """Register every frame with the two before it, holding at most three frames."""
    pairs: dict[Pair, Registration] = {}
    before: deque[tuple[int, Pyramid]] = deque(maxlen=REACH)
    for k in range(len(frames)):
        pyramid = Pyramid(frames, k)
        for j, earlier in reversed(before):
            between = pairs.get((j, k - 1)), pairs.get((k - 1, k))
            start = None
            if between[0] and between[1] and all(is_good(r, pyramid.shape) for r in between if r):
                start = between[1].H @ between[0].H
            pairs[j, k] = register(earlier, pyramid, model=model, start=start)
        before.append((k, pyramid))
        progress("align", (k + 1) / len(frames))
    return pairs


def is_good(registration: Registration, shape: tuple[int, ...]) -> bool:
    """Return whether the registration of a pair is reliable."""
    height, width = shape[:2]
    H = registration.H
    middle = np.array([[(width - 1) / 2, (height - 1) / 2]])
    shift = float(np.hypot(*(apply(H, middle) - middle)[0])) / max(height, width)
    area = float(np.linalg.det(H[:2, :2]))
    return (
        registration.score >= LEAST_SCORE
        and len(registration.matches) >= LEAST_MATCHES
        and LEAST_SCALE**2 < area < MOST_SCALE**2
        and shift < LARGEST_SHIFT
    )


def connected_groups(pairs: Iterable[Pair], n: int) -> list[set[int]]:
    """Return the connected groups of frames, the largest first."""
    group_of = [{k} for k in range(n)]
    for i, j in pairs:
        small, large = sorted((group_of[i], group_of[j]), key=len)
        if small is not large:
            large |= small
            for k in small:
                group_of[k] = large
    groups = {id(group): group for group in group_of}.values()
    return sorted(groups, key=lambda group: (-len(group), min(group)))


@dataclass(frozen=True, eq=False)
class PairFit:
    """Matches of a pair of frames, and the motion that each model fits to them."""

    matches: Matches
    motions: dict[str, Matrix]
    typical: float  # squared error of the richest model, the scale of errors for all models


def fit_models(registration: Registration, shape: tuple[int, ...]) -> PairFit:
    """Fit every motion model to the matches of a pair."""
    matches = registration.matches
    motions: dict[str, Matrix] = {}
    for model in MODELS:
        start = motions["affine"] if model == "homography" else np.eye(3)
        motions[model] = fit(model, matches, shape, start)
    squares = residuals(motions[MODELS[-1]], matches)[1]
    return PairFit(matches, motions, 4 * float(np.median(squares)) + 1e-12)


@dataclass(frozen=True, eq=False)
class Solution:
    """Transforms of all frames of a stack under one motion model."""

    transforms: dict[int, Matrix]  # from the reference to each frame
    cost: float  # robust sum of squared errors
    n_parameters: int  # of all pairs


def solve(
    model: str | None,
    pairs: Mapping[Pair, PairFit],
    reference: int,
    members: Iterable[int],
    shape: tuple[int, ...],
) -> Solution:
    """Combine the motions of all pairs under one model; None means no motion."""
    motions = {pair: fitted.motions[model] if model else np.eye(3) for pair, fitted in pairs.items()}
    squares = {pair: residuals(motions[pair], fitted.matches)[1] for pair, fitted in pairs.items()}
    cost = sum(float(np.log1p(squares[pair] / fitted.typical).sum()) for pair, fitted in pairs.items())
    if model is None:
        return Solution({k: np.eye(3) for k in members}, cost, 0)
    weights = {
        pair: _certainty(model, fitted.matches, squares[pair], shape) for pair, fitted in pairs.items()
    }
    transforms = _combine(model, motions, weights, reference, sorted(members), shape)
    return Solution(transforms, cost, N_PARAMETERS[model] * len(pairs))


def _certainty(model: str, matches: Matches, squares: NDArray[np.float64], shape: tuple[int, ...]) -> float:
    """Return the inverse variance, in square pixels, of the corners as mapped by a pair's motion."""
    typical = float(np.median(squares)) + 1e-12
    precision = information(model, matches, shape, robust_weights(squares) / typical)
    at_corners = basis(model, apply(unit_coordinates(shape), corners(shape)))
    covariance = np.linalg.pinv(precision, hermitian=True)
    return 1 / (float(np.einsum("nip,pq,niq->", at_corners, covariance, at_corners)) / 4 + 1e-6)


def _combine(
    model: str,
    motions: Mapping[Pair, Matrix],
    weights: Mapping[Pair, float],
    reference: int,
    members: list[int],
    shape: tuple[int, ...],
) -> dict[int, Matrix]:
    """Solve for the positions of the reference's corners in all frames by least squares over the pairs."""
    if not motions:  # no other frame is connected with the reference
        return {reference: np.eye(3)}
    at = corners(shape)
    start = _chain(motions, reference)
    positions = np.stack([apply(start[k], at) for k in members])
    number = {k: i for i, k in enumerate(members)}
    first, second = (np.array([number[pair[end]] for pair in motions]) for end in (0, 1))
    H, weight = np.stack(list(motions.values())), np.array([weights[pair] for pair in motions])
    fixed = number[reference]
    for _ in range(ROUNDS):
        for c in range(len(at)):
            # position_k = H(position_j), linearised at the current positions.
            mapped, slope = _map_points(H, positions[first, c])
            step = _least_squares(first, second, slope, mapped - positions[second, c], weight, fixed)
            positions[:, c] += step
    equal = np.broadcast_to(np.eye(2), (len(at), 2, 2))
    return {
        k: np.eye(3) if k == reference else fit_from_identity(model, Matches(at, positions[i], equal), shape)
        for i, k in enumerate(members)
    }


def _map_points(H: Matrices, points: Points) -> tuple[Points, Matrices]:
    """Map each point (m, 2) by its own matrix (m, 3, 3); return positions and derivatives (m, 2, 2)."""
    x = np.einsum("mij,mj->mi", H[:, :, :2], points) + H[:, :, 2]
    mapped = x[:, :2] / x[:, 2:]
    slope = (H[:, :2, :2] - mapped[:, :, None] * H[:, 2:, :2]) / x[:, 2, None, None]
    return mapped, slope


def _least_squares(
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    slope: Matrices,
    error: Points,
    weight: NDArray[np.float64],
    fixed: int,
) -> Points:
    """Solve step_second - slope step_first = error for all pairs together; the fixed frame's step is 0.

    Pairs are at most REACH frames apart, so the normal equations are banded: the time is linear in the number
    of frames.
    """
    n, diagonals = int(max(first.max(), second.max())) + 1, 2 * REACH + 2
    bands = np.zeros((diagonals, 2 * n))  # [i - j, j] is row i, column j
    right = np.zeros((n, 2))
    transposed = weight[:, None, None] * slope.transpose(0, 2, 1)
    blocks = (
        (second, second, weight[:, None, None] * np.eye(2)),
        (first, first, transposed @ slope),
        (second, first, -weight[:, None, None] * slope),
    )
    for frame, other, block in blocks:  # `second` is the later frame, so these blocks are below the diagonal
        for i in range(2):
            for j in range(2):
                row, column = 2 * frame + i, 2 * other + j
                lower = row >= column
                np.add.at(bands, ((row - column)[lower], column[lower]), block[lower, i, j])
    np.add.at(right, second, weight[:, None] * error)
    np.add.at(right, first, -np.einsum("mij,mj->mi", transposed, error))
    right[fixed] = 0
    for i in (2 * fixed, 2 * fixed + 1):  # replace its equations by step = 0
        bands[:, i] = 0
        for above in range(1, min(diagonals, i + 1)):
            bands[above, i - above] = 0
        bands[0, i] = 1
    steps: Points = solveh_banded(bands, right.ravel(), lower=True)
    return steps.reshape(n, 2)


def _chain(motions: Mapping[Pair, Matrix], reference: int) -> dict[int, Matrix]:
    """Return the motion from the reference to every frame along the fewest pairs, nearest frames first."""
    steps: dict[int, list[tuple[int, Matrix]]] = {}
    for (j, k), H in motions.items():
        steps.setdefault(j, []).append((k, H))
        steps.setdefault(k, []).append((j, inverse(H)))
    transforms = {reference: np.eye(3)}
    waiting = deque([reference])
    while waiting:
        j = waiting.popleft()
        for k, H in sorted(steps.get(j, []), key=lambda pair: abs(pair[0] - j)):
            if k not in transforms:
                transforms[k] = H @ transforms[j]
                waiting.append(k)
    return transforms


def largest_difference(one: Solution, other: Solution, shape: tuple[int, ...]) -> float:
    """Return the largest distance between the corners of two solutions, in pixels."""
    return max(movement(H, shape, other.transforms[k]) for k, H in one.transforms.items())
