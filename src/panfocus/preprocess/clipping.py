"""Clipped pixels: the value from which the light of a stack is unknown."""

from functools import partial

import numpy as np

from panfocus._intensity import IntensityScale
from panfocus._threads import map_blocks
from panfocus.stack import Frames, colours, sampled_strips

NEAR_TOP = 0.985  # share of the largest value: compression moves clipped pixels to this value or more
AT_TOP = 0.999
LEAST_SHARE = 1e-4  # of the values of a stack: fewer may be reflections that just reach the top


def find_clip(frames: Frames) -> float | None:
    """Return the value in unit range from which pixels are clipped, or None if the type has no largest value.

    Integer pixels are clipped at the end of their range. If values pile up at a lower maximum, as in 12-bit
    data or frames with a gain, they are clipped there.
    """
    scale = IntensityScale.of(frames.dtype)
    white = NEAR_TOP if scale.step else None
    if frames.dtype == np.uint8:
        return white
    tops = map_blocks(partial(_find_top, frames), range(len(frames)))
    top = max(tops)
    if not top > 0:
        return white
    counts = np.sum(list(map_blocks(partial(_count, frames, top), range(len(frames)))), axis=0)
    n_values, near, at = (int(count) for count in counts)
    # Without clipping, brighter values are rarer.
    if at >= LEAST_SHARE * n_values and at > near - at:
        return float(NEAR_TOP * top / scale.white)
    return white


def _find_top(frames: Frames, k: int) -> float:
    return max(float(colours(strip).max()) for strip in sampled_strips(frames, k))


def _count(frames: Frames, top: float, k: int) -> tuple[int, int, int]:
    strips = [colours(strip) for strip in sampled_strips(frames, k)]
    near, at = (sum(int(np.count_nonzero(s >= share * top)) for s in strips) for share in (NEAR_TOP, AT_TOP))
    return sum(strip.size for strip in strips), near, at
