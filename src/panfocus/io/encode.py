"""Encode images, maps, animations and JSON, and check what each format can hold."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus.errors import InputError
from panfocus.io.atomic_files import Content, check_suffix, write_files
from panfocus.io.jpeg_webp import JpegSettings, encode_jpeg, encode_webp
from panfocus.io.metadata import list_losses
from panfocus.io.png import add_texts, encode_png
from panfocus.stack import NO_METADATA, Acquisition, Metadata, Stack


def _encode_tiff(
    image: NDArray[Any], icc_profile: bytes | None = None, metadata: Metadata = NO_METADATA, **details: str
) -> Content:
    from panfocus.io.tiff_writer import encode_tiff  # tifffile takes 0.1 s to import

    return encode_tiff(image, icc_profile, metadata, **details)


_ENCODERS: dict[str, Callable[[NDArray[Any], bytes | None, Metadata], Content]] = {
    ".png": encode_png,
    ".tif": _encode_tiff,
    ".tiff": _encode_tiff,
    ".jpg": encode_jpeg,
    ".jpeg": encode_jpeg,
    ".webp": encode_webp,
}
IMAGE_SUFFIXES = tuple(_ENCODERS)
_LARGEST_SIDE = {  # of formats of 8 bits
    **dict.fromkeys((".jpg", ".jpeg"), ("JPEG", 65_500)),
    ".webp": ("WebP", 16_383),
}
LABEL_SUFFIXES = (".png",)
CONFIDENCE_SUFFIXES = (".png", ".tif", ".tiff")
MASK_SUFFIXES = (".png",)
DEPTH_SUFFIXES = (".tif", ".tiff", ".png")
_ANIMATIONS: dict[str, dict[str, Any]] = {
    ".webp": {"format": "WEBP", "quality": 80, "method": 4},
    ".gif": {"format": "GIF", "optimize": False, "disposal": 1},
    ".png": {"format": "PNG"},
}
ANIMATION_SUFFIXES = tuple(_ANIMATIONS)


def check_format(path: Path, image: NDArray[Any], metadata: Metadata = NO_METADATA) -> None:
    """Raise if a format cannot hold every value of an image like this one."""
    suffix = path.suffix.lower()
    n_channels = len(metadata.acquisition.channels) if metadata.acquisition else 1
    if not metadata.acquisition and image.ndim == 3 and image.shape[2] > 4:
        n_channels = image.shape[2]
    if n_channels > 1 and suffix not in (".tif", ".tiff"):
        message = f"{path}: The frames have {n_channels} channels, which only TIFF can hold."
        raise InputError(message, hint="choose_channel", file=str(path), got=n_channels)
    if problem := find_format_problem(suffix, image):
        remedy = "Use .tif." if image.dtype.kind == "f" else "Use .png or .tif."
        got = image.shape if image.dtype == np.uint8 else image.dtype.name
        raise InputError(f"{path}: {problem}. {remedy}", file=str(path), got=got)


def find_format_problem(suffix: str, image: NDArray[Any]) -> str | None:
    """Return why the format of a suffix cannot hold an image like this one, or None."""
    if suffix == ".png" and image.dtype.kind == "f":
        return f"PNG cannot hold {image.dtype.name}"
    if suffix not in _LARGEST_SIDE:
        return None
    name, largest = _LARGEST_SIDE[suffix]
    channels = image.shape[2] if image.ndim == 3 else 1
    if image.dtype != np.uint8:
        return f"{name} holds 8 bits; the image is {image.dtype.name}"
    if name == "JPEG" and channels in (2, 4):
        return "JPEG cannot hold the alpha channel of the frames"
    if name == "WebP" and channels not in (3, 4):
        return "WebP holds RGB; the frames are grey"
    return f"{name} is limited to {largest} pixels per side" if max(image.shape[:2]) > largest else None


def encode_image(
    path: Path, image: NDArray[Any], *, like: Stack | None = None, jpeg: JpegSettings | None = None
) -> Content:
    """Encode an image in the format of its name, with the profile and metadata of the stack `like`."""
    check_suffix(path, IMAGE_SUFFIXES)
    metadata = like.metadata if like else NO_METADATA
    check_format(path, image, metadata)
    if metadata.acquisition and (n_channels := len(metadata.acquisition.channels)) > 1:
        image = image[..., :n_channels]  # without the blank channel that keeps the last from being alpha
    # Encoders need contiguous rows; turned or cropped views are not.
    image, profile = np.ascontiguousarray(image), like.icc_profile if like else None
    suffix = path.suffix.lower()
    if jpeg and suffix in (".jpg", ".jpeg"):
        return encode_jpeg(image, profile, metadata, quality=jpeg.quality, subsampling=jpeg.subsampling)
    return _ENCODERS[suffix](image, profile, metadata)


def describe_losses(path: Path, like: Stack) -> list[str]:
    """Return a notice about metadata of a stack that a file of this name cannot hold, if any."""
    height, width = like.frames.shape[1:3]
    lost = list_losses(like.metadata, path.suffix.lower(), width, height)
    return [f"Metadata not kept: {', '.join(lost)}."] if lost else []


def encode_labels(labels: IntArray, n_frames: int) -> bytes:
    """Encode a label map as PNG: 8 bits for up to 255 frames, 16 for more."""
    return encode_png(labels.astype(np.uint8 if n_frames <= 255 else np.uint16))


def encode_confidence(path: Path, confidence: FloatArray, *, like: Stack | None = None) -> Content:
    """Encode values of 0 to 1 as float32 in a TIFF or 16-bit grey in a PNG."""
    values = confidence.astype(np.float32)
    if path.suffix.lower() == ".png":
        return encode_png(IntensityScale.of(np.dtype(np.uint16)).from_unit(values))
    return _encode_tiff(values, metadata=_map_metadata(path, like, "confidence"))


def encode_depth(
    path: Path, depth: FloatArray, *, step: float, unit: str, level: float, like: Stack | None = None
) -> Content:
    """Encode depth in frames as distances: float32 in a TIFF, 16 bits in a PNG.

    A file records its unit. In a PNG, a value times `level` is the distance; the texts DepthScale and
    DepthUnit say so. An OME-TIFF (.ome.tif) gets name and pixel sizes from the stack `like`.
    """
    if path.suffix.lower() == ".png":
        values = np.clip(np.rint(depth.astype(np.float64) * (step / level)), 0, 65535)
        texts = {
            "Description": f"depth from the first frame; a value times {level:.9g} is {unit}",
            "DepthScale": f"{level:.9g}",
            "DepthUnit": unit,
        }
        return add_texts(encode_png(values.astype(np.uint16)), texts)
    return _encode_tiff(
        (depth.astype(np.float64) * step).astype(np.float32),
        metadata=_map_metadata(path, like, "depth"),
        description=f"depth from the first frame, in {unit}",
    )


def _map_metadata(path: Path, like: Stack | None, kind: str) -> Metadata:
    """Return OME metadata for a map in an OME-TIFF: pixel sizes and name of the stack."""
    if not path.name.lower().endswith((".ome.tif", ".ome.tiff")):
        return NO_METADATA
    acquisition = (like.metadata.acquisition if like else None) or Acquisition()
    name = f"{acquisition.name} {kind}".strip()
    return Metadata(acquisition=replace(acquisition, channels=(kind,), channel_details=(), name=name))


def encode_animation(path: Path, pictures: Iterable[NDArray[np.uint8]], *, milliseconds: int) -> Content:
    """Encode pictures (h, w, 3) as an endless animation that shows each for some milliseconds."""
    first, *others = map(Image.fromarray, pictures)
    options = {"append_images": others, "duration": milliseconds, **_ANIMATIONS[path.suffix.lower()]}
    return lambda file: first.save(file, save_all=True, loop=0, **options)


def encode_mask(mask: NDArray[np.bool_]) -> bytes:
    """Encode a mask as an 8-bit PNG: 255 where it is true, else 0."""
    return encode_png(np.where(mask, np.uint8(255), np.uint8(0)))


def encode_json(content: Mapping[str, Any], *, indent: int | None = 2) -> bytes:
    """Encode plain data as JSON; without `indent` in one line, which is faster."""
    text = json.dumps(content, indent=indent, ensure_ascii=False) + "\n"
    # A lone surrogate, which file names may contain, is not UTF-8. This escape is also valid JSON.
    return text.encode(errors="backslashreplace")


def encode_csv(head: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Encode a table as CSV; None gives an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue().encode()


def write_image(
    path: str | Path, image: NDArray[Any], *, like: Stack | None = None, force: bool = False
) -> None:
    """Write an image in the format of its name; see `write_files`."""
    write_files({Path(path): encode_image(Path(path), image, like=like)}, force=force)
