"""Places that are blurred in every frame: what the coupled dictionary tells of a fused picture.

Its focused and its blurred atoms are learned from the same places. A sharp patch is coded mostly by focused
atoms, one that is blurred by a pixel and a half or more mostly by blurred ones, whatever its contrast. Where
not even the sharpest places of the frames look sharp to it, the picture is looked at reduced.
"""

import numpy as np
from numpy.typing import NDArray

from panfocus._filters import Filter, filtered, gaussian, reach
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import map_blocks
from panfocus.decide.gray import to_gray
from panfocus.decide.patches import centred_patches
from panfocus.dictionary import CoupledDictionary
from panfocus.methods._patchwise import patch_grid, row_blocks
from panfocus.methods._tile import Tile
from panfocus.sparse import Pursuit
from panfocus.stack import Frames

# Windows of the mean over patches, standard deviations in pixels: a surface is judged as a whole, and a
# little more by what is right here.
WINDOW, HERE, MORE_HERE = 32.0, 4.0, np.float32(0.15)

# Codes are exact to this part of a patch's energy, or to its noise if that is more: noise is sharp. A pursuit
# has one bound; each patch gets the first of these that will do. If none does, there is only noise to see.
BOUNDS = (0.03, 0.06, 0.12, 0.25, 0.5)
NOISE_LEFT = 0.5  # of the energy of the frames' noise: the picture is their mean
LEAST_NOISE = 0.29 / 255  # in unit range: that of rounding to 8 bit, a 12th of a squared level

# Codes as rough as this tell most sharp patches, which then need no better one.
ROUGH = 0.2
# A patch is blurred if focused atoms have less than this part of its code. A little is added to what they
# have, which decides in patches that show next to nothing: nothing tells that a flat place is blurred.
FOCUSED_SHARE, DOUBT = np.float32(0.5), np.float32(0.005)
# A pixel is never in focus if so many of the patches around it are blurred. Less than half: sharp things
# reach into the patches of a blurred surface around them, and not the other way round.
BLURRED_SHARE = np.float32(0.345)

# The scale of frames is measured in blocks, at most so many each way, each so many patches wide. Artefacts of
# compression are sharp; they do not count, since blocks have to be active and codes are rough.
BLOCKS, PATCHES = 12, 3
ACTIVE, ROUGH_BOUND = 0.2, 0.1
SHARPEST, SHARP_ENOUGH = 95, 0.78  # percentile of the blocks' shares of focused atoms; what it has to reach
LEAST_BLOCKS, LARGEST_SCALE = 4, 4  # each way: smaller frames are not reduced; none more than this


def never_in_focus_reach(size: int, stride: int, scale: int) -> int:
    """Pixels around one that its verdict depends on, with patches of this side, so many pixels apart."""
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
    """Find the pixels (h, w) of a tile's outer part whose surroundings are blurred in a fused picture.

    `gray` (h, w) is the picture, unit range; `chances` (n, h, w) the probability of every frame; `noise` that
    of the frames, unit range. Patches are those of the picture, reduced by the whole factor `scale`, `stride`
    pixels of it apart. They count more than twice as much if they are at the pixel's own depth, which is how
    likely both are from one frame: a sharp object speaks less for the background beside it.
    """
    size = dictionary.patch_size
    if min(tile.shape) < size * scale:
        return np.zeros(gray.shape, dtype=bool)  # too small a picture to tell anything
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
    return (
        _between(centres, (total / weight + MORE_HERE * here) / (1 + MORE_HERE), gray.shape) > BLURRED_SHARE
    )


def own_scale(
    frames: Frames, dictionary: CoupledDictionary, *, dark: float, span: float, noise: float
) -> int:
    """Find the whole factor by which frames (n, h, w[, c]) have to be reduced to look sharp somewhere.

    `dark` and `span` are their range, in unit range, and `noise` is a part of it. If no factor is enough, it
    is the one that comes nearest.
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
    """Return the most that `own_scale` may be for frames (h, w)."""
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
    """Return the part of focused atoms in the sharpest blocks, each in the frame that is most active there.

    Blocks are spread evenly over the frames, however large they are. Patches with more noise than the codes
    leave out do not count. 0 if nothing is to be seen in any block.
    """
    size = dictionary.patch_size
    side = scale * PATCHES * size
    rows, cols = (_spread_out(length, side) for length in frames.shape[1:3])
    pursuit = Pursuit(dictionary.matrix, max_atoms=_most_atoms(size), max_sq_error=ROUGH_BOUND)
    energy_of_noise = (size * noise / scale) ** 2
    in_small = [np.arange(0, len(pixels) // scale, size) for pixels in (rows, cols)]
    focused = activity = np.zeros((len(rows) // side, len(cols) // side), np.float32)
    for k in range(len(frames)):
        # Block by block: a frame that is stored in tiles is read in few of them.
        blocks = [
            np.concatenate([frames[k, top : top + side, left : left + side] for left in cols[::side]], axis=1)
            for top in rows[::side]
        ]
        gray = ((to_gray(np.concatenate(blocks)) - dark) / span).astype(np.float32)
        patches, energies = centred_patches(_reduced(gray, scale), in_small[0], in_small[1], size)
        patches[:, ROUGH_BOUND * energies < energy_of_noise] = 0
        l1 = pursuit.summaries(patches, segments=dictionary.n_levels).l1
        of_levels = l1.reshape(len(l1), len(activity), PATCHES, -1, PATCHES).mean(axis=(2, 4))
        total = of_levels.sum(axis=0)
        focused = np.where(total > activity, of_levels[0], focused)
        activity = np.maximum(total, activity)
    seen = activity > ACTIVE
    return float(np.percentile(focused[seen] / activity[seen], SHARPEST)) if seen.any() else 0.0


def _spread_out(length: int, side: int) -> IntArray:
    """Pixels of blocks of one side, spread evenly over a length."""
    starts = np.linspace(0, length - side, min(BLOCKS, length // side)).astype(np.intp)
    return (starts[:, None] + np.arange(side)).ravel()


def _blurred_patches(
    gray: FloatArray, rows: IntArray, cols: IntArray, dictionary: CoupledDictionary, noise: float
) -> FloatArray:
    """Return 1 for patches (len(rows), len(cols)) that are coded by blurred atoms, 0 for the others."""
    size = dictionary.patch_size
    rough, *pursuits = (
        Pursuit(dictionary.matrix, max_atoms=_most_atoms(size), max_sq_error=bound)
        for bound in (ROUGH, *BOUNDS)
    )
    energy_of_noise = NOISE_LEFT * size**2 * max(noise, LEAST_NOISE) ** 2

    def of_block(rows: IntArray) -> FloatArray:
        patches, energies = centred_patches(gray, rows, cols, size)

        def look_blurred(chosen: NDArray[np.bool_], pursuit: Pursuit) -> NDArray[np.bool_]:
            l1 = pursuit.summaries(patches[:, chosen], segments=dictionary.n_levels).l1
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
    """Return the whole squares of pixels, counted from the image's first pixel, that lie in a span of it.

    As places in the reduced image, and as pixels counted from the span's first one.
    """
    part = slice(-(-span.start // scale), span.stop // scale)
    return part, slice(part.start * scale - span.start, part.stop * scale - span.start)


def _most_atoms(size: int) -> int:
    """Atoms in a code at most: a quarter of the numbers in a patch. More cost time and tell little."""
    return size**2 // 4


def _reduced(gray: FloatArray, scale: int) -> FloatArray:
    """Take means of squares of pixels, each summed in one order; both sides are multiples of theirs."""
    total = gray[::scale, ::scale].copy()
    for place in range(1, scale**2):
        total += gray[place // scale :: scale, place % scale :: scale]
    return total / np.float32(scale**2)


def _with_neighbours(chances: FloatArray) -> FloatArray:
    """Let half of a frame's probability count for the frames next to it, at nearly the same depth."""
    widened = chances.copy()
    if len(chances) > 2:  # two frames tell two depths apart, and no more
        widened[1:] += chances[:-1] / 2
        widened[:-1] += chances[1:] / 2
    return widened


def _window(stride: int) -> Filter:
    """Window of the mean over patches that are so many pixels apart."""
    return gaussian(WINDOW / stride, cut=1.5)


def _between(places: list[IntArray], values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Interpolate values at ascending places, down and across, for every pixel; beyond them they go on."""
    for axis, (at, length) in enumerate(zip(places, shape, strict=True)):
        pixels = np.clip(np.arange(length), at[0], at[-1])
        before = np.clip(np.searchsorted(at, pixels, side="right") - 1, 0, max(0, len(at) - 2))
        behind = np.minimum(before + 1, len(at) - 1)
        share = ((pixels - at[before]) / np.maximum(at[behind] - at[before], 1)).astype(np.float32)
        share = share[:, None] if axis == 0 else share
        values = (1 - share) * values.take(before, axis) + share * values.take(behind, axis)
    return values
