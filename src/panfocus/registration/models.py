"""How one frame can lie on another: models of movement, from the simplest to the richest, as 3 x 3 matrices.

A matrix H takes a pixel (x, y, 1), column and row counted from the middle of the first pixel, to its place in
another frame, up to the last number, by which the other two are divided.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Points = NDArray[np.float64]  # (n, 2), x and y

MODELS = ("shift", "similarity", "affine", "homography")  # each holds those before it
N_PARAMETERS = dict(zip(MODELS, (2, 4, 6, 8), strict=True))


def apply(H: Matrix, points: Points) -> Points:
    """Take points to where H says."""
    moved = points @ H[:, :2].T + H[:, 2]
    return np.asarray(moved[:, :2] / moved[:, 2:])


def corners(shape: tuple[int, ...]) -> Points:
    """Return the middles of the four corner pixels of a frame (h, w, ...), clockwise from the top left."""
    right, bottom = shape[1] - 1.0, shape[0] - 1.0
    return np.array([[0, 0], [right, 0], [right, bottom], [0, bottom]], np.float64)


def movement(H: Matrix, shape: tuple[int, ...], base: Matrix | None = None) -> float:
    """Return how many pixels H moves the corner that it moves most, against another matrix or not at all."""
    at = corners(shape)
    start = at if base is None else apply(base, at)
    return float(np.hypot(*(apply(H, at) - start).T).max())


def basis(model: str, points: Points) -> NDArray[np.float64]:
    """Return what each parameter of a small movement does at points: (n, 2, parameters).

    Points are in units in which the frame is about -1 to 1; `step` makes the matrix.
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


def step(model: str, parameters: NDArray[np.float64]) -> Matrix:
    """Return the matrix of a small movement, in the units of `basis`; two of a model make one of it."""
    H = np.eye(3)
    p = parameters
    H[0, 2], H[1, 2] = p[0], p[1]
    if model == "similarity":
        H[:2, :2] += [[p[2], -p[3]], [p[3], p[2]]]
    elif model in ("affine", "homography"):
        H[:2, :2] += [[p[2], p[3]], [p[4], p[5]]]
    if model == "homography":
        # x / (1 - a x - b y) is x + a x x + b x y, but for smaller terms.
        H[2, :2] = -p[6], -p[7]
    return H


def unit_coordinates(shape: tuple[int, ...]) -> Matrix:
    """Return the matrix from pixels to the units of `basis`: the middle is 0, the longer side 2 long."""
    height, width = shape[:2]
    half = max(height, width) / 2
    return np.array(
        [[1 / half, 0, -(width - 1) / 2 / half], [0, 1 / half, -(height - 1) / 2 / half], [0, 0, 1]]
    )


def at_level(H: Matrix, level: int) -> Matrix:
    """Return the same movement between frames that were halved so often; a pixel is then a mean of 2 x 2."""
    scale = 2.0**-level
    offset = (scale - 1) / 2
    down = np.array([[scale, 0, offset], [0, scale, offset], [0, 0, 1]])
    return normal(down @ H @ np.linalg.inv(down))


def inverse(H: Matrix) -> Matrix:
    """Return the way back."""
    return np.asarray(np.linalg.inv(H), np.float64)


def normal(H: Matrix) -> Matrix:
    """Return the matrix with 1 as its last number."""
    return np.asarray(H / H[2, 2])
