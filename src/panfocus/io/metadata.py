"""Metadata from a frame's file to the fused image's file, and a list of the losses.

EXIF, XMP, resolution and the colour chunks of PNG are carried over. The image is upright, so its orientation
becomes 1. Sizes and software are set for the new image, and thumbnails are dropped.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from panfocus.io._frame import SIDEWAYS
from panfocus.io._tiff_ifd import RATIONAL, SHORT, ByteOrder, Directory, Tag, Value, integer_value
from panfocus.io.exif import SOFTWARE, Exif, parse_exif
from panfocus.stack import Metadata, Resolution

_MEDIA = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
_MAX_JPEG_EXIF = 65_527  # bytes of one segment without its length and name
_MAX_JPEG_XMP = 65_504  # the same for XMP
_MAX_XMP = 4 << 20  # bytes of XMP that are searched; cameras write some thousand

_WIDTHS = rb"tiff:ImageWidth|exif:PixelXDimension"
_HEIGHTS = rb"tiff:ImageLength|exif:PixelYDimension"
_THUMBNAILS = (b"xmp:Thumbnails", b"xap:Thumbnails")
_EXTENDED_XMP = b"xmpNote:HasExtendedXMP"  # the key of further XMP data in other segments of a JPEG
_EXTENDED_ATTRIBUTE = re.compile(rb"""\s%s\s?=\s?["'][^"']{0,99}["']""" % _EXTENDED_XMP)


def collect_metadata(
    exif: bytes | Exif | None,
    xmp: bytes | None,
    resolution: Resolution | None = None,
    *,
    left_behind: Sequence[str] = (),
) -> tuple[Metadata, int, datetime | None]:
    """Return the metadata of a file, its orientation, and the time when the image was taken.

    A resolution of the format itself (JFIF, pHYs) precedes EXIF's in `Metadata.resolution`; EXIF data is
    kept as it is.
    """
    lost = list(left_behind)
    parsed = parse_exif(exif) if isinstance(exif, bytes) else exif
    if exif and not (parsed and parsed.complete):
        lost.append("damaged EXIF data")
    if parsed and isinstance(exif, bytes):
        lost += describe_unknown_tags(parsed)
    if xmp and len(xmp) > _MAX_XMP:
        lost.append(f"XMP data of more than {_MAX_XMP >> 20} MB")
        xmp = None
    if xmp and _EXTENDED_XMP in xmp:
        lost.append("extended XMP data")
    orientation = parsed.orientation if parsed and parsed.orientation != 1 else xmp_orientation(xmp)
    orientation = orientation if 1 <= orientation <= 8 else 1
    resolution = resolution or (_exif_resolution(parsed) if parsed else None)
    if resolution and orientation in SIDEWAYS:
        resolution = replace(resolution, x=resolution.y, y=resolution.x)
    data = exif.removeprefix(b"Exif\0\0") if isinstance(exif, bytes) else exif.to_bytes() if exif else None
    metadata = Metadata(
        exif=data if parsed else None, xmp=xmp or None, resolution=resolution, left_behind=tuple(lost)
    )
    return metadata, orientation, parsed.taken if parsed else None


def scale_metadata(metadata: Metadata, factor: int) -> Metadata:
    """Return the metadata of an image whose sides were reduced by a factor."""
    if factor == 1:
        return metadata
    data, acquisition = metadata.exif, metadata.acquisition
    if (exif := parse_exif(data) if data else None) and (own := _exif_resolution(exif)):
        tags = resolution_tags(exif.order, _scale_resolution(own, factor))
        data = replace(exif, main=exif.main | tags).to_bytes()
    if acquisition and acquisition.pixel_width and acquisition.pixel_height:
        acquisition = replace(
            acquisition,
            pixel_width=acquisition.pixel_width * factor,
            pixel_height=acquisition.pixel_height * factor,
        )
    resolution = metadata.resolution and _scale_resolution(metadata.resolution, factor)
    return replace(metadata, exif=data, resolution=resolution, acquisition=acquisition)


def _scale_resolution(resolution: Resolution, factor: int) -> Resolution:
    if resolution.unit == 1:  # a ratio of sides
        return resolution
    return replace(resolution, x=resolution.x / factor, y=resolution.y / factor)


def describe_unknown_tags(exif: Exif) -> list[str]:
    """Return the tags that are not carried over because their meaning is unknown, as one list item."""
    unknown = exif.unknown_tags()
    return [f"the tags {', '.join(f'0x{tag:04x}' for tag in unknown)}"] if unknown else []


def exif_for_file(metadata: Metadata, suffix: str, width: int, height: int) -> tuple[Exif | None, str | None]:
    """Return the EXIF data for an image of this size, and a description of the part that does not fit."""
    parsed = parse_exif(metadata.exif) if metadata.exif else None
    if parsed is None:
        return None, None
    jpeg = suffix in (".jpg", ".jpeg")
    exif = parsed.for_image(width, height, jpeg=jpeg)
    if not jpeg or len(exif.to_bytes()) <= _MAX_JPEG_EXIF:
        return exif, None
    exif = exif.without_maker_note()
    if len(exif.to_bytes()) <= _MAX_JPEG_EXIF:
        return exif, "the camera maker's notes (too long for JPEG)"
    return None, "EXIF data (too long for JPEG)"


def xmp_for_file(metadata: Metadata, suffix: str, width: int, height: int) -> bytes | None:
    """Return the XMP data for an image of this size, or None if the format cannot hold it."""
    if metadata.xmp is None or (suffix in (".jpg", ".jpeg") and len(metadata.xmp) > _MAX_JPEG_XMP):
        return None
    media = _MEDIA.get(suffix, "image/tiff")
    return update_xmp(metadata.xmp, width, height, software=SOFTWARE, media=media)


def list_losses(metadata: Metadata, suffix: str, width: int, height: int) -> list[str]:
    """Return the metadata that a file in this format cannot keep, as items of a list."""
    lost = list(metadata.left_behind)
    if without := exif_for_file(metadata, suffix, width, height)[1]:
        lost.append(without)
    if metadata.xmp and xmp_for_file(metadata, suffix, width, height) is None:
        lost.append("XMP data (too long for JPEG)")
    if suffix != ".png":
        chunks = [name.decode() for name, _ in metadata.png_colour]
        if "sRGB" not in chunks:  # images without a profile are understood as sRGB anyway
            lost += [f"the PNG chunk {name}" for name in chunks]
    is_tiff = suffix in (".tif", ".tiff")
    if metadata.premultiplied and not is_tiff:
        lost.append("the mark that colours are multiplied by alpha")
    if acquisition := metadata.acquisition:
        from panfocus.io.ome_xml import is_ome_length

        if acquisition.pixel_width and not is_tiff:
            lost.append("the pixel size")
        elif acquisition.pixel_width and not is_ome_length(acquisition.unit):
            lost.append(f"the unit of the pixel size ({acquisition.unit}), which OME-TIFF does not support")
        if acquisition.has_display and not is_tiff:
            lost.append("names, colours or wavelengths of the microscopy image")
    return lost


def _exif_resolution(exif: Exif) -> Resolution | None:
    across, down = (
        exif.main[tag].ratio(exif.order) if tag in exif.main else None
        for tag in (Tag.X_RESOLUTION, Tag.Y_RESOLUTION)
    )
    if not (across and down and all(across) and all(down)):
        return None
    unit = exif.main[Tag.RESOLUTION_UNIT].number(exif.order) if Tag.RESOLUTION_UNIT in exif.main else 2
    return Resolution(Fraction(*across), Fraction(*down), unit if unit in (1, 2, 3) else 1)


def resolution_tags(order: ByteOrder, resolution: Resolution) -> Directory:
    """Return the tags of TIFF and EXIF that hold a resolution."""

    def ratio(value: Fraction) -> Value:
        if max(value.numerator, value.denominator) >= 1 << 32:
            value = value.limit_denominator(1 << 16)
        pair = integer_value(order, value.numerator, value.denominator)
        return Value(RATIONAL, 1, pair.data)

    return {
        Tag.X_RESOLUTION: ratio(resolution.x),
        Tag.Y_RESOLUTION: ratio(resolution.y),
        Tag.RESOLUTION_UNIT: integer_value(order, resolution.unit, kind=SHORT),
    }


def xmp_orientation(xmp: bytes | None) -> int:
    """Return the orientation in XMP data, 1 to 8; 1 if there is none."""
    match = _property(rb"tiff:Orientation").search(xmp or b"")
    number = int(match["value"]) if match else 1
    return number if 1 <= number <= 8 else 1


def update_xmp(xmp: bytes, width: int, height: int, *, software: str, media: str) -> bytes:
    """Return XMP data for an upright image of this size.

    The text is edited in place rather than parsed and written, so every other byte remains.
    """
    xmp = _property(rb"tiff:Orientation").sub(rb"\g<before>1\g<after>", xmp)
    for names, number in ((_WIDTHS, width), (_HEIGHTS, height)):
        xmp = _property(names).sub(rb"\g<before>%d\g<after>" % number, xmp)
    for names, text in ((rb"xmp:CreatorTool|tiff:Software", software), (rb"dc:format", media)):
        xmp = _property(names, rb"""[^<>"']{0,999}""").sub(rb"\g<before>%s\g<after>" % text.encode(), xmp)
    for name in (*_THUMBNAILS, _EXTENDED_XMP):
        xmp = _remove_element(xmp, name)
    return _EXTENDED_ATTRIBUTE.sub(b"", xmp)


def _remove_element(xmp: bytes, name: bytes) -> bytes:
    """Remove the first element of this name."""
    start, closing = xmp.find(b"<" + name), b"</" + name + b">"
    end = xmp.find(closing, start)
    return xmp if start < 0 or end < 0 else xmp[:start] + xmp[end + len(closing) :]


def _property(names: bytes, value: bytes = rb"\d{1,9}") -> re.Pattern[bytes]:
    """Return a pattern for a property by name, written as an attribute or as an element."""
    return re.compile(
        rb"""(?P<before>(?<=[\s<])(?:%s)(?:\s*=\s*["']|\s*>\s*))(?P<value>%s)(?P<after>["']|\s*</)"""
        % (names, value)
    )
