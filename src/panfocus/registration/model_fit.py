"""From places that were found one by one to the movement that explains most of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panfocus.registration._kernel_fit import find_errors, normal_equations
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
    directions, weighted = _directions(model, matches, shape)
    n_parameters = len(directions)
    matrix, right = np.empty((n_parameters, n_parameters)), np.empty(n_parameters)
    H = start
    for i in range(ROUNDS):
        errors, off = find_off(H, matches)
        weights = agreement(off)
        if i < ABSOLUTE_ROUNDS:
            weights = np.sqrt(weights) if i else np.ones_like(weights)
        normal_equations(directions, weighted, errors, weights, matrix, right)
        # What nothing tells (a movement along the only edge) stays as it is.
        parameters = np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-10)[0], np.float64)
        H = normal(H @ to_pixels @ step(model, parameters / scale) @ to_unit)
        if np.abs(parameters).max() < DONE and i > ABSOLUTE_ROUNDS:
            break
    return H


def fit_anew(model: str, matches: Matches, shape: tuple[int, ...]) -> Matrix:
    """Find the movement of a model from nothing but the places."""
    start = fit("affine", matches, shape, np.eye(3)) if model == "homography" else np.eye(3)
    return fit(model, matches, shape, start)


def _directions(
    model: str, matches: Matches, shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each parameter does at the places, in pixels of a corner, and that times the precision.

    Parameters come first (p, 2, n): sums over all places are then over neighbours in memory.
    """
    directions = basis(model, apply(unit_coordinates(shape), matches.places)).transpose(2, 1, 0)
    xx, xy, yy = matches.precision[:, 0, 0], matches.precision[:, 0, 1], matches.precision[:, 1, 1]
    x, y = directions[:, 0], directions[:, 1]
    return np.ascontiguousarray(directions), np.stack([xx * x + xy * y, xy * x + yy * y], axis=1)


def information(
    model: str, matches: Matches, shape: tuple[int, ...], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the inverse covariance of a model's parameters, in pixels."""
    directions, weighted = _directions(model, matches, shape)
    n_parameters = len(directions)
    matrix, right = np.empty((n_parameters, n_parameters)), np.empty(n_parameters)
    normal_equations(directions, weighted, np.zeros((2, len(matches))), weights, matrix, right)
    return matrix


def find_off(H: Matrix, matches: Matches) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far, in the first frame, each place is from where H would have it.

    Errors (2, n), and their squares in units of what is expected, up to the factor of all.
    """
    errors, off = np.empty((2, len(matches))), np.empty(len(matches))
    find_errors(inverse(H), matches.places, matches.found, matches.precision, errors, off)
    return errors, off


def agreement(off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a weight of 0 to 1 for each place, by the square of its error."""
    usual = float(np.median(off)) / MEDIAN_SQUARE + 1e-12
    return np.asarray(1 / (1 + off / (DOUBTFUL**2 * usual)))
