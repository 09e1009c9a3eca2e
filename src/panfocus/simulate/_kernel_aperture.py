"""Compiled loops that compose the layers of a scene as seen from points of the aperture."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

# Fixed-point steps for a surface of varying depth. Each multiplies the error, first one radius, by the change
# of the radius per pixel: 0.1 px remain for a radius of 14 px that changes by 0.2 px per pixel.
STEPS = 3


@compiled()
def add_views(
    planes: Array,
    radii: Array,
    is_varying: Array,
    places: Array,
    weights: Array,
    margin: int,
    out: Array,
) -> None:
    """Add the weighted views of a scene from the points `places` (n, 2) of the aperture to `out` (h, w, c).

    `planes` (layers, h, w, c + 1) holds light times matte, and matte, of the layers, the farthest first, with
    `margin` pixels around them. Seen from a place, a point of a layer moves by that place times its entry of
    `radii` (layers, h, w), in pixels; a layer that does not vary has the same entry everywhere.
    """
    height, width, channels = out.shape
    n_layers = len(planes)
    moves = np.zeros((n_layers, 2), np.int64)
    for y in range(height):
        for k in range(len(places)):
            down, right = places[k]
            for i in range(n_layers):
                moves[i, 0] = y + margin - np.int64(np.rint(radii[i, 0, 0] * down))
                moves[i, 1] = margin - np.int64(np.rint(radii[i, 0, 0] * right))
            for x in range(width):
                passing = weights[k]  # share of the light behind that reaches this pixel
                for j in range(n_layers):
                    i = n_layers - 1 - j
                    row, column = moves[i, 0], x + moves[i, 1]
                    if is_varying[i]:
                        row, column = y + margin, x + margin
                        for _ in range(STEPS):
                            radius = radii[i, row, column]
                            # Rounded to the nearest integer: the sum is positive.
                            row = np.int64(y + margin + 0.5 - radius * down)
                            column = np.int64(x + margin + 0.5 - radius * right)
                    covered = planes[i, np.uintp(row), np.uintp(column), channels]
                    if covered > 0:
                        for c in range(channels):
                            out[y, x, c] += passing * planes[i, np.uintp(row), np.uintp(column), c]
                        passing *= 1 - covered
                        if passing <= 0:
                            break
