"""JPEG and WebP, 8 bit, through Pillow."""

import io
import re
import struct
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, BinaryIO, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.WebPImagePlugin import WebPImageFile

from panfocus._checks import blank, one_of, whole_number
from panfocus.errors import FileError
from panfocus.io._frame import Frame, check_pixel_count, turn_upright
from panfocus.io.metadata import exif_for_file, gather, xmp_for_file
from panfocus.stack import NO_METADATA, Metadata, Resolution

Subsampling = Literal["444", "422", "420"]


@dataclass(frozen=True)
class JpegSettings:
    """How a JPEG is coded: by default best quality that still saves space, and colour at full resolution."""

    quality: int = 95  # libjpeg's, 1 to 100
    subsampling: Subsampling = "444"  # 422: colour of half the width, 420: also of half the height


def jpeg_settings(quality: int, subsampling: str) -> JpegSettings:
    """Return the settings, or say what is wrong with them."""
    whole_number("jpeg_quality", quality, at_least=1, at_most=100)
    one_of("jpeg_subsampling", subsampling, get_args(Subsampling))
    return JpegSettings(quality, cast(Subsampling, subsampling))


_LOSSLESS_EFFORT = 80  # what a lossless WebP takes its quality for: of 100, in time against size

JPEG_SIGNATURE = b"\xff\xd8\xff"
MAX_JPEG_SIDE = 65_500
MAX_WEBP_SIDE = 16_383

_DENSITY = slice(13, 18)  # of a JFIF file's head: unit, pixels across, pixels down
_START_OF_IMAGE = b"\xff\xd8"
_END_OF_IMAGE = b"\xff\xd9"
# Among the coded pixels 0xff is followed by 0, by a restart's number, or by itself, and is no marker.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def decode_jpeg(data: bytes) -> Frame:
    """Decode a complete JPEG; of a file with several pictures (MPO) the first, which is the photograph."""
    from panfocus.io.jpeg_scan import check_codes  # here: it loads a compiler, which writers do without

    if not _reaches_end(data):
        raise FileError("cut off before its end")
    check_codes(data)
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
    image: NDArray[np.uint8],
    icc_profile: bytes | None = None,
    metadata: Metadata = NO_METADATA,
    *,
    quality: int = JpegSettings.quality,
    subsampling: Subsampling = JpegSettings.subsampling,
) -> bytes:
    """Encode 8-bit grey or RGB; `JpegSettings` says what the settings mean."""
    buffer = io.BytesIO()
    said = _said_in(metadata, ".jpg", image)
    if "exif" in said:
        said["exif"] = b"Exif\0\0" + said["exif"]
    Image.fromarray(image).save(
        buffer,
        "JPEG",
        quality=quality,
        subsampling=":".join(subsampling),
        icc_profile=icc_profile,
        **said,
    )
    if not metadata.resolution:
        return buffer.getvalue()
    density = metadata.resolution
    head = struct.pack(
        ">BHH", density.unit - 1, *(min(65_535, max(1, round(n))) for n in (density.x, density.y))
    )
    buffer.getbuffer()[_DENSITY] = head
    return buffer.getvalue()


def encode_webp(
    image: NDArray[np.uint8],
    icc_profile: bytes | None = None,
    metadata: Metadata = NO_METADATA,
    *,
    quality: int | None = None,
) -> bytes:
    """Encode 8 bit, up to 16383 pixels a side; without a `quality`, 0 to 100, without loss."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(
        buffer,
        "WebP",
        lossless=quality is None,
        exact=True,  # colours under transparent places count as well
        quality=_LOSSLESS_EFFORT if quality is None else quality,
        icc_profile=icc_profile,
        **_said_in(metadata, ".webp", image),
    )
    return buffer.getvalue()


def _said_in(metadata: Metadata, suffix: str, image: NDArray[Any]) -> dict[str, bytes]:
    height, width = image.shape[:2]
    exif, _ = exif_for_file(metadata, suffix, width, height)
    xmp = xmp_for_file(metadata, suffix, width, height)
    said = {"exif": exif.to_bytes() if exif else None, "xmp": xmp}
    return {name: data for name, data in said.items() if data}


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
    info = picture.info
    source = gather(info.get("exif"), info.get("xmp"), _jfif_resolution(info), left_behind=_left_behind(info))
    channels = len(picture.mode)  # one letter each
    shape = picture.size[::-1] if channels == 1 else (*picture.size[::-1], channels)
    return Frame(
        image=turn_upright(blank(shape, np.dtype(np.uint8)), source.orientation),
        orientation=source.orientation,
        icc_profile=info.get("icc_profile"),
        taken=source.exif.taken if source.exif else None,
        metadata=source.metadata,
    )


def _jfif_resolution(info: dict[Any, Any]) -> Resolution | None:
    across, down = info.get("jfif_density", (0, 0))
    unit = info.get("jfif_unit", 0) + 1
    if not (across and down) or unit not in (1, 2, 3) or (unit == 1 and across == down):
        return None
    return Resolution(Fraction(across), Fraction(down), unit)


def _left_behind(info: dict[Any, Any]) -> list[str]:
    words = {"photoshop": "IPTC and Photoshop's data", "comment": "a comment", "mp": "further pictures"}
    return [word for key, word in words.items() if info.get(key)]
