"""Sharpness and weight of each frame at one pixel."""

from typing import TYPE_CHECKING

import numpy as np

from panfocus.decide.focus_measure import REACH, laplacian_energy
from panfocus.decide.gray import to_gray

if TYPE_CHECKING:
    from panfocus.stack import Frames

AROUND = 4  # pixels on each side that are averaged, because a single one may be noise


def sharpness_at(frames: "Frames", row: int, col: int) -> list[float]:
    """Return the fine detail of each frame around a pixel, relative to the sharpest frame."""
    (tops, here), (lefts, there) = (
        _around(place, length) for place, length in zip((row, col), frames.shape[1:3], strict=True)
    )
    energies = [
        float(laplacian_energy(to_gray(frames[k, tops, lefts]))[here, there].mean())
        for k in range(len(frames))
    ]
    largest = max(energies) or 1.0
    return [energy / largest for energy in energies]


def weights_at(votes: "Frames", row: int, col: int) -> list[float | None]:
    """Return the share of each frame in a pixel; None if there are no votes."""
    values = np.asarray(votes[:, row, col], np.float64)
    total = values.sum()
    return [float(vote / total) if total > 0 else None for vote in values]


def _around(place: int, length: int) -> tuple[slice, slice]:
    """Return the span to read along an axis, and the averaged part of it."""
    first, last = max(0, place - AROUND), min(length, place + AROUND + 1)
    start = max(0, first - REACH)
    return slice(start, min(length, last + REACH)), slice(first - start, last - start)
