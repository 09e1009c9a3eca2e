"""Scores of images as read from files: conversion to grey, crop and scale, with input checks."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import check_integer
from panfocus._intensity import IntensityScale
from panfocus.errors import FileError, InputError
from panfocus.io.headers import Header, read_headers
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_frame, read_single
from panfocus.metrics import get_metric, matlab_gray, score

GREY = (
    "MATLAB's rgb2gray, Y = 0.2989 R + 0.5870 G + 0.1140 B in full precision, "
    "8 and 16 bit rounded half up to their own type"
)

_STEP = np.uint16(257)  # 16-bit levels per 8-bit level: 65535 / 255

# Filters overshoot at edges, so results may exceed black and white by this share of white. Images on another
# scale exceed it by far more.
RESULT_OVERSHOOT = 0.5


@dataclass(frozen=True)
class FileScores:
    """Scores of a fused image in a file."""

    scores: dict[str, float]  # by key
    sources: tuple[str, ...]  # names of the frames
    scaled_from: str | None  # data type of the fused image before conversion to the depth of the frames


def score_files(
    fused: Path,
    inputs: Sequence[str | Path],
    reference: Path | None = None,
    *,
    keys: Sequence[str] | None = None,
    crop: int = 0,
    data_range: float | None = None,
    warn: Callable[[str], None] | None = None,
) -> FileScores:
    """Score a fused image against its frames: files, folders, patterns or multi-page files.

    Metrics named by `keys` must have a value. `warn` is called about images that are skipped. For the other
    arguments see `score_images`.
    """
    check_score_options(keys or (), crop, data_range)
    sources = {header.name: read_frame(header) for header in _find_sources(inputs, fused, reference, warn)}
    first_name, first = next(iter(sources.items()))
    read = read_single(fused)
    image = match_bit_depth(first, read, str(fused))
    truth = read_single(reference) if reference else None
    for name, picture in [*sources.items(), (str(fused), image), (str(reference), truth)]:
        if picture is not None:
            check_same_format(picture, name, first, first_name)
            overshoot = RESULT_OVERSHOOT if picture is image else 0.0
            check_value_range(picture, name, data_range, overshoot=overshoot)
    scores = score_images(
        list(sources.values()),
        image,
        truth,
        keys=keys,
        crop=crop,
        data_range=data_range,
        complete=keys is not None,
    )
    return FileScores(scores, tuple(sources), None if image is read else read.dtype.name)


def _find_sources(
    inputs: Sequence[str | Path], fused: Path, reference: Path | None, warn: Callable[[str], None] | None
) -> list[Header]:
    """Return the frames; raise if the fused image or the reference is among them, as in a common folder."""
    paths = find_inputs(inputs, warn=warn)
    for other, role in ((fused, "fused image"), (reference, "reference")):
        if other and any(path.exists() and other.exists() and path.samefile(other) for path in paths):
            raise InputError(
                f"{other}: The {role} is among the sources. Name the frames one by one, or move it.",
                file=str(other),
            )
    headers = read_headers(paths)
    if len(headers) < 2:
        raise InputError(
            f"A score needs at least two sources, got only {headers[0].name}.",
            got=len(headers),
            file=str(paths[0]),
        )
    return headers


def score_images(
    sources: Sequence[NDArray[Any]],
    fused: NDArray[Any],
    reference: NDArray[Any] | None = None,
    *,
    keys: Collection[str] | None = None,
    crop: int = 0,
    data_range: float | None = None,
    complete: bool = False,
) -> dict[str, float]:
    """Score a fused image, grey or colour, without `crop` pixels on every side; see `metrics.score`.

    `data_range` is the value of white; by default the maximum of the type, and 1 for floats.
    """
    check_crop(crop, fused)

    def inner(image: NDArray[Any]) -> NDArray[Any]:
        return image[crop : image.shape[0] - crop, crop : image.shape[1] - crop]

    return score(
        [matlab_gray(inner(source)) for source in sources],
        matlab_gray(inner(fused)),
        reference=None if reference is None else matlab_gray(inner(reference)),
        colours=None if reference is None else (inner(reference), inner(fused)),
        data_range=intensity_scale(fused, data_range).white,
        keys=keys,
        complete=complete,
    )


def intensity_scale(image: NDArray[Any], data_range: float | None) -> IntensityScale:
    """Return the scale from black to white, by default of the data type."""
    scale = IntensityScale.of(image.dtype)
    return scale if data_range is None else replace(scale, white=data_range)


def check_score_options(keys: Sequence[str], crop: int, data_range: float | None) -> None:
    """Raise for an unknown or repeated metric, a negative crop, or an impossible value of white."""
    for i, key in enumerate(keys):
        get_metric(key)  # raises if there is no such metric
        if key in keys[:i]:
            raise InputError(f"`metrics` contains {key} twice.", setting="metrics", got=key)
    check_integer("crop", crop, at_least=0)
    if data_range is not None and not 0 < data_range < math.inf:
        raise InputError(
            f"`data_range` must be a number above 0, got {data_range:g}.",
            setting="data_range",
            got=data_range,
        )


def check_value_range(
    image: NDArray[Any], name: str, data_range: float | None, *, overshoot: float = 0.0
) -> None:
    """Raise if values exceed the range from black to white by more than `overshoot`, a share of white."""
    white = intensity_scale(image, data_range).white
    low, high = float(image.min()), float(image.max())
    if low < -overshoot * white or high > (1 + overshoot) * white:
        raise FileError(
            f"{name}: Values range from {low:g} to {high:g} instead of 0 to {white:g}. "
            "Set `data_range` to the value of white.",
            file=name,
            setting="data_range",
            got=(low, high),
        )


def check_crop(crop: int, image: NDArray[Any]) -> None:
    """Raise if a crop leaves nothing of an image."""
    height, width = image.shape[:2]
    if 2 * crop >= min(height, width):
        raise InputError(
            f"`crop` {crop} leaves nothing of an image of {width} x {height} pixels.",
            setting="crop",
            got=crop,
        )


def match_bit_depth(frame: NDArray[Any], image: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert an 8-bit or 16-bit image to the depth of the frames without loss; keep other types."""
    match image.dtype.name, frame.dtype.name:
        case "uint8", "uint16":
            return image.astype(np.uint16) * _STEP
        case "uint16", "uint8":
            if (image % _STEP).any():
                raise FileError(
                    f"{name}: The image is uint16, and its values do not fit the uint8 of the frames.",
                    file=name,
                    got="uint16",
                    needed="uint8",
                )
            return (image // _STEP).astype(np.uint8)
    return image


def check_same_format(image: NDArray[Any], name: str, other: NDArray[Any], other_name: str) -> None:
    """Raise if two images differ in size or data type; one may be colour and the other grey."""
    if image.shape[:2] != other.shape[:2] or image.dtype != other.dtype:
        raise FileError(
            f"{name}: Size and data type must match: this image is {_format(image)}, {other_name} is "
            f"{_format(other)}.",
            file=name,
            got=(image.shape[:2], image.dtype.name),
            needed=(other.shape[:2], other.dtype.name),
        )
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        raise FileError(f"{name}: The image contains NaN or infinite values.", file=name)


def _format(image: NDArray[Any]) -> str:
    return f"{image.shape[1]} x {image.shape[0]} {image.dtype.name}"
