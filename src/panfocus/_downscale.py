"""Downscaling by area means."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def reduction(shape: tuple[int, ...], largest: int) -> int:
    """Return the integer factor that reduces (h, w, ...) so that no side exceeds `largest`."""
    return max(1, -(-max(shape[:2]) // largest))


def reduced_size(shape: tuple[int, ...], factor: int) -> tuple[int, ...]:
    """Return the shape of `reduced` for a shape (h, w, ...)."""
    return (-(-shape[0] // factor), -(-shape[1] // factor), *shape[2:])


def reduced(image: NDArray[Any], factor: int) -> NDArray[Any]:
    """Return the means of factor x factor pixels of (h, w, ...); blocks at the far edges are smaller.

    The dtype stays; integers are added exactly and their mean is rounded half up.
    """
    if factor == 1:
        return image
    whole = image.dtype.kind in "ub"
    # The sum of 256 x 256 values of 16 bits fits into 32 bits.
    exact = np.uint32 if factor <= 256 else np.uint64
    height, width, *_ = reduced_size(image.shape, factor)
    row_sums = np.zeros((height, *image.shape[1:]), exact if whole else np.float64)
    for first in range(factor):
        rows = image[first::factor]
        row_sums[: len(rows)] += rows
    sums = np.zeros((height, width, *image.shape[2:]), row_sums.dtype)
    for first in range(factor):
        columns = row_sums[:, first::factor]
        sums[:, : columns.shape[1]] += columns
    n_rows, n_columns = (
        np.minimum(factor, length - factor * np.arange(-(-length // factor))) for length in image.shape[:2]
    )
    counts = np.multiply.outer(n_rows, n_columns).reshape(height, width, *[1] * (image.ndim - 2))
    means = (2 * sums.astype(np.int64) + counts) // (2 * counts) if whole else sums / counts
    return np.asarray(means.astype(image.dtype))
