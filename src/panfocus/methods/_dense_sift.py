"""Dense SIFT: D. Lowe's descriptor at every pixel, at one scale, upright and not normalised.

A descriptor has 4 x 4 cells of `cell` pixels with 8 orientations each. A gradient is distributed linearly
among the cells around it and the two nearest orientations. There is no Gaussian window. The orientation
weights sum to one, so the sum of the 128 entries is the filtered gradient magnitude, computed without
descriptors.
"""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d, gaussian_filter

from panfocus._filters import Filter, filtered
from panfocus._intensity import FloatArray, IntArray
from panfocus._numba import compiled

N_CELLS = 4  # in each direction
N_ORIENTATIONS = 8
SMOOTHING = 1.0  # px: standard deviation of the Gaussian whose derivative is the gradient
SMOOTHING_RADIUS = 4
GRADIENT_RADIUS = SMOOTHING_RADIUS + 1
CENTRES = np.arange(N_CELLS) - (N_CELLS - 1) / 2  # of the cells, relative to the pixel, in cells

Array = NDArray[Any]
Places = tuple[IntArray, IntArray]  # rows and columns


def reach(cell: int) -> int:
    """Return the radius in pixels of the area that a descriptor depends on."""
    return math.ceil(2.5 * cell) - 1 + GRADIENT_RADIUS


def activity(gray: FloatArray, cell: int) -> FloatArray:
    """Return the sum of the descriptor's entries at every pixel; the image is mirrored at its edges."""
    up, across = gradient(gray)
    magnitude = np.sqrt(up * up + across * across)
    offsets = np.arange(-math.ceil(2.5 * cell), math.ceil(2.5 * cell) + 1)
    weights = np.sum([_tent(offsets - centre * cell, cell) for centre in CENTRES], axis=0)
    return correlate1d(correlate1d(magnitude, weights, axis=0), weights, axis=1)


def cell_map(gray: FloatArray, cell: int, margin: int = 0) -> FloatArray:
    """Return the orientations (..., 8), counter-clockwise from the right, of every cell of all descriptors.

    The first cell of pixel (y, x) is at (y, x), the others follow `cell` apart. The image is mirrored at its
    edges; pixels up to `margin` outside have descriptors too.
    """
    first = math.floor(CENTRES[0] * cell)
    halfway = CENTRES[0] * cell - first  # 0.5 if cells of odd size have their centres between pixels
    padding = cell + GRADIENT_RADIUS
    before, after = margin - first + padding, margin + first + (N_CELLS - 1) * cell + padding
    up, across = gradient(np.pad(gray, (before, after), "symmetric"))
    orientations = np.zeros((*up.shape, N_ORIENTATIONS), gray.dtype)
    _share_orientations(up, across, orientations)
    inside = slice(GRADIENT_RADIUS, -GRADIENT_RADIUS)
    weights = _tent(np.arange(-cell, cell + 1) - halfway, cell).astype(gray.dtype)
    cells = filtered(orientations[inside, inside], Filter(weights))
    return np.ascontiguousarray(cells[cell:-cell, cell:-cell])


class Searchable(NamedTuple):
    """An image prepared for matching descriptors."""

    cells: FloatArray  # with a margin of the search radius
    per_length: FloatArray  # 1 / length of each pixel's descriptor; 0 where it is flat
    cell: int
    radius: int

    @classmethod
    def of(cls, gray: FloatArray, cell: int, radius: int) -> "Searchable":
        """Prepare an image for displacements of up to `radius` rows and columns."""
        cells = cell_map(gray, cell, radius)
        inside = slice(radius, len(cells) - radius), slice(radius, cells.shape[1] - radius)
        squares = np.einsum("hwo,hwo->hw", cells[inside], cells[inside])
        lengths = np.sqrt(np.sum(_of_pixels(squares, cell), axis=0))
        per_length = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return cls(cells, per_length, cell, radius)


def matches(here: Searchable, there: Searchable, places: Places) -> Places:
    """Return the places in `there` that match some places of `here`.

    A match has the most similar normalised descriptor within the search radius; on a tie, the nearest one
    wins, so that nothing moves in flat areas.
    """
    span = range(-here.radius, here.radius + 1)
    moves = np.array(sorted(product(span, span), key=lambda move: (move[0] ** 2 + move[1] ** 2, move)))
    best = np.empty(len(places[0]), np.intp)
    _find_best_moves(*places, here.cells, there.cells, there.per_length, here.cell, moves, best)
    return places[0] + moves[best, 0], places[1] + moves[best, 1]


def gradient(gray: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of the smoothed image, upwards and to the right."""
    smooth = gaussian_filter(gray, SMOOTHING, radius=SMOOTHING_RADIUS)
    return correlate1d(smooth, [0.5, 0, -0.5], axis=0), correlate1d(smooth, [-0.5, 0, 0.5], axis=1)


def _of_pixels(cells: FloatArray, cell: int) -> list[FloatArray]:
    """Return each of the 16 cells of all pixels, row by row."""
    height, width = (side - (N_CELLS - 1) * cell for side in cells.shape[:2])
    starts = range(0, N_CELLS * cell, cell)
    return [cells[i : i + height, j : j + width] for i in starts for j in starts]


def _tent(distance: FloatArray, cell: int) -> FloatArray:
    return np.maximum(0, 1 - np.abs(distance) / cell)


@compiled()
def _share_orientations(up: Array, across: Array, out: Array) -> None:
    """Distribute every gradient linearly to the two nearest orientations, out (h, w, 8)."""
    height, width = up.shape
    for y in range(height):
        for x in range(width):
            magnitude = math.sqrt(up[y, x] * up[y, x] + across[y, x] * across[y, x])
            turn = math.atan2(up[y, x], across[y, x]) * (N_ORIENTATIONS / (2 * math.pi))
            below = math.floor(turn)
            share = turn - below
            out[y, x, int(below) % N_ORIENTATIONS] += magnitude * (1 - share)
            out[y, x, (int(below) + 1) % N_ORIENTATIONS] += magnitude * share


@compiled()
def _find_best_moves(
    rows: Array,
    cols: Array,
    here: Array,
    there: Array,
    per_length: Array,
    spacing: int,
    moves: Array,
    best: Array,
) -> None:
    """Find for each pixel in a list the move to the most similar normalised descriptor.

    `here` and `there` are the cells of two images, with a margin as wide as the largest move. `per_length`
    (h, w) is 1 / length of the descriptors in `there`. `moves` (m, 2) are all displacements within a square,
    in order of preference; those that leave the image are skipped. `best` (n,) is the row in `moves`.
    """
    height, width = per_length.shape
    radius = moves.max()
    side = 2 * radius + 1
    row_of_moves = side * N_ORIENTATIONS
    # For all moves to the right at once, one repeated cell of `here` is multiplied by a contiguous stretch of
    # cells of `there`: the loop needs no horizontal sum and vectorises.
    rows_there = there.reshape(len(there), -1)
    repeated = np.empty((N_CELLS, N_CELLS, row_of_moves), here.dtype)
    products = np.empty((side, row_of_moves), here.dtype)
    for n in range(len(rows)):
        y, x = rows[n], cols[n]
        for i in range(N_CELLS):
            for j in range(N_CELLS):
                cell = here[radius + y + i * spacing, radius + x + j * spacing]
                for k in range(row_of_moves):
                    repeated[i, j, k] = cell[k % N_ORIENTATIONS]
        for down in range(side):
            sums = products[down]
            sums[:] = 0
            for i in range(N_CELLS):
                for j in range(N_CELLS):
                    left = (x + j * spacing) * N_ORIENTATIONS
                    stretch = rows_there[y + down + i * spacing, left : left + row_of_moves]
                    cells = repeated[i, j]
                    for k in range(row_of_moves):
                        sums[k] += cells[k] * stretch[k]
        best[n] = 0
        largest = -np.inf  # cosine times the length of the descriptor in `here`, which is constant
        for m in range(len(moves)):
            v, u = y + moves[m, 0], x + moves[m, 1]
            if 0 <= v < height and 0 <= u < width:
                first = (moves[m, 1] + radius) * N_ORIENTATIONS
                product = products[moves[m, 0] + radius, first]
                for o in range(1, N_ORIENTATIONS):
                    product += products[moves[m, 0] + radius, first + o]
                if product * per_length[v, u] > largest:
                    largest = product * per_length[v, u]
                    best[n] = m
