"""From pictures as they were read to scores: mostly grey, without the border, on the scale of their type."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import IntensityScale
from panfocus.errors import FileError, InputError
from panfocus.metrics import matlab_gray, score

GREY = (
    "MATLAB's rgb2gray, Y = 0.2989 R + 0.5870 G + 0.1140 B in full precision, "
    "8 and 16 bit rounded half up to their own type"
)


_STEP = np.uint16(257)  # from a level of 8 bit to the same in 16: 65535 / 255

# Filters overshoot at edges: a result may go beyond black and white, one on another scale goes further.
RESULT_OVERSHOOT = 0.5


def score_pictures(
    sources: Sequence[NDArray[Any]],
    fused: NDArray[Any],
    reference: NDArray[Any] | None = None,
    *,
    keys: Collection[str] | None = None,
    crop: int = 0,
    data_range: float | None = None,
    complete: bool = False,
) -> dict[str, float]:
    """Score a fused picture, grey or colour, without `crop` pixels on every side; see `metrics.score`.

    `data_range` is the value of white; by default the largest of the type, and 1 for floats.
    """
    check_crop(crop, fused)

    def inner(image: NDArray[Any]) -> NDArray[Any]:
        return image[crop : image.shape[0] - crop, crop : image.shape[1] - crop]

    return score(
        [matlab_gray(inner(source)) for source in sources],
        matlab_gray(inner(fused)),
        reference=None if reference is None else matlab_gray(inner(reference)),
        colours=None if reference is None else (inner(reference), inner(fused)),
        data_range=scale_of(fused, data_range).white,
        keys=keys,
        complete=complete,
    )


def scale_of(image: NDArray[Any], data_range: float | None) -> IntensityScale:
    """Return the scale from black to white: of the type, or up to a value that the user knows."""
    scale = IntensityScale.of(image.dtype)
    return scale if data_range is None else replace(scale, white=data_range)


def check_range(image: NDArray[Any], name: str, data_range: float | None, *, overshoot: float = 0.0) -> None:
    """Refuse values that are not from black to white: the scores would be those of another picture.

    `overshoot`: how far beyond they may be, as a share of white.
    """
    white = scale_of(image, data_range).white
    low, high = float(image.min()), float(image.max())
    if low < -overshoot * white or high > (1 + overshoot) * white:
        raise FileError(
            f"{name} holds values from {low:g} to {high:g}, not from 0 to {white:g}; "
            "give the value of white by --data-range"
        )


def check_crop(crop: int, image: NDArray[Any]) -> None:
    """Refuse a crop that leaves nothing of an image."""
    height, width = image.shape[:2]
    if 2 * crop >= min(height, width):
        raise InputError(f"a crop of {crop} pixels on every side leaves nothing of {width} x {height}")


def at_depth_of(frame: NDArray[Any], image: NDArray[Any], name: str) -> NDArray[Any]:
    """Bring a picture of 8 or 16 bit to the depth of the frames, exactly; other types stay as they are."""
    match image.dtype.name, frame.dtype.name:
        case "uint8", "uint16":
            return image.astype(np.uint16) * _STEP
        case "uint16", "uint8":
            if (image % _STEP).any():
                raise FileError(
                    f"{name} is uint16, and the frames' uint8 is too coarse for its values; convert it"
                )
            return (image // _STEP).astype(np.uint8)
    return image


def check_alike(image: NDArray[Any], name: str, other: NDArray[Any], other_name: str) -> None:
    """Refuse a picture that cannot be scored beside another, by their names; colour may differ."""
    if image.shape[:2] != other.shape[:2] or image.dtype != other.dtype:
        raise FileError(
            f"{name} is {_kind(image)}, {other_name} is {_kind(other)}; needed are one size and one type"
        )
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        raise FileError(f"{name} holds NaN or infinite values; replace them first")


def _kind(image: NDArray[Any]) -> str:
    return f"{image.shape[1]} x {image.shape[0]} pixels of {image.dtype.name}"
