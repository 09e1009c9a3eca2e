"""From results to files: what a format can hold, and files that appear whole or not at all."""

import json
import secrets
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._float import FloatArray, IntArray, IntensityScale
from panfocus.errors import FileError, InputError
from panfocus.io.png import encode_png
from panfocus.io.raster import MAX_JPEG_SIDE, encode_jpeg
from panfocus.io.tiff import encode_tiff
from panfocus.stack import Stack

_ENCODERS = {
    ".png": encode_png,
    ".tif": encode_tiff,
    ".tiff": encode_tiff,
    ".jpg": encode_jpeg,
    ".jpeg": encode_jpeg,
}
IMAGE_SUFFIXES = tuple(_ENCODERS)
LABEL_SUFFIXES = (".png",)
CONFIDENCE_SUFFIXES = (".png", ".tif", ".tiff")
DEPTH_SUFFIXES = (".tif", ".tiff")


def check_suffix(path: Path, suffixes: Iterable[str]) -> None:
    """Refuse a name that does not end like one of these."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: the name of this output must end in {' or '.join(suffixes)}")


def check_destination(path: Path, *, force: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work is done, a place that cannot be written or holds something to be kept."""
    folder = path.parent
    if not folder.is_dir():
        raise FileError(f"{path}: there is no folder {folder}; create it first")
    if path.is_dir():
        raise FileError(f"{path} is a folder; name a file in it")
    if path.exists():
        if any(path.samefile(frame) for frame in inputs if frame.exists()):
            raise FileError(f"{path} is one of the inputs; choose another name")
        if not force:
            raise FileError(f"{path} exists already; choose another name, or overwrite it with --force")
    try:
        with tempfile.TemporaryFile(dir=folder):  # the only sure way to know
            pass
    except OSError as error:
        raise FileError(f"{path}: cannot write into {folder} ({error.strerror})") from error


def check_format(path: Path, image: NDArray[Any]) -> None:
    """Refuse a format that cannot hold every value of an image like this one."""
    channels = image.shape[2] if image.ndim == 3 else 1
    suffix = path.suffix.lower()
    if suffix in (".jpg", ".jpeg"):
        if image.dtype != np.uint8:
            raise InputError(
                f"{path}: JPEG holds 8 bits, the frames are {image.dtype.name}; {_remedy(image)}"
            )
        if channels in (2, 4):
            raise InputError(f"{path}: JPEG has no alpha channel, the frames have one; use .png or .tif")
        if max(image.shape[:2]) > MAX_JPEG_SIDE:
            raise InputError(f"{path}: JPEG ends at {MAX_JPEG_SIDE} pixels a side; use .png or .tif")
    if suffix == ".png" and image.dtype.kind == "f":
        raise InputError(f"{path}: PNG holds no {image.dtype.name} values; {_remedy(image)}")


def encode_image(path: Path, image: NDArray[Any], *, like: Stack | None = None) -> bytes:
    """Encode an image in the format of the name, with the colour profile of the stack that it comes from."""
    check_suffix(path, IMAGE_SUFFIXES)
    check_format(path, image)
    # Encoders want rows that lie in memory one after the other; a turned or cropped view does not.
    return _ENCODERS[path.suffix.lower()](np.ascontiguousarray(image), like.icc_profile if like else None)


def encode_labels(labels: IntArray) -> bytes:
    """Encode which frame each pixel is from, as a PNG of 8 bits where they can count the frames, else 16."""
    return encode_png(labels.astype(np.uint8 if labels.max() < 255 else np.uint16))


def encode_confidence(path: Path, confidence: FloatArray) -> bytes:
    """Encode values of 0 to 1: as float32 in a TIFF, as 16-bit grey in a PNG."""
    values = confidence.astype(np.float32)
    if path.suffix.lower() == ".png":
        return encode_png(IntensityScale.of(np.dtype(np.uint16)).from_unit(values))
    return encode_tiff(values)


def encode_json(content: Mapping[str, Any]) -> bytes:
    """Encode plain data for people and programs to read."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def write_image(
    path: str | Path, image: NDArray[Any], *, like: Stack | None = None, force: bool = False
) -> None:
    """Write one image in the format of its name; see `write_files`."""
    write_files({Path(path): encode_image(Path(path), image, like=like)}, force=force)


def write_files(contents: Mapping[Path, bytes], *, force: bool = False) -> None:
    """Write several files so that each is complete when it appears and none appears if one fails.

    They are written under temporary names in the same folders and renamed at the end; whatever
    interrupts that, no temporary file stays behind.
    """
    for path in contents:
        check_destination(path, force=force)
    # A link is followed: the file it points to is replaced, not the link.
    renames = {
        path.resolve().with_name(f".panfocus-{secrets.token_hex(8)}"): path.resolve() for path in contents
    }
    try:
        for temporary, data in zip(renames, contents.values(), strict=True):
            with temporary.open("xb") as file:
                file.write(data)
        for temporary, path in renames.items():
            temporary.replace(path)
    except OSError as error:
        raise FileError(f"cannot write {', '.join(map(str, contents))} ({error.strerror})") from error
    finally:
        for temporary in renames:
            temporary.unlink(missing_ok=True)


def _remedy(image: NDArray[Any]) -> str:
    return "use .tif" if image.dtype.kind == "f" else "use .png or .tif"
