"""What speaks for each frame at one place."""

from typing import TYPE_CHECKING

import numpy as np

from panfocus.decide.focus_measure import REACH, laplacian_energy
from panfocus.decide.gray import to_gray

if TYPE_CHECKING:
    from panfocus.stack import Frames

AROUND = 4  # pixels on each side of a place whose detail counts: one alone may be noise


def sharpness_at(frames: "Frames", row: int, col: int) -> list[float]:
    """Return how much fine detail each frame has around a pixel: a share of what the sharpest has."""
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
    """Return the share of each frame in a pixel; nobody's votes tell nothing."""
    of_each = np.asarray(votes[:, row, col], np.float64)
    total = of_each.sum()
    return [float(votes_of / total) if total > 0 else None for votes_of in of_each]


def _around(place: int, length: int) -> tuple[slice, slice]:
    """Return what is read along a side, and what counts of it: farther ones are needed for its measure."""
    first, last = max(0, place - AROUND), min(length, place + AROUND + 1)
    start = max(0, first - REACH)
    return slice(start, min(length, last + REACH)), slice(first - start, last - start)
