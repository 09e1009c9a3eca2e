"""Patches: their positions, and functions to extract them from an image and add them back.

A patch is a column of `size**2` values. In a matrix of patches (size**2, n) each column is contiguous.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntArray
from panfocus._numba import compiled
from panfocus.errors import InputError

# A patch is flat if its contrast is below this many rounding errors of its brightness.
FLAT_ROUNDINGS = 8


def patch_origins(length: int, size: int, stride: int) -> IntArray:
    """Return origins 0, stride, 2 stride, ... and one flush with the far edge: every pixel is covered."""
    if size > length:
        raise InputError(
            f"Patches of {size} x {size} pixels do not fit into an image side of {length} pixels.",
            got=length,
            needed=size,
        )
    check_stride(stride, size)
    starts = np.arange(0, length - size + 1, stride)
    return starts if starts[-1] == length - size else np.append(starts, length - size)


def check_stride(stride: int, size: int) -> None:
    """Raise if a stride leaves pixels between the patches."""
    if not 1 <= stride <= size:
        raise InputError(
            f"`stride` must be between 1 and the patch size {size}, got {stride}.",
            setting="stride",
            got=stride,
            limit=size,
        )


def extract_patches(image: NDArray[Any], rows: IntArray, cols: IntArray, size: int) -> NDArray[Any]:
    """Return the patches with origins rows x cols, row by row, as columns (size**2, rows * cols)."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (size, size))
    return np.asarray(windows[np.ix_(rows, cols)].reshape(len(rows) * len(cols), size * size).T)


def add_patches(image: FloatArray, patches: FloatArray, rows: IntArray, cols: IntArray, size: int) -> None:
    """Add patches to an image in place: the adjoint of `extract_patches`.

    Patches are added in the order of their origins, row by row. Splitting the rows into blocks therefore
    changes no bit.
    """
    _add_patches(image, np.ascontiguousarray(patches.T), rows, cols, size)


def spread_each(
    marks: IntArray, shape: tuple[int, int], rows: IntArray, cols: IntArray, size: int
) -> IntArray:
    """Return at every pixel (n, h, w) the sum of the marks (n, rows, cols) of the patches that cover it.

    This is `add_patches` for constant patches, with 2 * size additions instead of size**2. Marks are
    integers, so that the sums, in int64, are exact in any order.
    """
    sums = np.zeros((len(marks), *shape), np.int64)
    for marks_of_frame, sums_of_frame in zip(marks, sums, strict=True):
        along_columns = np.zeros((len(rows), shape[1]), np.int64)
        for j in range(size):
            along_columns[:, cols + j] += marks_of_frame
        for i in range(size):
            sums_of_frame[rows + i] += along_columns
    return sums


def centred_patches(
    image: FloatArray, rows: IntArray, cols: IntArray, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return float32 patches minus their means, and their energies ||x||^2 (n,).

    A flat patch (see FLAT_ROUNDINGS) becomes zeros, with energy zero.
    """
    patches = np.empty((len(rows) * len(cols), size * size), np.float32)
    energies = np.empty(len(patches))
    flat_contrast = FLAT_ROUNDINGS * float(np.finfo(image.dtype).eps)
    _gather_centred(image, rows, cols, size, flat_contrast, patches, energies)
    return patches.T, energies


def patch_means(image: FloatArray, rows: IntArray, cols: IntArray, size: int) -> FloatArray:
    """Return the means that `centred_patches` subtracts (n,), in float64."""
    means = np.empty(len(rows) * len(cols))
    _gather_means(image, rows, cols, size, means)
    return means


@compiled()
def _add_patches(image: FloatArray, patches: FloatArray, rows: IntArray, cols: IntArray, size: int) -> None:
    n = 0
    for row in rows:
        for col in cols:
            for i in range(size):
                for j in range(size):
                    image[row + i, col + j] += patches[n, i * size + j]
            n += 1


@compiled()
def _mean_at(image: FloatArray, row: int, col: int, size: int) -> float:
    # In float64: the error of a float32 mean of 64 values is as large as the contrast of a flat patch.
    total = 0.0
    for i in range(size):
        for j in range(size):
            total += image[row + i, col + j]
    return total / (size * size)


@compiled()
def _gather_means(image: FloatArray, rows: IntArray, cols: IntArray, size: int, means: FloatArray) -> None:
    n = 0
    for row in rows:
        for col in cols:
            means[n] = _mean_at(image, row, col, size)
            n += 1


@compiled()
def _gather_centred(
    image: FloatArray,
    rows: IntArray,
    cols: IntArray,
    size: int,
    flat_contrast: float,
    patches: FloatArray,
    energies: FloatArray,
) -> None:
    n = 0
    for row in rows:
        for col in cols:
            mean = _mean_at(image, row, col, size)
            energy = 0.0
            for i in range(size):
                for j in range(size):
                    value = image[row + i, col + j] - mean
                    patches[n, i * size + j] = value
                    energy += value * value
            brightness = size * size * mean * mean
            if energy <= flat_contrast * flat_contrast * (brightness + energy):
                patches[n, :] = 0.0
                energy = 0.0
            energies[n] = energy
            n += 1
