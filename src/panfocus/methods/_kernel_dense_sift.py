"""Loops over pixels for dense SIFT: orientations of gradients, cells, and matching nearby."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._numba import compiled

Array = NDArray[Any]

N_CELLS = 4  # down and across
N_ORIENTATIONS = 8


@compiled()
def share_orientations(up: Array, across: Array, out: Array) -> None:
    """Add every gradient to the two orientations next to its own, out (h, w, 8), by nearness."""
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
def best_moves(
    rows: Array,
    cols: Array,
    here: Array,
    there: Array,
    per_length: Array,
    spacing: int,
    moves: Array,
    best: Array,
) -> None:
    """Find for each pixel in a list the move to the place whose normalised descriptor is nearest.

    `here` and `there` are cells of two images, with a margin as wide as the largest move; a descriptor's
    first cell lies at its pixel, the others follow `spacing` apart. `per_length` (h, w) is one over the
    length of the descriptors there. `moves` (m, 2) are all of a square, in order of preference; they are
    tried unless they leave the image. `best` (n,) becomes the row in `moves`, the first of equals.
    """
    height, width = per_length.shape
    radius = moves.max()
    side = 2 * radius + 1
    row_of_moves = side * N_ORIENTATIONS
    # Moves to the right take the cells there in the order in which they lie: one cell here, repeated, is
    # multiplied with a stretch of them, without a sum across the vector.
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
        largest = -np.inf  # cosine, times the length of the descriptor here, the same for all moves
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
