"""From places that were found one by one to the movement that explains most of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panfocus.registration.models import Matrix, Points, apply, basis, inverse, normal, step, unit_coordinates

# Rounds of least squares, each with weights that the last one gave: of absolute errors, which have one best
# answer wherever one starts, then such that what is far off does not count.
ABSOLUTE_ROUNDS, ROUNDS = 6, 20
DONE = 1e-3  # pixels: a round that moves no place further is the last
# A place whose error is so many times the usual one counts half; the square of a usual one, in two
# directions, has this median where errors are normal.
DOUBTFUL, MEDIAN_SQUARE = 2.0, 1.386


@dataclass(frozen=True, eq=False)
class Matches:
    """Places of one frame, where each was found in another, and how surely.

    `precision` (n, 2, 2) is the inverse of a covariance, but for a factor that is the same for all.
    """

    places: Points
    found: Points
    precision: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.places)

    def with_more(self, other: "Matches") -> "Matches":
        """Return both."""
        return Matches(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.found, other.found]),
            np.concatenate([self.precision, other.precision]),
        )


def fit(model: str, matches: Matches, shape: tuple[int, ...], start: Matrix) -> Matrix:
    """Find the movement of a model, from `start` on, that most of the places agree with.

    Least squares, where places that are off by more than is usual count less (Cauchy's weights): something
    moved there, lies at another depth, or was mistaken.
    """
    to_unit = unit_coordinates(shape)
    to_pixels = inverse(to_unit)
    scale = to_pixels[0, 0]
    # Parameters first: sums over all places are then over neighbours in memory, and in a fixed order.
    directions = scale * basis(model, apply(to_unit, matches.places)).transpose(2, 1, 0)  # (p, 2, n)
    weighted = _weighted(matches.precision, directions)
    H = start
    for i in range(ROUNDS):
        errors = residuals(H, matches)
        weights = agreement(errors, matches)
        if i < ABSOLUTE_ROUNDS:
            weights = np.sqrt(weights) if i else np.ones_like(weights)
        normal_matrix = inner(directions * weights, weighted)
        right = inner(weighted * weights, errors.T[None])[:, 0]
        # What nothing tells (a movement along the only edge) stays as it is.
        parameters = np.asarray(np.linalg.lstsq(normal_matrix, right, rcond=1e-10)[0], np.float64)
        H = normal(H @ to_pixels @ step(model, parameters) @ to_unit)
        if np.abs(parameters).max() * scale < DONE and i > ABSOLUTE_ROUNDS:
            break
    return H


def fit_anew(model: str, matches: Matches, shape: tuple[int, ...]) -> Matrix:
    """Find the movement of a model from nothing but the places."""
    start = fit("affine", matches, shape, np.eye(3)) if model == "homography" else np.eye(3)
    return fit(model, matches, shape, start)


def _weighted(precision: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack(
        [precision[:, i, 0] * directions[:, 0] + precision[:, i, 1] * directions[:, 1] for i in (0, 1)],
        axis=1,
    )


def inner(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of products of each of one (p, 2, n) with each of another (q, 2, n)."""
    return np.asarray(np.einsum("pa,qa->pq", one.reshape(len(one), -1), other.reshape(len(other), -1)))


def information(
    model: str, matches: Matches, shape: tuple[int, ...], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the inverse covariance of a model's parameters, in the units of `basis`."""
    to_unit = unit_coordinates(shape)
    directions = basis(model, apply(to_unit, matches.places)).transpose(2, 1, 0) / to_unit[0, 0]
    return inner(directions * weights, _weighted(matches.precision, directions))


def residuals(H: Matrix, matches: Matches) -> NDArray[np.float64]:
    """Return how far, in the first frame, each place is from where H would have it."""
    return apply(inverse(H), matches.found) - matches.places


def squares(errors: NDArray[np.float64], matches: Matches) -> NDArray[np.float64]:
    """Return the square of each error in units of what is expected, up to the factor of all."""
    x, y = errors.T
    xx, xy, yy = matches.precision[:, 0, 0], matches.precision[:, 0, 1], matches.precision[:, 1, 1]
    return np.asarray(xx * x * x + 2 * xy * x * y + yy * y * y)


def agreement(errors: NDArray[np.float64], matches: Matches) -> NDArray[np.float64]:
    """Return a weight of 0 to 1 for each place."""
    off = squares(errors, matches)
    usual = float(np.median(off)) / MEDIAN_SQUARE + 1e-12
    return np.asarray(1 / (1 + off / (DOUBTFUL**2 * usual)))
