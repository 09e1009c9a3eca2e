"""JPEG and WebP, 8 bits: headers and WebP through Pillow, JPEG pixels through libjpeg-turbo (simplejpeg)."""

import io
import re
import struct
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, BinaryIO

import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.WebPImagePlugin import WebPImageFile

from panfocus._checks import blank, check_choice, check_integer
from panfocus.errors import FileError
from panfocus.io._frame import ANIMATED, Frame, check_pixel_count, turn_upright
from panfocus.io.metadata import collect_metadata, exif_for_file, xmp_for_file
from panfocus.stack import NO_METADATA, Metadata, Resolution

SUBSAMPLING = ("444", "422", "420")


@dataclass(frozen=True)
class JpegSettings:
    """How a JPEG is encoded."""

    quality: int = 95  # of libjpeg, 1 to 100; 95 is hard to tell from the original
    subsampling: str = "444"  # 422: colour at half the width; 420: also at half the height

    def __post_init__(self) -> None:
        check_integer("jpeg_quality", self.quality, at_least=1, at_most=100)
        check_choice("jpeg_subsampling", self.subsampling, SUBSAMPLING)


JPEG_SIGNATURE = b"\xff\xd8\xff"

_LOSSLESS_EFFORT = 80  # of 100: time spent to make a lossless WebP smaller
_DENSITY = slice(13, 18)  # bytes of a JFIF file that hold unit, pixels across, pixels down

# Warnings of libjpeg that mean damage. Others, such as an unknown version of JFIF or one or two padding
# bytes before a marker, occur in files of cameras whose pixels are complete.
_DAMAGE = re.compile(
    r"Corrupt JPEG data(?!: bad ICC|: [12] extraneous)|Premature end|Inconsistent progression"
)


def decode_jpeg(data: bytes) -> Frame:
    """Decode a JPEG; of a file with several images (MPO) the first, which is the photograph.

    A JPEG has no checksum. Damage is recognised where libjpeg warns that codes do not fit.
    """
    # Not Image.open, which takes photographs above 89 megapixels for an attack.
    picture = JpegImageFile(io.BytesIO(data))
    header = _read_header(picture)
    try:
        colours = "GRAY" if picture.mode == "L" else "RGB"
        image = simplejpeg.decode_jpeg(data, colorspace=colours, strict=True)
    except ValueError as error:
        if _DAMAGE.search(str(error)):
            raise FileError(f"The JPEG data is damaged or truncated ({error}).", problem="damaged") from error
        image = np.asarray(picture)  # a harmless warning, or subsampling that simplejpeg does not support
    image = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    return replace(header, image=turn_upright(image, header.orientation))


def read_jpeg_header(file: BinaryIO) -> Frame:
    """Return the frame that `decode_jpeg` returns, with blank pixels."""
    return _read_header(JpegImageFile(file))


def decode_webp(data: bytes) -> Frame:
    """Decode a still WebP."""
    picture = WebPImageFile(io.BytesIO(data))
    header = _read_header(picture)
    return replace(header, image=turn_upright(np.asarray(picture), header.orientation))


def read_webp_header(file: BinaryIO) -> Frame:
    """Return the frame that `decode_webp` returns, with blank pixels."""
    return _read_header(WebPImageFile(file))


def encode_jpeg(
    image: NDArray[np.uint8],
    icc_profile: bytes | None = None,
    metadata: Metadata = NO_METADATA,
    *,
    quality: int = JpegSettings.quality,
    subsampling: str = JpegSettings.subsampling,
) -> bytes:
    """Encode 8-bit grey or RGB; for the settings see `JpegSettings`."""
    buffer = io.BytesIO()
    options = _metadata_options(metadata, ".jpg", image)
    if "exif" in options:
        options["exif"] = b"Exif\0\0" + options["exif"]
    Image.fromarray(image).save(
        buffer,
        "JPEG",
        quality=quality,
        subsampling=":".join(subsampling),
        icc_profile=icc_profile,
        **options,
    )
    if resolution := metadata.resolution:
        density = (min(65_535, max(1, round(n))) for n in (resolution.x, resolution.y))
        buffer.getbuffer()[_DENSITY] = struct.pack(">BHH", resolution.unit - 1, *density)
    return buffer.getvalue()


def encode_webp(
    image: NDArray[np.uint8],
    icc_profile: bytes | None = None,
    metadata: Metadata = NO_METADATA,
    *,
    quality: int | None = None,
) -> bytes:
    """Encode 8 bits, up to 16383 pixels a side; lossless without a `quality` of 0 to 100."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(
        buffer,
        "WebP",
        lossless=quality is None,
        exact=True,  # keep colours of transparent pixels
        quality=_LOSSLESS_EFFORT if quality is None else quality,
        icc_profile=icc_profile,
        **_metadata_options(metadata, ".webp", image),
    )
    return buffer.getvalue()


def _metadata_options(metadata: Metadata, suffix: str, image: NDArray[Any]) -> dict[str, bytes]:
    """Return Pillow's options that write EXIF and XMP."""
    height, width = image.shape[:2]
    exif, _ = exif_for_file(metadata, suffix, width, height)
    xmp = xmp_for_file(metadata, suffix, width, height)
    options = {"exif": exif.to_bytes() if exif else None, "xmp": xmp}
    return {name: data for name, data in options.items() if data}


def _read_header(picture: ImageFile) -> Frame:
    if isinstance(picture, WebPImageFile) and picture.is_animated:
        raise FileError(ANIMATED, problem="animated")
    check_pixel_count(*picture.size)
    if picture.mode not in ("L", "RGB", "RGBA"):
        message = f"The colour mode is {picture.mode}. Convert the image to grey or RGB."
        raise FileError(message, got=picture.mode)
    info = picture.info
    lost = {"photoshop": "IPTC and Photoshop data", "comment": "a comment", "mp": "further images"}
    metadata, orientation, taken = collect_metadata(
        info.get("exif"),
        info.get("xmp"),
        _jfif_resolution(info),
        left_behind=[name for key, name in lost.items() if info.get(key)],
    )
    channels = len(picture.mode)  # one letter each
    shape = picture.size[::-1] if channels == 1 else (*picture.size[::-1], channels)
    return Frame(
        image=turn_upright(blank(shape, np.dtype(np.uint8)), orientation),
        orientation=orientation,
        icc_profile=info.get("icc_profile"),
        taken=taken,
        metadata=metadata,
    )


def _jfif_resolution(info: dict[Any, Any]) -> Resolution | None:
    across, down = info.get("jfif_density", (0, 0))
    unit = info.get("jfif_unit", 0) + 1
    if not (across and down) or unit not in (1, 2, 3) or (unit == 1 and across == down):
        return None
    return Resolution(Fraction(across), Fraction(down), unit)
