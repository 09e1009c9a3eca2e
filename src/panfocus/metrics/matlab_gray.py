"""Grey as the reference values of fusion metrics take it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._intensity import SUPPORTED_DTYPES
from panfocus.errors import InputError

# First row of the inverse of MATLAB's NTSC matrix, in full precision.
_RED, _GREEN, _BLUE = 0.298936021293775, 0.587043074451121, 0.114020904255103


def matlab_gray(image: ArrayLike) -> NDArray[Any]:
    """Return a colour image (h, w, c) as a grey plane (h, w) of the same type, by MATLAB's `rgb2gray`.

    Y = 0.298936021293775 R + 0.587043074451121 G + 0.114020904255103 B, computed in double. 8 and 16 bits are
    rounded half up to their own type; floats are not rounded. Grey images are returned as they are; one
    channel, or one with alpha (c = 2), is taken alone; alpha never counts.

    Published values of fusion metrics are made with this formula. It moves them: the BT.601 weights
    .299, .587, .114 in integer arithmetic, which most libraries take, change some pixels by a level.
    """
    pixels = np.asarray(image)
    if pixels.dtype.name not in SUPPORTED_DTYPES:
        raise InputError(f"the image is {pixels.dtype.name}; supported: {', '.join(SUPPORTED_DTYPES)}")
    match pixels.shape:
        case (_, _):
            return pixels
        case (_, _, 1 | 2):
            return pixels[..., 0]
        case (_, _, 3 | 4):
            red, green, blue = (pixels[..., i].astype(np.float64) for i in range(3))
            luma = _RED * red + _GREEN * green + _BLUE * blue
            return (np.floor(luma + 0.5) if pixels.dtype.kind == "u" else luma).astype(pixels.dtype)
        case shape:
            raise InputError(f"an image of shape {shape} is neither grey (h, w) nor colour (h, w, 3)")
