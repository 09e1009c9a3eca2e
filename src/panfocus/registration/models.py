"""Motion models (shift to homography) as 3 x 3 matrices, and their robust fit to matched points.

A matrix H maps a pixel (x, y, 1) of one frame to its position in another frame, in homogeneous coordinates.
x and y are column and row, counted from the centre of the first pixel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.registration import MODELS
from panfocus.registration._kernel_matching import find_errors, normal_equations

Array = NDArray[np.float64]
Matrix = NDArray[np.float64]
Points = NDArray[np.float64]  # (n, 2), x and y

N_PARAMETERS = dict(zip(MODELS, (2, 4, 6, 8), strict=True))

# Rounds of iteratively reweighted least squares. The first ones minimise absolute errors, which has a single
# minimum; the later ones ignore outliers.
ABSOLUTE_ROUNDS, ROUNDS = 6, 20
CONVERGED = 1e-3  # pixels: stop when a round changes no parameter by more
# A point whose error is this many times the typical error gets weight 1/2. For normally distributed errors in
# two dimensions, the squared error has this median, in units of the variance.
OUTLIER, MEDIAN_SQUARE = 2.0, 1.386


def apply(H: Matrix, points: Points) -> Points:
    """Return the points mapped by H."""
    mapped = points @ H[:, :2].T + H[:, 2]
    return np.asarray(mapped[:, :2] / mapped[:, 2:])


def corners(shape: tuple[int, ...]) -> Points:
    """Return the centres of the four corner pixels of a frame (h, w, ...), clockwise from the top left."""
    right, bottom = shape[1] - 1.0, shape[0] - 1.0
    return np.array([[0, 0], [right, 0], [right, bottom], [0, bottom]], np.float64)


def movement(H: Matrix, shape: tuple[int, ...], base: Matrix | None = None) -> float:
    """Return the largest distance in pixels between the corners mapped by H and by `base` (or unmapped)."""
    at = corners(shape)
    start = at if base is None else apply(base, at)
    return float(np.hypot(*(apply(H, at) - start).T).max())


def basis(model: str, points: Points) -> Array:
    """Return the derivatives (n, 2, parameters) of a small motion at points, in unit coordinates.

    `step` returns the matrix of such a motion.
    """
    u, v = points.T
    zero, one = np.zeros_like(u), np.ones_like(u)
    columns: dict[str, list[tuple[Any, Any]]] = {
        "shift": [(one, zero), (zero, one)],
        "similarity": [(one, zero), (zero, one), (u, v), (-v, u)],
        "affine": [(one, zero), (zero, one), (u, zero), (v, zero), (zero, u), (zero, v)],
    }
    columns["homography"] = [*columns["affine"], (u * u, u * v), (u * v, v * v)]
    return np.stack([np.stack(pair, axis=1) for pair in columns[model]], axis=2)


def step(model: str, parameters: Array) -> Matrix:
    """Return the matrix of a small motion in unit coordinates; products of them stay in the model."""
    H = np.eye(3)
    p = parameters
    H[0, 2], H[1, 2] = p[0], p[1]
    if model == "similarity":
        H[:2, :2] += [[p[2], -p[3]], [p[3], p[2]]]
    elif model in ("affine", "homography"):
        H[:2, :2] += [[p[2], p[3]], [p[4], p[5]]]
    if model == "homography":
        # x / (1 - a x - b y) equals x + a x x + b x y to first order.
        H[2, :2] = -p[6], -p[7]
    return H


def unit_coordinates(shape: tuple[int, ...]) -> Matrix:
    """Return the matrix from pixels to unit coordinates: origin at the centre, longer side from -1 to 1."""
    height, width = shape[:2]
    half = max(height, width) / 2
    return np.array(
        [[1 / half, 0, -(width - 1) / 2 / half], [0, 1 / half, -(height - 1) / 2 / half], [0, 0, 1]]
    )


def at_level(H: Matrix, level: int) -> Matrix:
    """Return the same motion between frames that were halved `level` times (enlarged if negative)."""
    scale = 2.0**-level
    offset = (scale - 1) / 2
    down = np.array([[scale, 0, offset], [0, scale, offset], [0, 0, 1]])
    return normalize(down @ H @ np.linalg.inv(down))


def inverse(H: Matrix) -> Matrix:
    """Return the inverse motion."""
    return np.asarray(np.linalg.inv(H), np.float64)


def normalize(H: Matrix) -> Matrix:
    """Return the matrix scaled so that its last element is 1."""
    return np.asarray(H / H[2, 2])


@dataclass(frozen=True, eq=False)
class Matches:
    """Points of one frame, their positions in another frame, and the precision of these.

    `precision` (n, 2, 2) is the inverse covariance, up to a factor common to all points.
    """

    points: Points
    found: Points
    precision: Array

    def __len__(self) -> int:
        return len(self.points)

    def extend(self, other: "Matches") -> "Matches":
        """Return the matches of both."""
        return Matches(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.found, other.found]),
            np.concatenate([self.precision, other.precision]),
        )


def fit(model: str, matches: Matches, shape: tuple[int, ...], start: Matrix) -> Matrix:
    """Fit a motion model to matches by robust least squares, starting at `start`.

    Outliers get small weights (Cauchy): something moved there, lies at another depth, or was mismatched.
    """
    to_unit = unit_coordinates(shape)
    to_pixels = inverse(to_unit)
    scale = to_pixels[0, 0]
    directions = _directions(model, matches, shape)
    H = start
    for i in range(ROUNDS):
        errors, squares = residuals(H, matches)
        weights = robust_weights(squares)
        if i < ABSOLUTE_ROUNDS:
            weights = np.sqrt(weights) if i else np.ones_like(weights)
        matrix, right = _normal_equations(*directions, errors, weights)
        # Undetermined directions, such as along the only edge, keep a step of 0.
        parameters = np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-10)[0], np.float64)
        H = normalize(H @ to_pixels @ step(model, parameters / scale) @ to_unit)
        if np.abs(parameters).max() < CONVERGED and i > ABSOLUTE_ROUNDS:
            break
    return H


def fit_from_identity(model: str, matches: Matches, shape: tuple[int, ...]) -> Matrix:
    """Fit a motion model without an initial guess; a homography starts at the fitted affine motion."""
    start = fit("affine", matches, shape, np.eye(3)) if model == "homography" else np.eye(3)
    return fit(model, matches, shape, start)


def _directions(model: str, matches: Matches, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the derivatives of all parameters at the points (p, 2, n), plain and times the precision."""
    directions = basis(model, apply(unit_coordinates(shape), matches.points)).transpose(2, 1, 0)
    xx, xy, yy = matches.precision[:, 0, 0], matches.precision[:, 0, 1], matches.precision[:, 1, 1]
    x, y = directions[:, 0], directions[:, 1]
    return np.ascontiguousarray(directions), np.stack([xx * x + xy * y, xy * x + yy * y], axis=1)


def information(model: str, matches: Matches, shape: tuple[int, ...], weights: Array) -> Array:
    """Return the inverse covariance of a model's parameters, in pixels."""
    no_errors = np.zeros((2, len(matches)))
    return _normal_equations(*_directions(model, matches, shape), no_errors, weights)[0]


def _normal_equations(
    directions: Array, weighted: Array, errors: Array, weights: Array
) -> tuple[Array, Array]:
    """Return the matrix and the right side of weighted least squares."""
    n_parameters = len(directions)
    matrix, right = np.empty((n_parameters, n_parameters)), np.empty(n_parameters)
    normal_equations(directions, weighted, errors, weights, matrix, right)
    return matrix, right


def residuals(H: Matrix, matches: Matches) -> tuple[Array, Array]:
    """Return the errors (2, n) of matches in the first frame, and their squares (n) times the precision."""
    errors, squares = np.empty((2, len(matches))), np.empty(len(matches))
    find_errors(inverse(H), matches.points, matches.found, matches.precision, errors, squares)
    return errors, squares


def robust_weights(squares: Array) -> Array:
    """Return Cauchy weights (0 to 1) for squared errors."""
    typical = float(np.median(squares)) / MEDIAN_SQUARE + 1e-12
    return np.asarray(1 / (1 + squares / (OUTLIER**2 * typical)))
