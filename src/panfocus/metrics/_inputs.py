"""What every metric takes: grey images of one size and type, brought to one scale."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._float import SUPPORTED_DTYPES
from panfocus.errors import InputError

Plane = NDArray[np.float64]


def planes(
    sources: Sequence[ArrayLike], fused: ArrayLike, data_range: float | None
) -> tuple[list[Plane], Plane]:
    """Return sources and fused image in float64 on 0..255, the scale in which the definitions give constants.

    Integers of 8 and 16 bits come to the same numbers exactly, as x * 255 / 65535 is computed in this order.
    """
    if len(sources) < 2:
        raise InputError(f"a fusion metric needs at least two sources, got {len(sources) or 'none'}")
    named = {f"source {i}": np.asarray(source) for i, source in enumerate(sources)}
    named["the fused image"] = result = np.asarray(fused)
    for name, image in named.items():
        _check(name, image, like=result)
    white = _white(result.dtype, data_range)
    *scaled, last = (np.multiply(image, 255, dtype=np.float64) / white for image in named.values())
    return scaled, last


def _check(name: str, image: NDArray[Any], like: NDArray[Any]) -> None:
    if image.ndim != 2 or image.size == 0:
        raise InputError(
            f"{name} has shape {image.shape}; metrics take grey images (h, w): "
            "convert sources and fused image by one and the same formula first"
        )
    if image.dtype.name not in SUPPORTED_DTYPES:
        raise InputError(f"{name} is {image.dtype.name}; supported: {', '.join(SUPPORTED_DTYPES)}")
    if image.dtype != like.dtype:
        raise InputError(
            f"{name} is {image.dtype.name}, the fused image is {like.dtype.name}; convert to one type"
        )
    if image.shape != like.shape:
        raise InputError(
            f"{name} is {image.shape[1]} x {image.shape[0]} pixels, "
            f"the fused image is {like.shape[1]} x {like.shape[0]}; crop them to one size"
        )
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
