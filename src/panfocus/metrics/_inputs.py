"""What every metric takes: grey images of one size and type, brought to one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._intensity import SUPPORTED_DTYPES
from panfocus.errors import InputError

Plane = NDArray[np.float64]
Levels = NDArray[np.uint8]

_ALL_ROWS = slice(None)


class UndefinedError(InputError):
    """The metric has no value for these images, sound as they are: too small, grey, or too many sources."""


@dataclass(frozen=True)
class Grey:
    """A checked grey image. It is scaled when asked for, by rows, so that large images need little memory."""

    pixels: NDArray[Any]
    white: float

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.pixels.shape
        return height, width

    def plane(self, rows: slice = _ALL_ROWS) -> Plane:
        """Return rows in float64 on 0..255, the scale in which the definitions give constants.

        Integers of 8 and 16 bits come to the same numbers exactly, as x * 255 / 65535 is computed in this
        order.
        """
        scaled: Plane = np.multiply(self.pixels[rows], 255, dtype=np.float64)
        scaled /= self.white
        return scaled

    def levels(self, rows: slice = _ALL_ROWS) -> Levels:
        """Return rows as 256 levels: the data range rounded half up to 0..255, values outside it clipped."""
        return np.clip(np.floor(self.plane(rows) + 0.5), 0, 255).astype(np.uint8)


def fusion_images(
    sources: Sequence[ArrayLike], fused: ArrayLike, data_range: float | None
) -> tuple[list[Grey], Grey]:
    """Check sources and fused image."""
    if len(sources) < 2:
        raise InputError(f"a fusion metric needs at least two sources, got {len(sources) or 'none'}")
    named = {f"source {i}": source for i, source in enumerate(sources)}
    *checked, result = _checked({**named, "the fused image": fused}, data_range)
    return checked, result


def compared_images(reference: ArrayLike, image: ArrayLike, data_range: float | None) -> tuple[Grey, Grey]:
    """Check an image and the reference that it is compared with."""
    truth, compared = _checked({"the reference": reference, "the image": image}, data_range)
    return truth, compared


def single_image(image: ArrayLike, data_range: float | None) -> Grey:
    """Check an image that is measured alone."""
    (checked,) = _checked({"the image": image}, data_range)
    return checked


def _checked(named: Mapping[str, ArrayLike], data_range: float | None) -> list[Grey]:
    """Compare every image with the last one."""
    images = {name: np.asarray(image) for name, image in named.items()}
    *_, (standard_name, standard) = images.items()
    for name, image in images.items():
        _check(name, image)
        if image.dtype != standard.dtype:
            raise InputError(
                f"{name} is {image.dtype.name}, {standard_name} is {standard.dtype.name}; convert to one type"
            )
        if image.shape != standard.shape:
            raise InputError(
                f"{name} is {image.shape[1]} x {image.shape[0]} pixels, "
                f"{standard_name} is {standard.shape[1]} x {standard.shape[0]}; crop them to one size"
            )
    white = _white(standard.dtype, data_range)
    return [Grey(image, white) for image in images.values()]


def _check(name: str, image: NDArray[Any]) -> None:
    if image.ndim != 2 or image.size == 0:
        raise InputError(
            f"{name} has shape {image.shape}; metrics take grey images (h, w): "
            "convert all images by one and the same formula first, as metrics.matlab_gray does"
        )
    if image.dtype.name not in SUPPORTED_DTYPES:
        raise InputError(f"{name} is {image.dtype.name}; supported: {', '.join(SUPPORTED_DTYPES)}")
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        raise InputError(f"{name} holds NaN or infinite values; replace them first")


def _white(dtype: np.dtype[Any], data_range: float | None) -> float:
    if data_range is None:
        if dtype.kind == "f":
            raise InputError(
                "float images need data_range, the value of white: data_range=1.0 for unit range"
            )
        return float(np.iinfo(dtype).max)
    if not 0 < data_range < np.inf:
        raise InputError(f"data_range must be a number above 0, got {data_range}")
    return data_range
