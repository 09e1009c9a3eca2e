"""Out-of-focus mask: areas of a fused image that are blurred in every frame, found by a coupled dictionary.

Focused and blurred atoms are learned from the same places. A sharp patch is coded mostly by focused atoms, a
patch blurred by 1.5 px or more mostly by blurred atoms, at any contrast. If even the sharpest areas of the
frames look blurred, the image is reduced first.
"""

import numpy as np
from numpy.typing import NDArray

from panfocus._filters import Filter, filtered, gaussian, reach
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import map_blocks
from panfocus.decide.gray import to_gray
from panfocus.decide.patches import centred_patches
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import row_blocks
from panfocus.methods._tile import Tile, patch_grid
from panfocus.sparse import Pursuit
from panfocus.stack import Frames

# Windows of the mean over patches, standard deviations in pixels: the wide one judges a surface as a whole,
# the narrow one adds a little weight to the pixel's own area.
WINDOW, HERE, MORE_HERE = 32.0, 4.0, np.float32(0.15)

# Error bounds of the codes, as shares of a patch's energy. Noise is sharp and must stay below the bound: each
# patch uses the first bound that exceeds its noise. If none does, the patch is only noise.
BOUNDS = (0.03, 0.06, 0.12, 0.25, 0.5)
NOISE_LEFT = 0.5  # share of the noise energy of a frame that is left in the fused image, a mean of frames
LEAST_NOISE = 0.29 / 255  # unit range: rounding to 8 bits

# A first code with this bound recognises most sharp patches, which then need no better one.
ROUGH = 0.2
# A patch is blurred if focused atoms have less than this share of its code. DOUBT is added to their part: it
# decides for patches with almost no contrast, because a flat patch is not known to be blurred.
FOCUSED_SHARE, DOUBT = np.float32(0.5), np.float32(0.005)
# A pixel is never in focus if this share of the patches around it is blurred. Less than half, because sharp
# objects affect the patches of a blurred surface around them, and not the other way round.
BLURRED_SHARE = np.float32(0.345)

# The scale of the frames is measured in up to BLOCKS x BLOCKS blocks of PATCHES x PATCHES patches. Only
# active blocks and rough codes count: compression artefacts are sharp, but weak.
BLOCKS, PATCHES = 12, 3
ACTIVE, ROUGH_BOUND = 0.2, 0.1
SHARPEST, SHARP_ENOUGH = 95, 0.78  # percentile of the shares of focused atoms, and its required value
LEAST_BLOCKS, LARGEST_SCALE = 4, 4  # smallest number of blocks per side in reduced frames; largest factor


def never_in_focus_reach(size: int, stride: int, scale: int) -> int:
    """Return the radius in pixels of the area that the mask at a pixel depends on."""
    return scale * (stride * reach(_window(stride)) + stride + size + 1)


def never_in_focus(
    gray: FloatArray,
    chances: FloatArray,
    tile: Tile,
    dictionary: CoupledDictionary,
    *,
    stride: int,
    noise: float,
    scale: int,
) -> NDArray[np.bool_]:
    """Return a mask (h, w) of the pixels of a tile's outer part that are blurred in the fused image.

    Patches at the depth of a pixel count more than twice as much as others, so that a sharp object has less
    influence on the background next to it.

    Parameters
    ----------
    gray : array (h, w)
        The fused image, unit range.
    chances : array (n, h, w)
        Probability of every frame.
    stride : int
        Distance between patches, in pixels of the reduced image.
    noise : float
        Noise of the frames, unit range.
    scale : int
        Factor by which the image is reduced.
    """
    size = dictionary.patch_size
    if min(tile.shape) < size * scale:
        return np.zeros(gray.shape, dtype=bool)  # the image is too small for a decision
    (rows_inside, used_rows), (cols_inside, used_cols) = (_reduced_part(span, scale) for span in tile.outer)
    inside = (rows_inside, cols_inside)
    rows, cols = patch_grid(
        Tile(inside, inside, (tile.shape[0] // scale, tile.shape[1] // scale)), size, stride
    )
    small = _reduced(gray[used_rows, used_cols], scale)
    blurred = _blurred_patches(small, rows, cols, dictionary, noise / scale)
    centres = [
        used.start + scale * (origins + size // 2) + scale // 2
        for used, origins in ((used_rows, rows), (used_cols, cols))
    ]
    window = _window(stride)
    total, weight = filtered(blurred, window), np.ones_like(blurred)

    def at_its_depth(chance: FloatArray) -> tuple[FloatArray, FloatArray]:
        return chance * filtered(chance * blurred, window), chance * filtered(chance, window)

    at_depths = _with_neighbours(chances[:, centres[0][:, None], centres[1]])
    for blurred_there, all_there in map_blocks(at_its_depth, at_depths):
        total += blurred_there
        weight += all_there
    here = filtered(blurred, gaussian(HERE / stride, cut=2))
    share = (total / weight + MORE_HERE * here) / (1 + MORE_HERE)
    return _interpolate(centres, share, gray.shape) > BLURRED_SHARE


def find_scale(
    frames: Frames, dictionary: CoupledDictionary, *, dark: float, span: float, noise: float
) -> int:
    """Return the integer factor by which frames (n, h, w[, c]) must be reduced to look sharp somewhere.

    `dark` and `span` are their range in unit range; `noise` is relative to it. If no factor suffices, return
    the one with the sharpest result.
    """
    most = largest_scale(frames.shape[1:3], dictionary)
    if most == 1:
        return 1
    best, largest_share = 1, 0.0
    for scale in range(1, most + 1):
        share = _share_of_sharpest(frames, dictionary, scale, dark=dark, span=span, noise=noise)
        if share > largest_share:
            best, largest_share = scale, share
        if share >= SHARP_ENOUGH:
            break
    return best


def largest_scale(shape: tuple[int, ...], dictionary: CoupledDictionary) -> int:
    """Return the largest result of `find_scale` for frames (h, w)."""
    smallest_side = LEAST_BLOCKS * PATCHES * dictionary.patch_size
    return max(1, min(LARGEST_SCALE, min(shape) // smallest_side))


def _share_of_sharpest(
    frames: Frames,
    dictionary: CoupledDictionary,
    scale: int,
    *,
    dark: float,
    span: float,
    noise: float,
) -> float:
    """Return the share of focused atoms in the sharpest blocks, each in its most active frame.

    Blocks are spread evenly over the frames. Patches with more noise than the bound are skipped. Returns 0 if
    no block is active.
    """
    size = dictionary.patch_size
    side = scale * PATCHES * size
    rows, cols = (_block_pixels(length, side) for length in frames.shape[1:3])
    pursuit = Pursuit(dictionary.matrix, max_atoms=_most_atoms(size), max_sq_error=ROUGH_BOUND)
    energy_of_noise = (size * noise / scale) ** 2
    in_small = [np.arange(0, len(pixels) // scale, size) for pixels in (rows, cols)]
    focused = activity = np.zeros((len(rows) // side, len(cols) // side), np.float32)
    for k in range(len(frames)):
        # Block by block: a frame that is stored in tiles is then read in part.
        blocks = [
            np.concatenate([frames[k, top : top + side, left : left + side] for left in cols[::side]], axis=1)
            for top in rows[::side]
        ]
        gray = ((to_gray(np.concatenate(blocks)) - dark) / span).astype(np.float32)
        patches, energies = centred_patches(_reduced(gray, scale), in_small[0], in_small[1], size)
        patches[:, ROUGH_BOUND * energies < energy_of_noise] = 0
        l1 = pursuit.l1_norms(patches, segments=dictionary.n_levels)
        of_levels = l1.reshape(len(l1), len(activity), PATCHES, -1, PATCHES).mean(axis=(2, 4))
        total = of_levels.sum(axis=0)
        focused = np.where(total > activity, of_levels[0], focused)
        activity = np.maximum(total, activity)
    seen = activity > ACTIVE
    return float(np.percentile(focused[seen] / activity[seen], SHARPEST)) if seen.any() else 0.0


def _block_pixels(length: int, side: int) -> IntArray:
    """Return the pixels of blocks of one side, spread evenly over a length."""
    starts = np.linspace(0, length - side, min(BLOCKS, length // side)).astype(np.intp)
    return (starts[:, None] + np.arange(side)).ravel()


def _blurred_patches(
    gray: FloatArray, rows: IntArray, cols: IntArray, dictionary: CoupledDictionary, noise: float
) -> FloatArray:
    """Return 1 for patches (len(rows), len(cols)) coded mostly by blurred atoms, 0 for the others."""
    size = dictionary.patch_size
    rough, *pursuits = (
        Pursuit(dictionary.matrix, max_atoms=_most_atoms(size), max_sq_error=bound)
        for bound in (ROUGH, *BOUNDS)
    )
    energy_of_noise = NOISE_LEFT * size**2 * max(noise, LEAST_NOISE) ** 2

    def of_block(rows: IntArray) -> FloatArray:
        patches, energies = centred_patches(gray, rows, cols, size)

        def look_blurred(chosen: NDArray[np.bool_], pursuit: Pursuit) -> NDArray[np.bool_]:
            l1 = pursuit.l1_norms(patches[:, chosen], segments=dictionary.n_levels)
            return np.asarray(l1[0] + DOUBT < FOCUSED_SHARE * (l1.sum(axis=0) + DOUBT))

        left = rough.max_sq_error * energies >= energy_of_noise
        left[left] = look_blurred(left, rough)
        left |= (energies > 0) & (rough.max_sq_error * energies < energy_of_noise)
        blurred = np.zeros(len(energies), np.float32)
        for pursuit in pursuits:
            now = left & (pursuit.max_sq_error * energies >= energy_of_noise)
            blurred[now] = look_blurred(now, pursuit)
            left &= ~now
        return blurred

    blocks = (rows[block] for block in row_blocks(len(rows), len(cols)))
    return np.concatenate(list(map_blocks(of_block, blocks))).reshape(len(rows), len(cols))


def _reduced_part(span: slice, scale: int) -> tuple[slice, slice]:
    """Return the part of the reduced image in a span of the image, and its pixels relative to the span."""
    part = slice(-(-span.start // scale), span.stop // scale)
    return part, slice(part.start * scale - span.start, part.stop * scale - span.start)


def _most_atoms(size: int) -> int:
    """Return the largest number of atoms in a code; more cost time and add little."""
    return size**2 // 4


def _reduced(gray: FloatArray, scale: int) -> FloatArray:
    """Average squares of `scale` x `scale` pixels; both sides are multiples of `scale`."""
    total = gray[::scale, ::scale].copy()
    for place in range(1, scale**2):
        total += gray[place // scale :: scale, place % scale :: scale]
    return total / np.float32(scale**2)


def _with_neighbours(chances: FloatArray) -> FloatArray:
    """Add half of each frame's probability to its neighbours, which are at nearly the same depth."""
    widened = chances.copy()
    if len(chances) > 2:  # with two frames there are only two depths
        widened[1:] += chances[:-1] / 2
        widened[:-1] += chances[1:] / 2
    return widened


def _window(stride: int) -> Filter:
    """Return the window of the mean over patches, in units of their distance."""
    return gaussian(WINDOW / stride, cut=1.5)


def _interpolate(places: list[IntArray], values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Interpolate values given at ascending rows and columns to every pixel; extrapolate by constants."""
    for axis, (at, length) in enumerate(zip(places, shape, strict=True)):
        pixels = np.clip(np.arange(length), at[0], at[-1])
        before = np.clip(np.searchsorted(at, pixels, side="right") - 1, 0, max(0, len(at) - 2))
        after = np.minimum(before + 1, len(at) - 1)
        share = ((pixels - at[before]) / np.maximum(at[after] - at[before], 1)).astype(np.float32)
        share = share[:, None] if axis == 0 else share
        values = (1 - share) * values.take(before, axis) + share * values.take(after, axis)
    return values
