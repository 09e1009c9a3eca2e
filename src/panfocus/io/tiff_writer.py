"""Writing TIFF: EXIF data, as which such a file begins, then the pixels, then the tags of the pictures.

The EXIF data keeps its place and its byte order, and so do the notes of the camera's maker inside it.
"""

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from panfocus.io._tiff_ifd import (
    LONG,
    RATIONAL,
    SHORT,
    ByteOrder,
    Directory,
    DirectoryWriter,
    Value,
    start_of_file,
    text,
    whole,
    wholes,
)
from panfocus.io.exif import RESOLUTION_UNIT, X_RESOLUTION, Y_RESOLUTION, Exif
from panfocus.io.metadata import exif_for_file, xmp_for_file
from panfocus.io.ome import describe
from panfocus.stack import NO_METADATA, Metadata, Resolution

_STRIP_BYTES = 8 << 20  # what a reader is to hold at once, about
_LARGEST_CLASSIC = (1 << 32) - (1 << 26)  # bytes of pixels; beyond them and their tags offsets need 64 bits
_BIG_LONG = 16
_PREMULTIPLIED, _SEPARATE = 1, 2  # kinds of alpha


def encode_tiff(
    image: NDArray[Any], icc_profile: bytes | None = None, metadata: Metadata = NO_METADATA
) -> Callable[[BinaryIO], object]:
    """Encode any supported dtype, (h, w) or (h, w, c), into a file that is given later.

    2 to 4 channels are grey or colours with alpha; those of a microscope are pages of their own. Pixels go
    from the image into the file as they are, without a copy and without compression, which takes longer than
    many a fusion: docs/performance.md.
    """
    return partial(_write, image=image, icc_profile=icc_profile, metadata=metadata)


def _write(file: BinaryIO, *, image: NDArray[Any], icc_profile: bytes | None, metadata: Metadata) -> None:
    height, width = image.shape[:2]
    exif = exif_for_file(metadata, ".tif", width, height)[0] or Exif("<", {}, {}).for_picture(
        width, height, jpeg=False
    )
    big = image.nbytes > _LARGEST_CLASSIC
    order = exif.order
    beginning, first_tags = exif.start_file(big=big)
    first_tags = _tags_of_file(order, icc_profile, metadata, width, height) | first_tags
    pages = [image]
    if metadata.acquisition:
        first_tags[0x010E] = text(describe(metadata.acquisition, image))
        if len(metadata.acquisition.channels) > 1:
            pages = list(np.moveaxis(image, 2, 0))
    first_tags = beginning.place(first_tags)
    file.write(beginning.data)
    directories = []
    for number, page in enumerate(pages):
        tags = _tags_of_pixels(order, page, premultiplied=metadata.premultiplied)
        tags |= _write_pixels(file, order, page, big=big)
        directories.append(tags | first_tags if number == 0 else tags)
    _write_directories(file, order, directories, big=big)


def _tags_of_file(
    order: ByteOrder, icc_profile: bytes | None, metadata: Metadata, width: int, height: int
) -> Directory:
    tags: Directory = {}
    if icc_profile:
        tags[0x8773] = Value(7, len(icc_profile), icc_profile)
    if xmp := xmp_for_file(metadata, ".tif", width, height):
        tags[0x02BC] = Value(1, len(xmp), xmp)
    if metadata.resolution:
        tags |= _tags_of_resolution(order, metadata.resolution)
    return tags


def _tags_of_resolution(order: ByteOrder, resolution: Resolution) -> Directory:
    def ratio(value: Fraction) -> Value:
        if max(value.numerator, value.denominator) >= 1 << 32:
            value = value.limit_denominator(1 << 16)
        pair = wholes(order, [value.numerator, value.denominator], LONG)
        return Value(RATIONAL, 1, pair.data)

    unit = whole(order, resolution.unit, SHORT)
    return {X_RESOLUTION: ratio(resolution.x), Y_RESOLUTION: ratio(resolution.y), RESOLUTION_UNIT: unit}


def _tags_of_pixels(order: ByteOrder, page: NDArray[Any], *, premultiplied: bool) -> Directory:
    height, width = page.shape[:2]
    channels = page.shape[2] if page.ndim == 3 else 1
    tags = {
        0x0100: whole(order, width),
        0x0101: whole(order, height),
        0x0102: wholes(order, [page.itemsize * 8] * channels, SHORT),
        0x0103: whole(order, 1, SHORT),  # not compressed
        0x0106: whole(order, 2 if channels >= 3 else 1, SHORT),  # RGB, or grey where 0 is black
        0x0115: whole(order, channels, SHORT),
        0x011C: whole(order, 1, SHORT),  # channels beside each other
        0x0153: wholes(order, [3 if page.dtype.kind == "f" else 1] * channels, SHORT),
    }
    if channels in (2, 4):
        tags[0x0152] = whole(order, _PREMULTIPLIED if premultiplied else _SEPARATE, SHORT)
    return tags


def _write_pixels(file: BinaryIO, order: ByteOrder, page: NDArray[Any], *, big: bool) -> Directory:
    stored = page.dtype.newbyteorder(order)
    row_bytes = page[0].nbytes
    rows = min(len(page), max(1, _STRIP_BYTES // row_bytes))
    start = file.tell() + file.tell() % 2
    file.write(bytes(start - file.tell()))
    for top in range(0, len(page), rows):
        file.write(np.ascontiguousarray(page[top : top + rows], stored).data)
    tops = range(0, len(page), rows)
    sizes = [min(rows, len(page) - top) * row_bytes for top in tops]
    kind = _BIG_LONG if big else LONG
    return {
        0x0111: wholes(order, [start + top * row_bytes for top in tops], kind),
        0x0116: whole(order, rows),
        0x0117: wholes(order, sizes, kind),
    }


def _write_directories(
    file: BinaryIO, order: ByteOrder, directories: Sequence[Directory], *, big: bool
) -> None:
    """Append the directories, and lead to them from the beginning of the file."""
    writer = DirectoryWriter(order, big=big, position=file.tell())
    following = 0
    for tags in reversed(directories):
        # What has an offset is in the file already.
        new = writer.place({tag: value for tag, value in tags.items() if value.offset is None})
        following = writer.directory(tags | new, following=following)
    file.write(writer.data)
    file.seek(0)
    file.write(start_of_file(order, following, big=big))
    file.seek(0, os.SEEK_END)
