"""A walk through the depths of a fused picture: what lies at each lights up in turn."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._downscale import reduced, reduction
from panfocus._intensity import FloatArray
from panfocus.show.thumbnail import shown

LARGEST_SIDE, MILLISECONDS = 800, 80
FEWEST, MOST = 24, 60  # pictures
DARK = 0.2  # share of its light that what lies elsewhere keeps
WIDTH = 1 / 14  # of the range of depths, as a standard deviation, that lights up; at least half a frame


def sweep(image: NDArray[Any], depth: FloatArray, n_frames: int) -> Iterator[NDArray[np.uint8]]:
    """Yield pictures (h, w, 3), from the first frame's depth to the last's."""
    bright = shown(image, LARGEST_SIDE).astype(np.float32)
    near = reduced(depth, reduction(depth.shape, LARGEST_SIDE))
    width = max(0.5, WIDTH * (n_frames - 1))
    for here in np.linspace(0, n_frames - 1, int(np.clip(4 * n_frames, FEWEST, MOST))):
        light = np.exp(-0.5 * ((near - here) / width) ** 2)
        yield np.rint((DARK + (1 - DARK) * light[..., None]) * bright).astype(np.uint8)
