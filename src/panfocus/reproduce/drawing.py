"""Rectangles on pictures, and where to look: the places where results differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from panfocus._intensity import IntensityScale
from panfocus.decide.gray import to_gray

Colour = tuple[int, int, int]

RED: Colour = (235, 50, 45)
GREEN: Colour = (40, 190, 70)
PIXELS_PER_LINE = 130  # of a picture's shorter side, for one of a line
FOCUSED, BLURRED = GREEN, RED  # as in the paper's Fig. 2


@dataclass(frozen=True)
class Box:
    """A rectangle of pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def place(self) -> tuple[slice, slice]:
        """Its rows and columns."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


def as_rgb(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a grey or colour picture in 8 bits and three channels."""
    unit = IntensityScale.of(image.dtype).to_unit(image)
    rgb = np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)
    return rgb if rgb.ndim == 3 else np.repeat(rgb[..., None], 3, axis=2)


def outlined(image: NDArray[Any], boxes: Mapping[Colour, Box]) -> NDArray[np.uint8]:
    """Return a picture with rectangles on it, their lines wide enough to be seen when it is shown small."""
    drawn = as_rgb(image).copy()
    line = max(2, round(min(drawn.shape[:2]) / PIXELS_PER_LINE))
    for colour, box in boxes.items():
        inside = drawn[box.place]
        kept = inside[line:-line, line:-line].copy()
        inside[:] = colour
        inside[line:-line, line:-line] = kept
    return drawn


def most_different(results: Sequence[NDArray[Any]], n: int, share: float = 0.2) -> list[Box]:
    """Return n squares, apart from each other, in which results of one scene differ most.

    Taken from the results themselves, so that nobody can be accused of having chosen them. `share`: side of a
    square as a share of the picture's shorter one.
    """
    spread = np.std([to_gray(result) for result in results], axis=0, dtype=np.float64)
    side = max(1, round(share * min(spread.shape)))
    windows = uniform_filter(spread, side, mode="constant")
    # Only windows that lie in the picture as a whole; element (i, j) is the one that begins there.
    half = side // 2
    begins = windows[
        half : half + spread.shape[0] - side + 1, half : half + spread.shape[1] - side + 1
    ].copy()
    boxes = []
    for _ in range(n):
        top, left = (int(i) for i in np.unravel_index(begins.argmax(), begins.shape))
        boxes.append(Box(top, left, side, side))
        begins[max(0, top - side + 1) : top + side, max(0, left - side + 1) : left + side] = -1
    return boxes
