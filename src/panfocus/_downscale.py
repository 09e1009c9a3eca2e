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
    # 256 x 256 values of 16 bits, the most that blocks have in practice, add up to 32 bits.
    exact = np.uint32 if factor <= 256 else np.uint64
    height, width, *_ = reduced_size(image.shape, factor)
    of_rows = np.zeros((height, *image.shape[1:]), exact if whole else np.float64)
    for first in range(factor):
        rows = image[first::factor]
        of_rows[: len(rows)] += rows
    sums = np.zeros((height, width, *image.shape[2:]), of_rows.dtype)
    for first in range(factor):
        columns = of_rows[:, first::factor]
        sums[:, : columns.shape[1]] += columns
    rows_of, columns_of = (
        np.minimum(factor, length - factor * np.arange(-(-length // factor))) for length in image.shape[:2]
    )
    counts = np.multiply.outer(rows_of, columns_of).reshape(height, width, *[1] * (image.ndim - 2))
    means = (2 * sums.astype(np.int64) + counts) // (2 * counts) if whole else sums / counts
    return np.asarray(means.astype(image.dtype))
