"""A dictionary as a picture: every atom at all its levels, side by side."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.dictionary.coupled import CoupledDictionary

ZOOM = 4  # pixels of the picture for one of the atom
GAP = 4
PAPER_WHITE = 255


def atoms_picture(dictionary: CoupledDictionary) -> NDArray[Any]:
    """Return the atoms as uint8 (h, w): one block of atoms per level, then all pairs side by side.

    Above, the levels as the paper shows them, each a square of atoms. Below, the same atoms by pairs:
    focused beside blurred (beside more blurred); there are none if there is one level. Each atom is
    stretched to its own full contrast.
    """
    d = dictionary.patch_size
    atoms = dictionary.levels.transpose(0, 2, 1).reshape(dictionary.n_levels, dictionary.n_atoms, d, d)
    tiles = _stretched(atoms).repeat(ZOOM, axis=2).repeat(ZOOM, axis=3)
    columns = int(np.ceil(np.sqrt(dictionary.n_atoms)))
    above = _beside([_grid(level, columns, GAP // 2) for level in tiles], 4 * GAP)
    if dictionary.n_levels == 1:
        return _framed(above)
    pairs = np.concatenate(list(tiles), axis=2)  # (n_atoms, side, n_levels * side)
    below = _grid(pairs, columns, GAP)
    width = max(above.shape[1], below.shape[1])
    return _framed(np.concatenate([_widened(above, width), _blank(4 * GAP, width), _widened(below, width)]))


def _stretched(tiles: NDArray[Any]) -> NDArray[np.uint8]:
    low = tiles.min(axis=(2, 3), keepdims=True)
    high = tiles.max(axis=(2, 3), keepdims=True)
    return np.asarray(np.rint(255 * (tiles - low) / np.maximum(high - low, 1e-12)), np.uint8)


def _grid(tiles: NDArray[np.uint8], columns: int, gap: int) -> NDArray[np.uint8]:
    """Lay tiles (n, h, w) out in rows of `columns`."""
    n, h, w = tiles.shape
    rows = -(-n // columns)
    grid = _blank(rows * (h + gap) - gap, columns * (w + gap) - gap)
    for i, tile in enumerate(tiles):
        top, left = i // columns * (h + gap), i % columns * (w + gap)
        grid[top : top + h, left : left + w] = tile
    return grid


def _beside(blocks: list[NDArray[np.uint8]], gap: int) -> NDArray[np.uint8]:
    spaced = [blocks[0]]
    for block in blocks[1:]:
        spaced += [_blank(block.shape[0], gap), block]
    return np.concatenate(spaced, axis=1)


def _widened(block: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    return np.concatenate([block, _blank(block.shape[0], width - block.shape[1])], axis=1)


def _framed(block: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.pad(block, 2 * GAP, constant_values=PAPER_WHITE)


def _blank(height: int, width: int) -> NDArray[np.uint8]:
    return np.full((height, width), PAPER_WHITE, np.uint8)
