"""What the surroundings of a pixel add to its log odds: a prior, and the maps that follow regions."""

import numpy as np

from panfocus._filters import filtered, filtered_rows, gaussian, largest_around
from panfocus._intensity import FloatArray, IntArray
from panfocus._threads import for_all
from panfocus.decide.depth import interpolate_depth
from panfocus.decide.labels import label_dtype, most_probable, probabilities
from panfocus.methods._tile import row_bands

# Coupling of labels with their surroundings: log odds of a unanimous neighbourhood, and its window.
COUPLING, SURROUNDINGS = np.float32(4.0), gaussian(15.0, cut=2, step=3)
# Regional log odds are divided by this for the confidence: the three windows share their evidence.
OVERCOUNT = np.float32(3.0)

# Log odds assumed outside the stack, for depth at the first and last frame. Smaller than most log odds
# between frames, so that depth stays at the end unless the next frame is as sharp.
BEYOND = 3.0
# With more than two frames, a pixel prefers frames that its surroundings consider: log odds of the narrow
# window count this share. A frame that any pixel within this reach considers is at no disadvantage.
PRIOR_SHARE, PRIOR_REACH = np.float32(0.5), 3
# If the front frame is known: log odds added in its favour next to foreground objects, and the window.
LEAN, NEARBY = np.float32(0.5), gaussian(4.0, cut=2)


def prefer_considered(of_pixels: FloatArray, narrow: FloatArray) -> None:
    """Add to the log odds (n - 1, h, w) of pixels how much their surroundings consider each frame.

    `narrow` has the log odds of the narrow window.
    """
    height = narrow.shape[1]

    def in_rows(rows: slice) -> None:
        outer = slice(max(0, rows.start - PRIOR_REACH), min(rows.stop + PRIOR_REACH, height))
        inner = slice(rows.start - outer.start, rows.stop - outer.start)
        shape = (outer.stop - outer.start, narrow.shape[2])
        total, best = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for odds in narrow:
            total += odds[outer]
            np.maximum(best, total, out=best)
        total[...] = 0
        before = largest_around(-best, PRIOR_REACH)
        for k, odds in enumerate(narrow):
            total += odds[outer]
            after = largest_around(total - best, PRIOR_REACH)
            of_pixels[k, rows] += PRIOR_SHARE * (after[inner] - before[inner])
            before = after

    for_all(in_rows, row_bands((len(narrow) + 1, *narrow.shape[1:])))


def lean_to_front(of_pixels: FloatArray, of_surroundings: FloatArray, *, first: bool) -> None:
    """Shift the log odds (n - 1, h, w) of pixels next to foreground objects in favour of the front frames.

    In the frame of the background, the blurred foreground covers these pixels: sharp, but wrong.
    """
    up_to_each = np.cumsum(probabilities(of_surroundings)[:-1], axis=0)  # sharpest in frame k or before
    for k, up_to_k in enumerate(up_to_each):
        nearby = filtered(up_to_k if first else 1 - up_to_k, NEARBY)
        of_pixels[k] += (-LEAN if first else LEAN) * np.minimum(2 * nearby, 1)


def decide_maps(
    of_surroundings: FloatArray, inside: slice, chances: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return labels, confidence and depth of the rows `inside`, by log odds (n - 1, h, w).

    The decisions around each pixel add to its log odds: a mean-field step of a Potts model. The log odds and
    `chances` (n, h, w) are overwritten.
    """
    n, shape = len(chances), (inside.stop - inside.start, chances.shape[2])
    labels: IntArray = np.empty(shape, label_dtype(n))
    confidence, depth = np.empty(shape, np.float32), np.empty(shape, np.float32)

    def normalise(rows: slice) -> None:
        probabilities(of_surroundings[:, rows], out=chances[:, rows])

    def couple(band: slice) -> None:
        rows = slice(inside.start + band.start, inside.start + band.stop)
        before = filtered_rows(chances[0], SURROUNDINGS, rows)
        for k in range(n - 1):
            after = filtered_rows(chances[k + 1], SURROUNDINGS, rows)
            np.subtract(after, before, out=before)
            before *= COUPLING
            of_surroundings[k, rows] += before
            before = after

    def decide(band: slice) -> None:
        rows = slice(inside.start + band.start, inside.start + band.stop)
        odds, counted = of_surroundings[:, rows], chances[1:, rows]
        np.divide(odds, OVERCOUNT, out=counted)
        labels[band], confidence[band] = most_probable(probabilities(counted, out=chances[:, rows]))
        depth[band] = interpolate_depth(labels[band], odds, beyond=BEYOND)

    for_all(normalise, row_bands(chances.shape))
    for_all(couple, row_bands(shape))
    for_all(decide, row_bands((n, *shape)))
    return labels, confidence, depth
