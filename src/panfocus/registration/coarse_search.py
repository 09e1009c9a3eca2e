"""The first guess, from frames of stamp size: scales and rotations in reach, with the best shift for each."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray
from panfocus.registration._kernel_blocks import warped
from panfocus.registration.models import Matrix, at_level
from panfocus.registration.pyramid import Pyramid

STAMP = 128  # pixels of the longer side, at most, where guesses are made
SCALES = np.exp(np.linspace(-0.2, 0.2, 11))  # 0.82 to 1.22
ROTATIONS = np.deg2rad(np.linspace(-5, 5, 7))
FAR = 0.25  # of the side: no shift is looked for beyond


def search(fixed: Pyramid, moving: Pyramid, *, shift_only: bool = False) -> Matrix:
    """Return the similarity, out of a grid, or the shift, through which the frames correlate best."""
    from scipy.fft import irfft2, next_fast_len, rfft2

    level = fixed.coarsest
    while level > fixed.finest and max(fixed[level - 1].shape) <= STAMP:
        level -= 1
    here, there = _band(fixed[level]), _band(moving[level])
    height, width = here.shape
    window = np.outer(_taper(height), _taper(width)).astype(np.float32)
    size = (
        next_fast_len(height + int(FAR * height), real=True),
        next_fast_len(width + int(FAR * width), real=True),
    )
    spectrum = np.conj(rfft2(here * window, size))
    near = np.outer(_near(size[0], height), _near(size[1], width))
    strength = float(np.linalg.norm(here * window))
    best, best_score = np.eye(3), -np.inf
    seen = np.empty_like(here)
    for scale, angle in [(1.0, 0.0)] if shift_only else product(SCALES, ROTATIONS):
        guess = _similarity(scale, angle, here.shape)
        warped(there, guess, seen)
        seen *= window
        peaks = irfft2(rfft2(seen, size) * spectrum, size)
        peaks[~near] = -np.inf
        row, col = np.unravel_index(int(np.argmax(peaks)), size)
        score = float(peaks[row, col]) / (strength * float(np.linalg.norm(seen)) + 1e-30)
        if score > best_score:
            shift = np.eye(3)
            shift[0, 2] = col if col < size[1] / 2 else col - size[1]
            shift[1, 2] = row if row < size[0] / 2 else row - size[0]
            best, best_score = guess @ shift, score
    return at_level(best, -level)


def _band(plane: FloatArray) -> FloatArray:
    """Leave out what light and vignetting change, and bring weak and strong places nearer to each other."""
    from scipy.ndimage import gaussian_filter

    detail = plane - gaussian_filter(plane, 4, mode="nearest")
    strength = np.sqrt(gaussian_filter(detail * detail, 8, mode="nearest"))
    return np.asarray(detail / (strength + 0.2 * strength.mean() + 1e-12), np.float32)


def _similarity(scale: float, angle: float, shape: tuple[int, ...]) -> Matrix:
    middle = np.array([(shape[1] - 1) / 2, (shape[0] - 1) / 2])
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    H = np.eye(3)
    H[:2, :2], H[:2, 2] = turn, middle - turn @ middle
    return H


def _taper(n: int) -> NDArray[np.float64]:
    edge = np.minimum(np.arange(n) + 0.5, n - 0.5 - np.arange(n)) / (0.15 * n)
    return np.asarray(np.sin(np.pi / 2 * np.minimum(edge, 1)) ** 2)


def _near(size: int, length: int) -> NDArray[np.bool_]:
    offset = np.arange(size)
    return np.minimum(offset, size - offset) <= FAR * length
