"""Pictures for the eye: small, 8 bit, in colour."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._downscale import reduced, reduction
from panfocus._intensity import IntensityScale


def shown(image: NDArray[Any], largest: int) -> NDArray[np.uint8]:
    """Return a grey or colour picture (h, w, 3) of at most that side, without alpha.

    Values deeper than 8 bits are brightened until one in a thousand is white: they may be 12 bits of 16.
    """
    small = reduced(image, reduction(image.shape, largest))
    unit = IntensityScale.of(image.dtype).to_unit(small)
    if image.dtype != np.uint8:
        unit = unit / (np.percentile(unit, 99.9) or 1.0)
    pixels = np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)
    if pixels.ndim == 2 or pixels.shape[2] < 3:
        pixels = np.repeat(pixels.reshape(*pixels.shape[:2], -1)[..., :1], 3, axis=2)
    return np.ascontiguousarray(pixels[..., :3])
