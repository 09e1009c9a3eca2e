"""Simulated defocus of a lens: a point becomes a disk."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.signal import oaconvolve

from panfocus._checks import check_integer, check_number
from panfocus._intensity import FloatArray
from panfocus.errors import InputError

SUBPIXELS = 16  # samples per pixel at the rim: the area is accurate to 1 % at a radius of 1 pixel
WITHIN_A_PIXEL = 0.5  # radius in pixels: disks up to this size do not blur
RADII = (1.5, 6.0)  # radii of the blurred levels in pixels: from just visible to most of an 8 x 8 patch
NOISE = 1.0 / 255  # largest standard deviation of the sensor noise, as a share of the range of the data
WHITE = 255  # levels are rounded to 8 bits of the range of the data, like camera images


def check_positive(name: str, value: float) -> None:
    """Raise unless the value is a positive, finite number."""
    check_number(name, value)
    if not 0 < value < np.inf:
        raise InputError(f"`{name}` must be positive and finite, got {value}.", setting=name, got=value)


def disk(radius: float) -> FloatArray:
    """Return the point spread of a defocused lens: a disk of sum 1 with anti-aliased rim."""
    check_positive("radius", radius)
    radius = max(radius, WITHIN_A_PIXEL)  # gives the same kernel, and is coarse enough for the samples
    reach = int(np.ceil(radius))
    side = 2 * reach + 1
    fine = (np.arange(side * SUBPIXELS) + 0.5) / SUBPIXELS - reach - 0.5
    inside = (fine[:, None] ** 2 + fine**2 <= radius**2).astype(np.float64)
    kernel = inside.reshape(side, SUBPIXELS, side, SUBPIXELS).mean(axis=(1, 3))
    return np.asarray(kernel / kernel.sum())


def apply_defocus(image: FloatArray, radius: float) -> FloatArray:
    """Blur an image (h, w) with a disk; borders are mirrored. Radius 0 returns the image."""
    if radius == 0:
        return image
    kernel = disk(radius)
    wide = np.pad(image, kernel.shape[0] // 2, mode="symmetric")
    return oaconvolve(wide, kernel, mode="valid").astype(image.dtype)


def simulate_levels(
    image: FloatArray, *, n_levels: int, rng: np.random.Generator, data_range: float = 1.0
) -> list[FloatArray]:
    """Simulate photographs of a sharp image (h, w), unit range, at each focus level, sharpest first.

    The range of radii is divided evenly (by ratio) among the blurred levels; each level draws its radius from
    its part. Every level gets separate noise and is rounded to 8 bits. `data_range` is the value of white, to
    which noise and rounding are relative: 1/16 for 12-bit data in 16 bits.
    """
    check_integer("n_levels", n_levels, at_least=2)
    limits = np.geomspace(*RADII, n_levels)
    radii = [0.0, *(float(np.exp(rng.uniform(*np.log(pair)))) for pair in pairwise(limits))]
    return [_add_noise(apply_defocus(image, radius), rng, data_range) for radius in radii]


def simulate_training(
    images: Sequence[FloatArray],
    *,
    n_levels: int,
    rng: np.random.Generator,
    draws: int = 4,
    data_range: float = 1.0,
) -> list[list[FloatArray]]:
    """Simulate every image `draws` times with new radii and noise. Return a list of images per level."""
    drawn = [
        simulate_levels(image, n_levels=n_levels, rng=rng, data_range=data_range)
        for image in images
        for _ in range(draws)
    ]
    return [list(level) for level in zip(*drawn, strict=True)]


def _add_noise(image: FloatArray, rng: np.random.Generator, data_range: float) -> FloatArray:
    noisy = image / data_range + rng.normal(0.0, rng.uniform(0.0, NOISE), image.shape)
    return (data_range * (np.rint(np.clip(noisy, 0, 1) * WHITE) / WHITE)).astype(np.float32)
