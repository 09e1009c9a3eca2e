"""Area of the reference that all frames show."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from panfocus.registration._kernel_resample import EDGE
from panfocus.registration.models import Matrix, apply, corners, inverse

CANDIDATES = 256  # rows tried as first or last row in the coarse search


def common_area(transforms: Iterable[Matrix], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the rows and columns of the largest rectangle that every frame shows; it may be empty."""
    height = shape[0]
    first, last = _row_spans(transforms, shape)
    step = max(1, height // CANDIDATES)
    tops, bottoms = np.arange(0, height, step), np.arange(height - 1, -1, -step)
    while True:
        tops, bottoms = np.unique(tops), np.unique(bottoms)
        left = np.maximum(first[tops][:, None], first[bottoms][None])
        right = np.minimum(last[tops][:, None], last[bottoms][None])
        tall = bottoms[None] - tops[:, None] + 1
        pixels = np.where((tall > 0) & (right >= left), tall * (right - left + 1), 0)
        i, j = np.unravel_index(int(np.argmax(pixels)), pixels.shape)
        if step == 1:
            break
        tops = np.clip(np.arange(tops[i] - step, tops[i] + step + 1), 0, height - 1)
        bottoms = np.clip(np.arange(bottoms[j] - step, bottoms[j] + step + 1), 0, height - 1)
        step = 1
    if not pixels[i, j]:
        return slice(0, 0), slice(0, 0)
    return slice(int(tops[i]), int(bottoms[j]) + 1), slice(int(left[i, j]), int(right[i, j]) + 1)


def common_mask(transforms: Iterable[Matrix], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the mask (h, w) of the reference's pixels that every frame shows."""
    first, last = _row_spans(transforms, shape)
    x = np.arange(shape[1])
    return np.asarray((x >= first[:, None]) & (x <= last[:, None]))


def common_share(transforms: Iterable[Matrix], shape: tuple[int, ...]) -> float:
    """Return the share (0 to 1) of the reference's pixels that every frame shows."""
    first, last = _row_spans(transforms, shape)
    return float(np.maximum(last - first + 1, 0).sum()) / (shape[0] * shape[1])


def _row_spans(
    transforms: Iterable[Matrix], shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last column of each row that all frames show."""
    height, width = shape[:2]
    y = np.arange(height, dtype=np.float64)
    first, last = np.zeros(height), np.full(height, width - 1.0)
    edge = EDGE - 1e-6  # rounding errors must not move a pixel outside
    outwards = edge * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    for H in transforms:
        outline = apply(inverse(H), corners(shape) + outwards)  # clockwise, in the reference
        for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
            # Points inside lie to the right of each side: a x + b <= 0.
            a, b = y1 - y0, (x1 - x0) * (y0 - y) - (y1 - y0) * x0
            if abs(a) < 1e-9:
                last[b > 1e-6] = -1
            elif a > 0:
                last = np.minimum(last, -b / a)
            else:
                first = np.maximum(first, -b / a)
    return np.ceil(first).astype(np.int64), np.floor(last).astype(np.int64)
