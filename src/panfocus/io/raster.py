"""JPEG and WebP, 8 bit, through Pillow."""

import io
import re
from dataclasses import replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.WebPImagePlugin import WebPImageFile

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG, Frame, check_pixel_count, turn_upright

# Best quality that still saves space, and colour at full resolution: fused detail is not to be lost again.
_JPEG_QUALITY = 95
_FULL_COLOUR = 0
_LOSSLESS_EFFORT = 80  # what a lossless WebP takes its quality for: of 100, in time against size

JPEG_SIGNATURE = b"\xff\xd8\xff"
MAX_JPEG_SIDE = 65_500

_START_OF_IMAGE = b"\xff\xd8"
_END_OF_IMAGE = b"\xff\xd9"
# Among the coded pixels 0xff is followed by 0, by a restart's number, or by itself, and is no marker.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def decode_jpeg(data: bytes) -> Frame:
    """Decode a complete JPEG; of a file with several pictures (MPO) the first, which is the photograph."""
    if not _reaches_end(data):
        raise FileError("cut off before its end")
    # The class itself, not Image.open, which warns at 89 megapixels and calls larger photographs an attack.
    return _decode(JpegImageFile(io.BytesIO(data)))


def jpeg_header(file: BinaryIO) -> Frame:
    """Return what `decode_jpeg` will, with blank pixels."""
    return _header(JpegImageFile(file))


def decode_webp(data: bytes) -> Frame:
    """Decode a still WebP."""
    return _decode(WebPImageFile(io.BytesIO(data)))


def webp_header(file: BinaryIO) -> Frame:
    """Return what `decode_webp` will, with blank pixels."""
    return _header(WebPImageFile(file))


def encode_jpeg(
    image: NDArray[np.uint8], icc_profile: bytes | None = None, *, quality: int = _JPEG_QUALITY
) -> bytes:
    """Encode 8-bit grey or RGB; `quality` is libjpeg's, 1 to 100."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(
        buffer, "JPEG", quality=quality, subsampling=_FULL_COLOUR, icc_profile=icc_profile
    )
    return buffer.getvalue()


def encode_webp(image: NDArray[np.uint8], *, quality: int | None = None) -> bytes:
    """Encode 8-bit grey or RGB, up to 16383 pixels a side; without a `quality`, 0 to 100, without loss."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(
        buffer, "WebP", lossless=quality is None, quality=_LOSSLESS_EFFORT if quality is None else quality
    )
    return buffer.getvalue()


def _reaches_end(data: bytes) -> bool:
    """Walk from marker to marker to the end of the picture, which Pillow sometimes does not miss."""
    position = len(_START_OF_IMAGE)
    while marker := _MARKER.search(data, position):
        if marker.group() == _END_OF_IMAGE:
            return True
        length = int.from_bytes(data[marker.end() : marker.end() + 2], "big")
        position = marker.end() + length
    return False


def _decode(picture: ImageFile) -> Frame:
    header = _header(picture)
    return replace(header, image=turn_upright(np.asarray(picture), header.orientation))


def _header(picture: ImageFile) -> Frame:
    if isinstance(picture, WebPImageFile) and picture.is_animated:
        raise FileError("animated; save its frames as separate files")
    check_pixel_count(*picture.size)
    if picture.mode not in ("L", "RGB", "RGBA"):
        raise FileError(f"its colours are {picture.mode}; convert it to grey or RGB")
    exif = picture.getexif()
    orientation = exif.get(ORIENTATION_TAG, 1)
    channels = len(picture.mode)  # one letter each
    shape = picture.size[::-1] if channels == 1 else (*picture.size[::-1], channels)
    return Frame(
        image=turn_upright(blank(shape, np.dtype(np.uint8)), orientation),
        orientation=orientation,
        icc_profile=picture.info.get("icc_profile"),
        has_exif=bool(exif),
    )
