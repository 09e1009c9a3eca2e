"""Picture of a dictionary: every atom at all its levels, side by side."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.dictionary.coupled import CoupledDictionary

ZOOM = 4  # pixels of the picture per pixel of an atom
GAP = 4  # pixels between pairs of atoms
PAPER_WHITE = 255


def atoms_picture(dictionary: CoupledDictionary) -> NDArray[Any]:
    """Return the atoms as uint8 (h, w): one block of atoms per level, then all pairs side by side.

    The upper part shows each level as a square of atoms, as in the paper. The lower part shows the same
    atoms in pairs, focused to blurred; it is omitted for a single level. Each atom is stretched to full
    contrast.
    """
    d = dictionary.patch_size
    atoms = dictionary.levels.transpose(0, 2, 1).reshape(dictionary.n_levels, dictionary.n_atoms, d, d)
    tiles = _stretch(atoms).repeat(ZOOM, axis=2).repeat(ZOOM, axis=3)
    columns = int(np.ceil(np.sqrt(dictionary.n_atoms)))
    blocks = [_grid(level, columns, GAP // 2) for level in tiles]
    upper = np.concatenate([blocks[0], *(_pad(block, left=4 * GAP) for block in blocks[1:])], axis=1)
    if dictionary.n_levels > 1:
        pairs = np.concatenate(list(tiles), axis=2)  # (n_atoms, side, n_levels * side)
        lower = _grid(pairs, columns, GAP)
        width = max(upper.shape[1], lower.shape[1])
        upper, lower = (_pad(part, right=width - part.shape[1]) for part in (upper, lower))
        upper = np.concatenate([upper, _pad(lower, top=4 * GAP)])
    return np.pad(upper, 2 * GAP, constant_values=PAPER_WHITE)


def _stretch(tiles: NDArray[Any]) -> NDArray[np.uint8]:
    low = tiles.min(axis=(2, 3), keepdims=True)
    high = tiles.max(axis=(2, 3), keepdims=True)
    return np.asarray(np.rint(255 * (tiles - low) / np.maximum(high - low, 1e-12)), np.uint8)


def _grid(tiles: NDArray[np.uint8], columns: int, gap: int) -> NDArray[np.uint8]:
    """Arrange tiles (n, h, w) in rows of `columns`."""
    n, h, w = tiles.shape
    rows = -(-n // columns)
    grid = np.full((rows * (h + gap) - gap, columns * (w + gap) - gap), PAPER_WHITE, np.uint8)
    for i, tile in enumerate(tiles):
        top, left = i // columns * (h + gap), i % columns * (w + gap)
        grid[top : top + h, left : left + w] = tile
    return grid


def _pad(block: NDArray[np.uint8], *, top: int = 0, left: int = 0, right: int = 0) -> NDArray[np.uint8]:
    return np.pad(block, ((top, 0), (left, right)), constant_values=PAPER_WHITE)
