"""From results to the bytes of an image file, and what each format can hold."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._float import FloatArray, IntArray, IntensityScale
from panfocus.errors import InputError
from panfocus.io.files import Content, check_suffix, write_files
from panfocus.io.png import encode_png
from panfocus.io.raster import MAX_JPEG_SIDE, encode_jpeg
from panfocus.io.tiff import encode_tiff
from panfocus.stack import Stack

_ENCODERS: dict[str, Callable[[NDArray[Any], bytes | None], Content]] = {
    ".png": encode_png,
    ".tif": encode_tiff,
    ".tiff": encode_tiff,
    ".jpg": encode_jpeg,
    ".jpeg": encode_jpeg,
}
IMAGE_SUFFIXES = tuple(_ENCODERS)
LABEL_SUFFIXES = (".png",)
CONFIDENCE_SUFFIXES = (".png", ".tif", ".tiff")
MASK_SUFFIXES = (".png",)


def check_format(path: Path, image: NDArray[Any]) -> None:
    """Refuse a format that cannot hold every value of an image like this one."""
    suffix = path.suffix.lower()
    if suffix in (".jpg", ".jpeg") and (reason := why_no_jpeg(image)):
        raise InputError(f"{path}: {reason}; {_remedy(image)}")
    if suffix == ".png" and image.dtype.kind == "f":
        raise InputError(f"{path}: PNG holds no {image.dtype.name} values; {_remedy(image)}")


def why_no_jpeg(image: NDArray[Any]) -> str | None:
    """Say what keeps an image from being a JPEG, if anything does."""
    if image.dtype != np.uint8:
        return f"JPEG holds 8 bits, the frames are {image.dtype.name}"
    if image.ndim == 3 and image.shape[2] in (2, 4):
        return "JPEG has no alpha channel, the frames have one"
    if max(image.shape[:2]) > MAX_JPEG_SIDE:
        return f"JPEG ends at {MAX_JPEG_SIDE} pixels a side"
    return None


def encode_image(path: Path, image: NDArray[Any], *, like: Stack | None = None) -> Content:
    """Encode an image in the format of the name, with the colour profile of the stack that it comes from."""
    check_suffix(path, IMAGE_SUFFIXES)
    check_format(path, image)
    # Encoders want rows that lie in memory one after the other; a turned or cropped view does not.
    return _ENCODERS[path.suffix.lower()](np.ascontiguousarray(image), like.icc_profile if like else None)


def encode_labels(labels: IntArray, n_frames: int) -> bytes:
    """Encode which frame is sharpest at each pixel, as a PNG: 8 bits for up to 255 frames, 16 for more."""
    return encode_png(labels.astype(np.uint8 if n_frames <= 255 else np.uint16))


def encode_confidence(path: Path, confidence: FloatArray) -> Content:
    """Encode values of 0 to 1: as float32 in a TIFF, as 16-bit grey in a PNG."""
    values = confidence.astype(np.float32)
    if path.suffix.lower() == ".png":
        return encode_png(IntensityScale.of(np.dtype(np.uint16)).from_unit(values))
    return encode_tiff(values)


def encode_mask(mask: NDArray[np.bool_]) -> bytes:
    """Encode where something is true as an 8-bit PNG: 255 there, 0 elsewhere."""
    return encode_png(np.where(mask, np.uint8(255), np.uint8(0)))


def encode_json(content: Mapping[str, Any]) -> bytes:
    """Encode plain data for people and programs to read."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    # What a file's name may hold and UTF-8 may not (a lone surrogate) is escaped, by chance just as in JSON.
    return text.encode(errors="backslashreplace")


def write_image(
    path: str | Path, image: NDArray[Any], *, like: Stack | None = None, force: bool = False
) -> None:
    """Write one image in the format of its name; see `write_files`."""
    write_files({Path(path): encode_image(Path(path), image, like=like)}, force=force)


def _remedy(image: NDArray[Any]) -> str:
    return "use .tif" if image.dtype.kind == "f" else "use .png or .tif"
