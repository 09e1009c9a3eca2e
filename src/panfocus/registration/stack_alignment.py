"""A stack on its reference: neighbours on neighbours, every second frame too, and all made to agree."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from panfocus._progress import Progress
from panfocus.registration.model_fit import Matches, agreement, find_off, fit, fit_anew, information
from panfocus.registration.models import (
    MODELS,
    N_PARAMETERS,
    Matrix,
    Points,
    apply,
    basis,
    corners,
    inverse,
    movement,
    unit_coordinates,
)
from panfocus.registration.pair_alignment import Registration, register
from panfocus.registration.pyramid import Pyramid
from panfocus.stack import Frames

# Frames of one scene, however defocused, correlate by 0.88 and more in the sets that were measured, frames of
# other scenes by less than 0.35.
LEAST_SCORE = 0.5
LEAST_MATCHES = 8
LEAST_SCALE, MOST_SCALE = 0.6, 1.7  # of lengths; a lens does not breathe more between two frames
FARTHEST = 0.4  # of the longer side that the middle of a frame may move
REACH = 2  # frames that a frame is compared with on each side: the second keeps errors from adding up
ROUNDS = 5  # of least squares over all pairs

Pair = tuple[int, int]
Matrices = NDArray[np.float64]  # (m, 3, 3) or (m, 2, 2)


def register_neighbours(frames: Frames, model: str, progress: Progress) -> dict[Pair, Registration]:
    """Register every frame with the two before it; no more frames than these are held."""
    found: dict[Pair, Registration] = {}
    before: deque[tuple[int, Pyramid]] = deque(maxlen=REACH)
    for k in range(len(frames)):
        pyramid = Pyramid(frames, k)
        for j, earlier in reversed(before):
            between = found.get((j, k - 1)), found.get((k - 1, k))
            start = None
            if between[0] and between[1] and all(is_good(r, pyramid.shape) for r in between if r):
                start = between[1].H @ between[0].H
            found[j, k] = register(earlier, pyramid, model=model, start=start)
        before.append((k, pyramid))
        progress("align", (k + 1) / len(frames))
    return found


def is_good(registration: Registration, shape: tuple[int, ...]) -> bool:
    """Tell whether a pair can be believed."""
    height, width = shape[:2]
    H = registration.H
    middle = np.array([[(width - 1) / 2, (height - 1) / 2]])
    far = float(np.hypot(*(apply(H, middle) - middle)[0])) / max(height, width)
    area = float(np.linalg.det(H[:2, :2]))
    return (
        registration.score >= LEAST_SCORE
        and len(registration.matches) >= LEAST_MATCHES
        and LEAST_SCALE**2 < area < MOST_SCALE**2
        and far < FARTHEST
    )


def linked(pairs: Iterable[Pair], n: int) -> list[set[int]]:
    """Return the groups of frames that pairs join, the largest first."""
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
class Fitted:
    """A pair, and what each model makes of the places that were found."""

    matches: Matches
    movements: dict[str, Matrix]
    usual: float  # what counts as a large square: the same for all models, by the richest, which fits best


def fit_models(registration: Registration, shape: tuple[int, ...]) -> Fitted:
    """Fit every model to what was found in a pair."""
    matches = registration.matches
    movements: dict[str, Matrix] = {}
    for model in MODELS:
        start = movements["affine"] if model == "homography" else np.eye(3)
        movements[model] = fit(model, matches, shape, start)
    off = find_off(movements[MODELS[-1]], matches)[1]
    return Fitted(matches, movements, 4 * float(np.median(off)) + 1e-12)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a model makes of a stack."""

    transforms: dict[int, Matrix]  # from the reference to each frame
    cost: float  # how badly the places fit
    n_parameters: int  # in all pairs


def explain(
    model: str | None,
    pairs: Mapping[Pair, Fitted],
    reference: int,
    members: Iterable[int],
    shape: tuple[int, ...],
) -> Explanation:
    """Bring what one model, or for None no movement at all, makes of all pairs together."""
    movements = {pair: fitted.movements[model] if model else np.eye(3) for pair, fitted in pairs.items()}
    off = {pair: find_off(movements[pair], fitted.matches)[1] for pair, fitted in pairs.items()}
    cost = sum(float(np.log1p(off[pair] / fitted.usual).sum()) for pair, fitted in pairs.items())
    if model is None:
        return Explanation({k: np.eye(3) for k in members}, cost, 0)
    weights = {pair: _certainty(model, fitted.matches, off[pair], shape) for pair, fitted in pairs.items()}
    transforms = _agreed(model, movements, weights, reference, sorted(members), shape)
    return Explanation(transforms, cost, N_PARAMETERS[model] * len(pairs))


def _certainty(model: str, matches: Matches, off: NDArray[np.float64], shape: tuple[int, ...]) -> float:
    """Return 1 / the variance, in square pixels, of where a pair's movement puts the corners."""
    usual = float(np.median(off)) + 1e-12
    precision = information(model, matches, shape, agreement(off) / usual)
    at_corners = basis(model, apply(unit_coordinates(shape), corners(shape)))
    covariance = np.linalg.pinv(precision, hermitian=True)
    return 1 / (float(np.einsum("nip,pq,niq->", at_corners, covariance, at_corners)) / 4 + 1e-6)


def _agreed(
    model: str,
    fitted: Mapping[Pair, Matrix],
    weights: Mapping[Pair, float],
    reference: int,
    members: list[int],
    shape: tuple[int, ...],
) -> dict[int, Matrix]:
    """Find where the reference's corners lie in every frame, so that all pairs agree as well as can be."""
    if not fitted:  # the reference is alone
        return {reference: np.eye(3)}
    at = corners(shape)
    start = _chained(fitted, reference)
    places = np.stack([apply(start[k], at) for k in members])
    number = {k: i for i, k in enumerate(members)}
    first, second = (np.array([number[pair[end]] for pair in fitted]) for end in (0, 1))
    H, weight = np.stack(list(fitted.values())), np.array([weights[pair] for pair in fitted])
    fixed = number[reference]
    for _ in range(ROUNDS):
        for c in range(len(at)):
            # place_k = H(place_j), to first order around where both are now.
            moved, slope = _moved(H, places[first, c])
            step = _least_squares(first, second, slope, moved - places[second, c], weight, fixed)
            places[:, c] += step
    sure = np.broadcast_to(np.eye(2), (len(at), 2, 2))
    return {
        k: np.eye(3) if k == reference else fit_anew(model, Matches(at, places[i], sure), shape)
        for i, k in enumerate(members)
    }


def _moved(H: Matrices, points: Points) -> tuple[Points, Matrices]:
    """Take each point (m, 2) to where its own matrix (m, 3, 3) says; also the derivatives (m, 2, 2) there."""
    x = np.einsum("mij,mj->mi", H[:, :, :2], points) + H[:, :, 2]
    moved = x[:, :2] / x[:, 2:]
    slope = (H[:, :2, :2] - moved[:, :, None] * H[:, 2:, :2]) / x[:, 2, None, None]
    return moved, slope


def _least_squares(
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    slope: Matrices,
    off: Points,
    weight: NDArray[np.float64],
    fixed: int,
) -> Points:
    """Solve step_second - slope step_first = off for all pairs together; the fixed frame's step is 0.

    Pairs are REACH frames apart at most, so that the normal equations have few diagonals, whatever the
    number of frames.
    """
    n, diagonals = int(max(first.max(), second.max())) + 1, 2 * REACH + 2
    bands = np.zeros((diagonals, 2 * n))  # [i - j, j] is row i, column j
    right = np.zeros((n, 2))
    turned = weight[:, None, None] * slope.transpose(0, 2, 1)
    blocks = (
        (second, second, weight[:, None, None] * np.eye(2)),
        (first, first, turned @ slope),
        (second, first, -weight[:, None, None] * slope),
    )
    for frame, other, block in blocks:  # `second` is the later one: all of it lies below the diagonal
        for i in range(2):
            for j in range(2):
                row, column = 2 * frame + i, 2 * other + j
                lower = row >= column
                np.add.at(bands, ((row - column)[lower], column[lower]), block[lower, i, j])
    np.add.at(right, second, weight[:, None] * off)
    np.add.at(right, first, -np.einsum("mij,mj->mi", turned, off))
    right[fixed] = 0
    for i in (2 * fixed, 2 * fixed + 1):  # its equations become step = 0
        bands[:, i] = 0
        for above in range(1, min(diagonals, i + 1)):
            bands[above, i - above] = 0
        bands[0, i] = 1
    solved: Points = solveh_banded(bands, right.ravel(), lower=True)
    return solved.reshape(n, 2)


def _chained(fitted: Mapping[Pair, Matrix], reference: int) -> dict[int, Matrix]:
    """Go from the reference to every frame over as few pairs as possible, nearest frames first."""
    steps: dict[int, list[tuple[int, Matrix]]] = {}
    for (j, k), H in fitted.items():
        steps.setdefault(j, []).append((k, H))
        steps.setdefault(k, []).append((j, inverse(H)))
    reached = {reference: np.eye(3)}
    waiting = deque([reference])
    while waiting:
        j = waiting.popleft()
        for k, H in sorted(steps.get(j, []), key=lambda pair: abs(pair[0] - j)):
            if k not in reached:
                reached[k] = H @ reached[j]
                waiting.append(k)
    return reached


def farthest(one: Explanation, other: Explanation, shape: tuple[int, ...]) -> float:
    """Return how far apart two models put a corner, at most."""
    return max(movement(H, shape, other.transforms[k]) for k, H in one.transforms.items())
