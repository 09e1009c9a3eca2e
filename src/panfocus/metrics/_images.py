"""Grey images for metrics: input checks, conversion to grey, one scale, and sums over bands of rows."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._intensity import SUPPORTED_DTYPES
from panfocus._threads import map_blocks
from panfocus.errors import InputError

Plane = NDArray[np.float64]
Levels = NDArray[np.uint8]
Part = TypeVar("Part", float, NDArray[Any])

_ALL_ROWS = slice(None)
_BAND_PIXELS = 2**16  # the float64 planes of a band fit into the cache of a core

# First row of the inverse of MATLAB's NTSC matrix, in full precision.
_RED, _GREEN, _BLUE = 0.298936021293775, 0.587043074451121, 0.114020904255103


class UndefinedError(InputError):
    """The metric has no value for these images: too small, grey instead of colour, or too many sources."""


@dataclass(frozen=True)
class Grey:
    """A checked grey image. Rows are scaled on request, so that large images need little memory."""

    pixels: NDArray[Any]
    white: float

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.pixels.shape
        return height, width

    def plane(self, rows: slice = _ALL_ROWS) -> Plane:
        """Return rows as float64 on 0..255, the scale of the constants in the definitions.

        Images of 8 and 16 bits give exactly the same numbers, because x * 255 / 65535 is computed in this
        order.
        """
        scaled: Plane = np.multiply(self.pixels[rows], 255, dtype=np.float64)
        scaled /= self.white
        return scaled

    def levels(self, rows: slice = _ALL_ROWS) -> Levels:
        """Return rows as 256 levels: the data range rounded half up to 0..255 and clipped."""
        return np.clip(np.floor(self.plane(rows) + 0.5), 0, 255).astype(np.uint8)


def check_fusion(
    sources: Sequence[ArrayLike], fused: ArrayLike, data_range: float | None
) -> tuple[list[Grey], Grey]:
    """Check the sources and the fused image."""
    if len(sources) < 2:
        raise InputError(
            f"A fusion metric needs at least two sources, got {len(sources)}.", needed=2, got=len(sources)
        )
    named = {f"source {i}": source for i, source in enumerate(sources)}
    *checked, result = _check_all({**named, "the fused image": fused}, data_range)
    return checked, result


def check_pair(reference: ArrayLike, image: ArrayLike, data_range: float | None) -> tuple[Grey, Grey]:
    """Check an image and its reference."""
    truth, compared = _check_all({"the reference": reference, "the image": image}, data_range)
    return truth, compared


def check_image(image: ArrayLike, data_range: float | None) -> Grey:
    """Check one image."""
    (checked,) = _check_all({"the image": image}, data_range)
    return checked


def _check_all(named: Mapping[str, ArrayLike], data_range: float | None) -> list[Grey]:
    """Check every image and compare it with the last one."""
    images = {name: np.asarray(image) for name, image in named.items()}
    *_, (last_name, last) = images.items()
    for name, image in images.items():
        _check(name, image)
        if image.dtype != last.dtype:
            raise InputError(
                f"All images must have one data type: {name} is {image.dtype.name}, "
                f"{last_name} is {last.dtype.name}.",
                got=image.dtype.name,
                needed=last.dtype.name,
            )
        if image.shape != last.shape:
            raise InputError(
                f"All images must have one size: {name} is {image.shape[1]} x {image.shape[0]} pixels, "
                f"{last_name} is {last.shape[1]} x {last.shape[0]}.",
                got=image.shape,
                needed=last.shape,
            )
    white = _white(last.dtype, data_range)
    return [Grey(image, white) for image in images.values()]


def _check(name: str, image: NDArray[Any]) -> None:
    if image.ndim != 2 or image.size == 0:
        raise InputError(
            f"Metrics need grey images (h, w), but {name} has shape {image.shape}. "
            "Convert all images by one formula first, such as metrics.matlab_gray.",
            got=image.shape,
        )
    _check_dtype(name, image)
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        raise InputError(f"{name.capitalize()} contains NaN or infinite values.")


def _check_dtype(name: str, image: NDArray[Any]) -> None:
    if image.dtype.name not in SUPPORTED_DTYPES:
        raise InputError(
            f"{name.capitalize()} has data type {image.dtype.name}; supported are "
            f"{', '.join(SUPPORTED_DTYPES)}.",
            got=image.dtype.name,
        )


def _white(dtype: np.dtype[Any], data_range: float | None) -> float:
    if data_range is None:
        if dtype.kind == "f":
            raise InputError("Float images need `data_range`, the value of white.", setting="data_range")
        return float(np.iinfo(dtype).max)
    if not 0 < data_range < np.inf:
        raise InputError(
            f"`data_range` must be a finite number above 0, got {data_range}.",
            setting="data_range",
            got=data_range,
        )
    return data_range


def matlab_gray(image: ArrayLike) -> NDArray[Any]:
    """Return a colour image (h, w, c) as a grey plane (h, w) of the same type, by MATLAB's `rgb2gray`.

    Y = 0.298936021293775 R + 0.587043074451121 G + 0.114020904255103 B, computed in double. 8 and 16 bits are
    rounded half up to their type; floats are not rounded. Grey images are returned unchanged. Of one channel
    with or without alpha (c = 1 or 2), the first is returned. Alpha is ignored.

    Published values of fusion metrics use this formula. Other formulas change the values: the BT.601 weights
    0.299, 0.587, 0.114 in integer arithmetic, as in most libraries, change some pixels by one level.
    """
    pixels = np.asarray(image)
    _check_dtype("the image", pixels)
    match pixels.shape:
        case (_, _):
            return pixels
        case (_, _, 1 | 2):
            return pixels[..., 0]
        case (_, _, 3 | 4):
            red, green, blue = (pixels[..., i].astype(np.float64) for i in range(3))
            luma = _RED * red + _GREEN * green + _BLUE * blue
            return (np.floor(luma + 0.5) if pixels.dtype.kind == "u" else luma).astype(pixels.dtype)
        case shape:
            raise InputError(
                f"An image must be grey (h, w) or colour (h, w, 3), got shape {shape}.", got=shape
            )


def sum_bands(part: Callable[[slice], Part], shape: tuple[int, int]) -> Part:
    """Return the sum of `part` over bands of rows, computed on all cores.

    The bands depend on the shape only and are added in order: the bits do not depend on the number of
    threads.
    """
    height, width = shape
    step = max(1, _BAND_PIXELS // width)
    bands = (slice(start, min(start + step, height)) for start in range(0, height, step))
    return reduce(operator.add, map_blocks(part, bands))


LEVELS = 256

# Rounds values half-way between two levels to the upper one, even where float32 has lowered them by 1e-5.
_TIE = 2.0**-12


def histogram(image: Grey) -> Plane:
    """Return the share of each level in all pixels (256,)."""

    def count(rows: slice) -> NDArray[np.int64]:
        return np.bincount(image.levels(rows).ravel(), minlength=LEVELS)

    return np.asarray(sum_bands(count, image.shape) / image.pixels.size)


def joint_histogram(a: Grey, b: Grey) -> Plane:
    """Return the share of pixels with level i in `a` and level j in `b` (256, 256)."""

    def count(rows: slice) -> NDArray[np.int64]:
        pairs = a.levels(rows).astype(np.intp) * LEVELS + b.levels(rows)
        return np.bincount(pairs.ravel(), minlength=LEVELS**2)

    return np.asarray(sum_bands(count, a.shape).reshape(LEVELS, LEVELS) / a.pixels.size)


def entropy(probabilities: Plane) -> float:
    """Return the Shannon entropy in nats; divide by log(b) for another base."""
    p = probabilities[probabilities > 0]
    return 0.0 - float((p * np.log(p)).sum())  # a constant image has 0, not -0


def mutual_information(joint: Plane) -> float:
    """Return the mutual information of a joint histogram, in nats."""
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)


def stretch_levels(image: Grey) -> Grey:
    """Stretch an image from its minimum and maximum to 0..255, rounded half up; a constant image to 0."""
    plane = image.plane()
    low, high = plane.min(), plane.max()
    scale = 255 / (high - low) if high > low else 0.0
    return Grey(np.floor((plane - low) * scale + 0.5 + _TIE).astype(np.uint8), white=255.0)
