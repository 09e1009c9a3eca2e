"""Dense SIFT: D. Lowe's descriptor at every pixel, of one size, upright and not normalised.

A descriptor has 4 x 4 cells of `cell` pixels with 8 orientations each. A pixel's gradient is shared out
linearly between the cells around it and between the two orientations next to its own. The window has no
Gaussian weight. Since the shares in the orientations sum to one, the sum of the 128 entries is the gradient's
magnitude, filtered by the sum of the cells' weights: no descriptor has to be formed for it.
"""

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.ndimage import correlate1d, gaussian_filter

from panfocus._filters import Filter, filtered
from panfocus._intensity import FloatArray, IntArray
from panfocus.methods._kernel_dense_sift import (
    N_CELLS,
    N_ORIENTATIONS,
    best_moves,
    share_orientations,
)

SMOOTHING = 1.0  # standard deviation, in pixels, of the Gaussian whose derivative is the gradient
SMOOTHING_RADIUS = 4
GRADIENT_RADIUS = SMOOTHING_RADIUS + 1
CENTRES = np.arange(N_CELLS) - (N_CELLS - 1) / 2  # of the cells, from the pixel, in cells

Places = tuple[IntArray, IntArray]  # rows and columns


def reach(cell: int) -> int:
    """Pixels around a pixel that its descriptor sees."""
    return math.ceil(2.5 * cell) - 1 + GRADIENT_RADIUS


def activity(gray: FloatArray, cell: int) -> FloatArray:
    """Sum of the descriptor's entries at every pixel; beyond its edges the image is mirrored."""
    up, across = gradient(gray)
    magnitude = np.sqrt(up * up + across * across)
    offsets = np.arange(-math.ceil(2.5 * cell), math.ceil(2.5 * cell) + 1)
    weights = np.sum([_tent(offsets - centre * cell, cell) for centre in CENTRES], axis=0)
    return correlate1d(correlate1d(magnitude, weights, axis=0), weights, axis=1)


def descriptors(gray: FloatArray, cell: int) -> FloatArray:
    """Descriptors (h, w, 128): cells row by row, orientations counter-clockwise from the right."""
    cells = cell_map(gray, cell)
    return np.concatenate(_of_pixels(cells, cell), axis=2)


def cell_map(gray: FloatArray, cell: int, margin: int = 0) -> FloatArray:
    """Orientations (..., 8) of the cell at every place that is a cell of some pixel's descriptor.

    The first cell of pixel (y, x) is that at (y, x), the others follow `cell` apart. The image is mirrored
    beyond its edges, and has pixels there too, up to `margin` away.
    """
    first = math.floor(CENTRES[0] * cell)
    halfway = CENTRES[0] * cell - first  # cells of an odd side have their centres between pixels
    hem = cell + GRADIENT_RADIUS
    before, behind = margin - first + hem, margin + first + (N_CELLS - 1) * cell + hem
    up, across = gradient(np.pad(gray, (before, behind), "symmetric"))
    orientations = np.zeros((*up.shape, N_ORIENTATIONS), gray.dtype)
    share_orientations(up, across, orientations)
    inside = slice(GRADIENT_RADIUS, -GRADIENT_RADIUS)
    weights = _tent(np.arange(-cell, cell + 1) - halfway, cell).astype(gray.dtype)
    cells = filtered(orientations[inside, inside], Filter(weights))
    return np.ascontiguousarray(cells[cell:-cell, cell:-cell])


class Searchable(NamedTuple):
    """What is needed of an image to find places of another in it."""

    cells: FloatArray  # with a margin of the search radius
    per_length: (
        FloatArray  # one over the length of each pixel's descriptor; 0 where it is flat, like no other
    )
    cell: int
    radius: int

    @classmethod
    def of(cls, gray: FloatArray, cell: int, radius: int) -> "Searchable":
        """Prepare an image for moves of up to `radius` rows and columns."""
        cells = cell_map(gray, cell, radius)
        inside = slice(radius, len(cells) - radius), slice(radius, cells.shape[1] - radius)
        squares = np.einsum("hwo,hwo->hw", cells[inside], cells[inside])
        lengths = np.sqrt(np.sum(_of_pixels(squares, cell), axis=0))
        per_length = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return cls(cells, per_length, cell, radius)


def matches(here: Searchable, there: Searchable, places: Places) -> Places:
    """Return where `there` shows what `here` shows at some places.

    That is where the normalised descriptor is nearest, up to the search radius away; of places alike it is
    the nearest, so where all is flat nothing moves.
    """
    span = range(-here.radius, here.radius + 1)
    moves = np.array(sorted(product(span, span), key=lambda move: (move[0] ** 2 + move[1] ** 2, move)))
    best = np.empty(len(places[0]), np.intp)
    best_moves(*places, here.cells, there.cells, there.per_length, here.cell, moves, best)
    return places[0] + moves[best, 0], places[1] + moves[best, 1]


def gradient(gray: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of the smoothed image, upwards and to the right."""
    smooth = gaussian_filter(gray, SMOOTHING, radius=SMOOTHING_RADIUS)
    return correlate1d(smooth, [0.5, 0, -0.5], axis=0), correlate1d(smooth, [-0.5, 0, 0.5], axis=1)


def _of_pixels(cells: FloatArray, cell: int) -> list[FloatArray]:
    """Each of the 16 cells of all pixels, row by row."""
    height, width = (side - (N_CELLS - 1) * cell for side in cells.shape[:2])
    starts = range(0, N_CELLS * cell, cell)
    return [cells[i : i + height, j : j + width] for i in starts for j in starts]


def _tent(distance: FloatArray, cell: int) -> FloatArray:
    return np.maximum(0, 1 - np.abs(distance) / cell)
