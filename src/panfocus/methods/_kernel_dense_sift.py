"""Loops over pixels for dense SIFT: orientations of gradients, and matching in a small neighbourhood."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._compile import compiled

Array = NDArray[Any]

N_ORIENTATIONS = 8


@compiled()
def share_orientations(up: Array, across: Array, out: Array) -> None:
    """Add every gradient to the two orientations next to its own, out (8, h, w), by nearness."""
    height, width = up.shape
    for y in range(height):
        for x in range(width):
            magnitude = math.sqrt(up[y, x] * up[y, x] + across[y, x] * across[y, x])
            turn = math.atan2(up[y, x], across[y, x]) * (N_ORIENTATIONS / (2 * math.pi))
            below = math.floor(turn)
            share = turn - below
            out[int(below) % N_ORIENTATIONS, y, x] += magnitude * (1 - share)
            out[(int(below) + 1) % N_ORIENTATIONS, y, x] += magnitude * share


@compiled()
def best_moves(
    here: Array, there: Array, per_length: Array, offsets: Array, moves: Array, best: Array
) -> None:
    """Find for each pixel the move to the place whose normalised descriptor is nearest.

    `here` and `there` are cell maps of two images with their `offsets`, `per_length` (h, w) is one over the
    length of the descriptors there, `moves` (m, 2) are tried unless they leave the image. `best` (h, w)
    becomes the row in `moves` of the best, the first of equals.

    Neighbours share cells. So for each move all cells are multiplied first, then summed by fours.
    """
    height, width = per_length.shape
    _, second, third, last = offsets
    products = np.empty(width + last, here.dtype)
    across = np.empty((height + last, width), here.dtype)
    # Cosines, times the length of the descriptor here, which is the same for all moves.
    cosines = np.full((height, width), -np.inf, here.dtype)
    best[:] = 0
    for m in range(len(moves)):
        down, right = moves[m]
        top, bottom = max(0, -down), min(height, height - down)
        left, end = max(0, -right), min(width, width - right)
        n = end - left
        cell_products = products[: n + last]
        for y in range(top, bottom + last):
            cell_products[:] = 0
            for o in range(N_ORIENTATIONS):
                a = here[o, y, left : end + last]
                b = there[o, y + down, left + right : end + right + last]
                for x in range(n + last):
                    cell_products[x] += a[x] * b[x]
            sums = across[y, left:end]
            for x in range(n):
                sums[x] = (cell_products[x] + cell_products[x + second]) + (
                    cell_products[x + third] + cell_products[x + last]
                )
        for y in range(top, bottom):
            a, b = across[y, left:end], across[y + second, left:end]
            c, d = across[y + third, left:end], across[y + last, left:end]
            scale = per_length[y + down, left + right : end + right]
            record, holder = cosines[y, left:end], best[y, left:end]
            for x in range(n):
                cosine = ((a[x] + b[x]) + (c[x] + d[x])) * scale[x]
                if cosine > record[x]:
                    record[x] = cosine
                    holder[x] = m
