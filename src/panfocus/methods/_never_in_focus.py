"""Places that are blurred in every frame: what the coupled dictionary tells of a fused picture.

Its focused and its blurred atoms are learned from the same places. A sharp patch is coded mostly by focused
atoms, one that is blurred by a pixel and a half or more mostly by blurred ones, whatever its contrast.
"""

import numpy as np
from numpy.typing import NDArray

from panfocus._filters import Filter, filtered, gaussian, reach
from panfocus._float import FloatArray, IntArray
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import in_blocks, patch_grid
from panfocus.methods._tile import Tile
from panfocus.patches import centred_patches
from panfocus.sparse import Pursuit

STRIDE = 4  # pixels from patch to patch
EPS = 0.1  # squared error of the codes, relative to the patch: that of the paper
WIDTH = 12.0  # standard deviation, in pixels, of the window whose codes are added up
# Activities of a patch, in unit range: below the first nothing is to be told, and this much more counts as
# blurred, since the codes of faint patches are those of noise, which is sharp.
FLAT = 0.05
LEAST_ACTIVITY = 0.05


def never_in_focus_reach(size: int) -> int:
    """Pixels around one that its verdict depends on, with patches of this side."""
    return STRIDE * reach(_window()) + size + STRIDE


def never_in_focus(
    gray: FloatArray, chances: FloatArray, tile: Tile, dictionary: CoupledDictionary
) -> NDArray[np.bool_]:
    """Find the pixels (h, w) of a tile's outer part whose surroundings are blurred in a fused picture.

    `gray` (h, w) is the picture, unit range; `chances` (n, h, w) the probability of every frame. Codes count
    as far as their patch lies at the same depth as the pixel, which is how likely both are from one frame:
    a sharp object does not speak for the background beside it.
    """
    size = dictionary.patch_size
    rows, cols = patch_grid(tile, size, STRIDE)
    focused, all_levels = _activities(gray, rows, cols, dictionary)
    centres = rows + size // 2, cols + size // 2
    window = _window()
    in_focus: FloatArray = np.zeros(focused.shape, np.float32)
    total, weight = np.zeros_like(in_focus), np.zeros_like(in_focus)
    for chance in _with_neighbours(chances[:, centres[0][:, None], centres[1]]):
        in_focus += chance * filtered(chance * focused, window)
        total += chance * filtered(chance * all_levels, window)
        weight += chance * filtered(chance, window)
    blurred = (total > np.float32(FLAT) * weight) & (
        2 * in_focus < total + np.float32(LEAST_ACTIVITY) * weight
    )
    nearest_row, nearest_col = (
        _nearest(centre, length) for centre, length in zip(centres, gray.shape, strict=True)
    )
    return blurred[nearest_row[:, None], nearest_col]


def _activities(
    gray: FloatArray, rows: IntArray, cols: IntArray, dictionary: CoupledDictionary
) -> tuple[FloatArray, FloatArray]:
    """Return the l1 norms, on focused atoms and on all, of the codes of patches (len(rows), len(cols))."""
    pursuit = Pursuit(dictionary.matrix, max_atoms=len(dictionary.matrix), max_sq_error=EPS)

    def of_block(rows: IntArray) -> FloatArray:
        patches, _ = centred_patches(gray, rows, cols, dictionary.patch_size)
        l1 = pursuit.summaries(patches, segments=dictionary.n_levels).l1
        return np.stack([l1[0], l1[1:].sum(axis=0)], axis=1)

    focused, blurred = in_blocks(of_block, rows, len(cols)).T.reshape(2, len(rows), len(cols))
    return np.ascontiguousarray(focused), focused + blurred


def _with_neighbours(chances: FloatArray) -> FloatArray:
    """Let half of a frame's probability count for the frames next to it, at nearly the same depth."""
    widened = chances.copy()
    if len(chances) > 2:  # two frames tell two depths apart, and no more
        widened[1:] += chances[:-1] / 2
        widened[:-1] += chances[1:] / 2
    return widened


def _nearest(centres: IntArray, length: int) -> IntArray:
    """Index of the nearest of some ascending places, the lower one on a tie, for 0 ... length - 1."""
    return np.searchsorted(centres[:-1] + centres[1:], 2 * np.arange(length))


def _window() -> Filter:
    return gaussian(WIDTH / STRIDE)
