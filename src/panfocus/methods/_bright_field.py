"""Fusion of stacks with phase contrast, such as transparent objects in bright field.

Out of focus, phase contrast is strong in coarse detail and inverts through focus; in fine detail it is weak.
Therefore only fine detail is compared, and each place keeps the plane that its surroundings agree on. Coarse
contrast is averaged over planes on both sides of it, where phase contrast cancels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._filters import filtered, filtered_rows, gaussian, reach
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import for_all
from panfocus.decide.compose import as_votes
from panfocus.decide.labels import most_probable, probabilities
from panfocus.methods._surroundings import OVERCOUNT
from panfocus.methods._tile import row_bands

HIGH_PASS = gaussian(1.0)  # px: coarser detail is not compared
# Prior of a frame: its probability over a wide window, in two steps that skip pixels, plus a little, because
# objects may lie at any depth. Its logarithm counts three times.
WIDE_SURROUNDINGS = gaussian(15.0, cut=2, step=6), gaussian(78.6, cut=2, step=24)  # together 80 px
ANY_DEPTH, PRIOR = np.float32(0.003), np.float32(3.0)
SPLIT = gaussian(1.7)  # px: coarser contrast is averaged over more frames
# Deviation of the weights, per depth of field: fine detail is taken from the best plane and from frames like
# it; coarse contrast needs both sides of it.
FINE_DEPTH, COARSE_DEPTH = 0.4, 1.6
FINE_SEAM, COARSE_SEAM = gaussian(1.5), gaussian(5.0, cut=2)


def high_passed(levels: FloatArray) -> FloatArray:
    """Remove coarse contrast from a frame (c, h, w)."""
    return np.stack([plane - filtered(plane, HIGH_PASS) for plane in levels])


def prior_reach() -> int:
    """Return the radius in pixels of the surroundings that count for a pixel."""
    return reach(*WIDE_SURROUNDINGS)


def seam_reach() -> int:
    """Return the radius in pixels of the frames and planes that an image pixel depends on."""
    return max(reach(FINE_SEAM), reach(COARSE_SEAM), reach(SPLIT))


def prior_of_surroundings(narrow: FloatArray, chances: FloatArray) -> FloatArray:
    """Return log odds (n - 1, h, w) for the frames that wide surroundings prefer.

    `narrow` has the log odds of the narrow window. `chances` (n, h, w) is overwritten.
    """

    def normalise(rows: slice) -> None:
        np.divide(narrow[:, rows], OVERCOUNT, out=chances[1:, rows])
        probabilities(chances[1:, rows], out=chances[:, rows])

    for_all(normalise, row_bands(chances.shape))
    for_all(lambda k: _consider_surroundings(chances[k]), range(len(chances)))
    return np.diff(chances, axis=0)


def _consider_surroundings(chance: FloatArray) -> None:
    """Replace the probability (h, w) of a frame by its log odds in wide surroundings, up to a constant."""
    chance[...] = PRIOR * np.log(filtered(chance, *WIDE_SURROUNDINGS) + ANY_DEPTH)


def spread_over_planes(chances: FloatArray, depth_of_field: float) -> IntArray:
    """Return the most probable frame (h, w), and overwrite `chances` (n, h, w) by weights around it."""
    planes, _ = most_probable(chances)
    weights = _weights(len(chances), FINE_DEPTH * depth_of_field)
    for k, chance in enumerate(chances):
        chance[...] = weights[k][planes]
    return planes


def compose_bands(
    frames: NDArray[Any], fine: IntArray, planes: IntArray, rows: slice, *, above: int, depth_of_field: float
) -> NDArray[Any]:
    """Return some rows of the image from frames (n, h, w) or (n, h, w, c) of these rows and some more.

    `fine` (n, rows, w) has the votes for fine detail and `planes` (h, w) the best frame of every row; the
    frames begin `above` rows before the rows. No value leaves the range of the frames at its pixel.
    """
    coarse = as_votes(_smooth(_weights(len(frames), COARSE_DEPTH * depth_of_field), planes, rows))
    n_rows = rows.stop - rows.start
    inner = slice(above, above + n_rows)
    working = np.float64 if frames.dtype == np.float64 else np.float32
    shape = (n_rows, *frames.shape[2:])
    detail, rest = np.zeros(shape, working), np.zeros(shape, working)
    for k, frame in enumerate(frames):
        smooth = filtered(frame.astype(working), SPLIT)[inner]
        detail += _of_pixels(fine[k].astype(working), shape) * (frame[inner] - smooth)
        rest += _of_pixels(coarse[k].astype(working), shape) * smooth
    detail /= _of_pixels(fine.sum(axis=0).astype(working), shape)
    rest /= _of_pixels(coarse.sum(axis=0).astype(working), shape)
    image = np.clip(detail + rest, frames[:, inner].min(axis=0), frames[:, inner].max(axis=0))
    return np.asarray(np.rint(image) if frames.dtype.kind == "u" else image, frames.dtype)


def _smooth(weights: FloatArray, planes: IntArray, rows: slice) -> FloatArray:
    return np.stack([filtered_rows(of_plane[planes], COARSE_SEAM, rows) for of_plane in weights])


def _weights(n: int, deviation: float) -> FloatArray:
    """Return the weight of frame k around each best plane, as row k of a matrix (n, n)."""
    frames = np.arange(n)
    weights = np.exp(-0.5 * ((frames[:, None] - frames) / deviation) ** 2)
    return np.asarray(weights / weights.sum(axis=0), np.float32)


def _of_pixels(plane: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Add an axis to a plane (h, w) if pixels have channels."""
    return plane[..., None] if len(shape) == 3 else plane
