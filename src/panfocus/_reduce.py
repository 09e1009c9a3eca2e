"""Smaller pictures by area means."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def reduction(shape: tuple[int, ...], largest: int) -> int:
    """Whole number by which (h, w, ...) is to be divided, for neither side to be larger than that."""
    return max(1, -(-max(shape[:2]) // largest))


def reduced_size(shape: tuple[int, ...], factor: int) -> tuple[int, ...]:
    """Return what `reduced` makes of (h, w, ...)."""
    return (-(-shape[0] // factor), -(-shape[1] // factor), *shape[2:])


def reduced(image: NDArray[Any], factor: int) -> NDArray[Any]:
    """Mean of each block of factor x factor pixels of (h, w, ...), at the far edges of what there is of it.

    The type stays; whole numbers are added exactly, and their mean is rounded half up.
    """
    if factor == 1:
        return image
    whole = image.dtype.kind in "ub"
    sums = image
    counts: NDArray[Any] = np.ones((1, 1), np.int64)
    for axis in (0, 1):
        starts = np.arange(0, image.shape[axis], factor)
        sums = np.add.reduceat(sums, starts, axis=axis, dtype=np.int64 if whole else np.float64)
        lengths = np.diff(np.append(starts, image.shape[axis]))
        counts = counts * (lengths[:, None] if axis == 0 else lengths[None])
    counts = counts.reshape(*counts.shape, *[1] * (image.ndim - 2))
    means = (2 * sums + counts) // (2 * counts) if whole else sums / counts
    return np.asarray(means.astype(image.dtype))
