"""Parts of pictures and maps as 8 bits for the screen; every part of one is shown alike."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus.show.colormap import ramp
from panfocus.stack import colours

Pixels = NDArray[np.uint8]

# Of a mask: nothing where it is false; where it is true no colour of the ramp, and rare in photographs.
MASK_COLOURS = np.array([[0, 0, 0, 0], [255, 0, 128, 255]], np.uint8)


def white_of(image: NDArray[Any]) -> float:
    """Return the value to be shown as white: the largest of 8 bits.

    Values deeper than that are brightened until one in a thousand is white: they may be 12 bits of 16.
    """
    if image.dtype == np.uint8:
        return 255.0
    bright = float(np.percentile(colours(image), 99.9))
    return bright if bright > 0 else IntensityScale.of(image.dtype).white


def picture(part: NDArray[Any], white: float) -> Pixels:
    """Show an image (h, w) or (h, w, c) as grey (h, w) or as colour (h, w, 3), without alpha."""
    seen = colours(part)
    seen = seen[..., 0] if seen.shape[2] < 3 else seen[..., :3]
    if part.dtype == np.uint8:
        return np.ascontiguousarray(seen)
    bright = np.float32(255 / white) * seen.astype(np.float32)
    return np.ascontiguousarray(np.rint(np.clip(bright, 0, 255)), np.uint8)


def label_colours(labels: IntArray, n_frames: int) -> Pixels:
    """Show which frame is sharpest, (h, w, 3): the first is dark, the last is bright."""
    return np.take(ramp(), ramp_shades(labels, n_frames), axis=0)


def ramp_shades(values: FloatArray | IntArray, n_frames: int) -> Pixels:
    """Return which colour of the ramp shows a label, or a depth in frames; what has none is as the first."""
    shades = np.rint(np.nan_to_num(values) * (255 / max(1, n_frames - 1)))
    return np.asarray(np.clip(shades, 0, 255), np.uint8)


def confidence_grey(confidence: FloatArray) -> Pixels:
    """Show how sure labels are as grey (h, w): white is certain."""
    return np.clip(np.rint(255 * np.nan_to_num(confidence)), 0, 255).astype(np.uint8)
