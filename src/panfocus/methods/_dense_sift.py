"""Dense SIFT: D. Lowe's descriptor at every pixel, of one size, upright and not normalised.

A descriptor has 4 x 4 cells of `cell` pixels with 8 orientations each. A pixel's gradient is shared out
linearly between the cells around it and between the two orientations next to its own. The window has no
Gaussian weight. Since the shares in the orientations sum to one, the sum of the 128 entries is the gradient's
magnitude, filtered by the sum of the cells' weights: no descriptor has to be formed for it.
"""

import math
from itertools import product

import numpy as np
from scipy.ndimage import correlate1d, gaussian_filter

from panfocus._float import FloatArray, IntArray
from panfocus.methods._kernel_dense_sift import N_ORIENTATIONS, best_moves, share_orientations

SMOOTHING = 1.0  # standard deviation, in pixels, of the Gaussian whose derivative is the gradient
SMOOTHING_RADIUS = 4
GRADIENT_RADIUS = SMOOTHING_RADIUS + 1
CENTRES = np.array([-1.5, -0.5, 0.5, 1.5])  # of the cells, from the pixel, in cells

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
    return _filtered(magnitude, weights)


def descriptors(gray: FloatArray, cell: int) -> FloatArray:
    """Descriptors (h, w, 128): cells row by row, orientations counter-clockwise from the right."""
    cells, offsets = cell_maps(gray, cell)
    height, width = gray.shape
    return np.concatenate(
        [np.moveaxis(cells[:, i : i + height, j : j + width], 0, 2) for i in offsets for j in offsets], axis=2
    )


def cell_maps(gray: FloatArray, cell: int) -> tuple[FloatArray, IntArray]:
    """Return the orientations of a cell at every place, and where in this map a pixel's four cells lie.

    The cells of pixel (y, x) are those at (y + i, x + j), for offsets i and j, of the map
    (8, h + last offset, w + last offset).
    """
    centres = np.floor(CENTRES * cell).astype(int)
    offsets = centres - centres[0]
    halfway = CENTRES[0] * cell - centres[0]  # cells of an odd side have their centres between pixels
    hem = cell + GRADIENT_RADIUS
    up, across = gradient(np.pad(gray, hem - centres[0], "symmetric"))
    orientations = np.zeros((N_ORIENTATIONS, *up.shape), gray.dtype)
    share_orientations(up, across, orientations)
    maps = _filtered(orientations, _tent(np.arange(-cell, cell + 1) - halfway, cell))
    height, width = (side + offsets[-1] for side in gray.shape)
    return maps[:, hem : hem + height, hem : hem + width], offsets


def matches(a: FloatArray, b: FloatArray, cell: int, radius: int, places: Places) -> tuple[Places, Places]:
    """Return where in `a` lies what `b` shows at some places, and where in `b` what `a` shows there.

    That is where the normalised descriptor is nearest, up to `radius` rows and columns away; of places
    alike it is the nearest, so where all is flat nothing moves.
    """
    span = range(-radius, radius + 1)
    moves = np.array(sorted(product(span, span), key=lambda move: (move[0] ** 2 + move[1] ** 2, move)))
    (cells_a, offsets), (cells_b, _) = cell_maps(a, cell), cell_maps(b, cell)

    def moved(here: FloatArray, there: FloatArray) -> Places:
        found = np.empty(a.shape, np.int32)
        lengths = _lengths(there, offsets)
        per_length = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)  # flat: like none
        best_moves(here, there, per_length, offsets, moves, found)
        return places[0] + moves[found[places], 0], places[1] + moves[found[places], 1]

    return moved(cells_b, cells_a), moved(cells_a, cells_b)


def _lengths(cells: FloatArray, offsets: IntArray) -> FloatArray:
    """Euclidean lengths (h, w) of the descriptors made of these cells."""
    squares = np.sum(cells**2, axis=0)
    height, width = squares.shape[0] - offsets[-1], squares.shape[1] - offsets[-1]
    of_cells = [squares[i : i + height, j : j + width] for i in offsets for j in offsets]
    lengths: FloatArray = np.sqrt(np.sum(of_cells, axis=0))
    return lengths


def gradient(gray: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of the smoothed image, upwards and to the right."""
    smooth = gaussian_filter(gray, SMOOTHING, radius=SMOOTHING_RADIUS)
    return correlate1d(smooth, [0.5, 0, -0.5], axis=0), correlate1d(smooth, [-0.5, 0, 0.5], axis=1)


def _tent(distance: FloatArray, cell: int) -> FloatArray:
    return np.maximum(0, 1 - np.abs(distance) / cell)


def _filtered(planes: FloatArray, weights: FloatArray) -> FloatArray:
    return correlate1d(correlate1d(planes, weights, axis=-2), weights, axis=-1)
