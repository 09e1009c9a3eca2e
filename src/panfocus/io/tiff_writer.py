"""Writing TIFF: images in memory with EXIF data, and stores larger than memory as tiled OME-TIFF.

Images in memory are written here rather than by tifffile, because EXIF data must keep its offsets and byte
order for the camera maker's notes inside it. Stores are written by tifffile, tile by tile and compressed.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import tifffile
from numpy.typing import NDArray

from panfocus._threads import thread_count
from panfocus.io._tiff_ifd import (
    LONG,
    SHORT,
    ByteOrder,
    Directory,
    DirectoryWriter,
    Tag,
    Value,
    integer_value,
    pack_file_start,
    text_value,
)
from panfocus.io.exif import Exif
from panfocus.io.metadata import exif_for_file, resolution_tags, xmp_for_file
from panfocus.io.ome_xml import build_ome_xml, is_ome_length, is_time_unit, ome_length_unit, to_ome_unit
from panfocus.io.ome_zarr import ZarrImage, read_ome_zarr
from panfocus.io.ome_zarr_writer import open_level
from panfocus.stack import NO_METADATA, Metadata

_STRIP_BYTES = 8 << 20  # of a strip, which readers hold in memory
_MAX_CLASSIC = (1 << 32) - (1 << 26)  # bytes of pixels; with their tags, more needs offsets of 64 bits
_LONG8 = 16  # type of a 64-bit integer
_PREMULTIPLIED, _SEPARATE = 1, 2  # kinds of alpha
_TILE_STEP = 16  # sides of tiles are multiples of this


def encode_tiff(
    image: NDArray[Any],
    icc_profile: bytes | None = None,
    metadata: Metadata = NO_METADATA,
    *,
    description: str = "",
) -> Callable[[BinaryIO], object]:
    """Return a function that writes any supported dtype, (h, w) or (h, w, c), into a file.

    2 or 4 channels are grey or RGB with alpha; channels of a microscope are separate pages, described by
    OME-XML. Pixels are written without a copy and without compression, which would take longer than many a
    fusion: docs/performance.md. `description` is a text on the image.
    """
    return partial(_write, image=image, icc_profile=icc_profile, metadata=metadata, description=description)


def _write(
    file: BinaryIO, *, image: NDArray[Any], icc_profile: bytes | None, metadata: Metadata, description: str
) -> None:
    height, width = image.shape[:2]
    exif = exif_for_file(metadata, ".tif", width, height)[0] or Exif("<", {}, {}).for_image(
        width, height, jpeg=False
    )
    big = image.nbytes > _MAX_CLASSIC
    order = exif.order
    beginning, first_tags = exif.start_file(big=big)
    # Copied EXIF tags precede, so that a resolution keeps the bits of its file; a given description precedes
    # a copied one. Below, tags of the file precede tags of the page, which EXIF data never contains.
    first_tags = _file_tags(order, icc_profile, metadata, width, height) | first_tags
    if description:
        first_tags[Tag.IMAGE_DESCRIPTION] = text_value(description)
    pages = [image]
    if acquisition := metadata.acquisition:
        n_channels = len(acquisition.channels)
        samples = image.shape[2] if image.ndim == 3 and n_channels == 1 else 1
        sizes = {"C": n_channels, "Y": height, "X": width}
        xml = build_ome_xml(image.dtype, sizes, acquisition, samples=samples, description=description)
        first_tags[Tag.IMAGE_DESCRIPTION] = text_value(xml)
        if n_channels > 1:
            pages = list(np.moveaxis(image, 2, 0))
    first_tags = beginning.place(first_tags)
    file.write(beginning.data)
    directories = []
    for number, page in enumerate(pages):
        tags = _pixel_tags(order, page, premultiplied=metadata.premultiplied)
        tags |= _write_pixels(file, order, page, big=big)
        directories.append(tags | first_tags if number == 0 else tags)
    _write_directories(file, order, directories, big=big)


def _file_tags(
    order: ByteOrder, icc_profile: bytes | None, metadata: Metadata, width: int, height: int
) -> Directory:
    """Return the tags of the file: colour profile, XMP and resolution."""
    tags: Directory = {}
    if icc_profile:
        tags[Tag.ICC_PROFILE] = Value(7, len(icc_profile), icc_profile)
    if xmp := xmp_for_file(metadata, ".tif", width, height):
        tags[Tag.XMP] = Value(1, len(xmp), xmp)
    if metadata.resolution:
        tags |= resolution_tags(order, metadata.resolution)
    return tags


def _pixel_tags(order: ByteOrder, page: NDArray[Any], *, premultiplied: bool) -> Directory:
    """Return the tags of a page that describe its pixels."""
    height, width = page.shape[:2]
    channels = page.shape[2] if page.ndim == 3 else 1
    tags: Directory = {
        Tag.IMAGE_WIDTH: integer_value(order, width),
        Tag.IMAGE_LENGTH: integer_value(order, height),
        Tag.BITS_PER_SAMPLE: integer_value(order, *[page.itemsize * 8] * channels, kind=SHORT),
        Tag.COMPRESSION: integer_value(order, 1, kind=SHORT),  # none
        # RGB, or grey where 0 is black
        Tag.PHOTOMETRIC_INTERPRETATION: integer_value(order, 2 if channels >= 3 else 1, kind=SHORT),
        Tag.SAMPLES_PER_PIXEL: integer_value(order, channels, kind=SHORT),
        Tag.PLANAR_CONFIGURATION: integer_value(order, 1, kind=SHORT),  # channels interleaved
        Tag.SAMPLE_FORMAT: integer_value(order, *[3 if page.dtype.kind == "f" else 1] * channels, kind=SHORT),
    }
    if channels in (2, 4):
        alpha = _PREMULTIPLIED if premultiplied else _SEPARATE
        tags[Tag.EXTRA_SAMPLES] = integer_value(order, alpha, kind=SHORT)
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
    kind = _LONG8 if big else LONG
    return {
        Tag.STRIP_OFFSETS: integer_value(order, *(start + top * row_bytes for top in tops), kind=kind),
        Tag.ROWS_PER_STRIP: integer_value(order, rows),
        Tag.STRIP_BYTE_COUNTS: integer_value(order, *sizes, kind=kind),
    }


def _write_directories(
    file: BinaryIO, order: ByteOrder, directories: Sequence[Directory], *, big: bool
) -> None:
    """Append the directories, and point to the first one at the start of the file."""
    writer = DirectoryWriter(order, big=big, position=file.tell())
    following = 0
    for tags in reversed(directories):
        # Values with an offset are in the file already.
        new = writer.place({tag: value for tag, value in tags.items() if value.offset is None})
        following = writer.directory(tags | new, following=following)
    file.write(writer.data)
    file.seek(0)
    file.write(pack_file_start(order, following, big=big))
    file.seek(0, os.SEEK_END)


def describe_tiff_losses(image: ZarrImage) -> list[str]:
    """Return notices about units and times of an image that OME-TIFF cannot hold."""
    units = {
        str(axis.unit)
        for axis in image.axes
        if axis.name in "tyx"
        and axis.unit
        and not (is_time_unit(axis.unit) if axis.name == "t" else is_ome_length(axis.unit))
    }
    notices = []
    if units:
        notices.append(f"OME-TIFF does not support the unit {', '.join(sorted(units))}; it is left out.")
    time = image.axis("t")
    if time and not is_time_unit(time.unit) and (time.scale, time.translation) != (1.0, 0.0):
        notices.append("OME-TIFF needs a unit of time; step and start of the time axis are left out.")
    return notices


def write_store_as_tiff(store: Path) -> Callable[[BinaryIO], object]:
    """Return a function that writes all levels of a store made by panfocus as one tiled OME-TIFF."""
    return lambda file: _write_store(file, read_ome_zarr(store))


def _write_store(file: BinaryIO, image: ZarrImage) -> None:
    n_levels = sum(1 for folder in image.path.iterdir() if folder.is_dir())
    sizes = {axis.name.upper(): n for axis, n in zip(image.axes, image.shape, strict=True)}
    time = image.axis("t")
    xml = build_ome_xml(
        image.dtype,
        sizes,
        image.acquisition,
        interval=(time.scale, str(time.unit)) if time and is_time_unit(time.unit) else None,
        planes=_plane_attributes(image),
    )
    with tifffile.TiffWriter(file, bigtiff=True, ome=False) as tiff:
        for number in range(n_levels):
            level = open_level(image.path, number)
            side = -(-max(level.chunks[-2:]) // _TILE_STEP) * _TILE_STEP
            first = {"description": xml, "subifds": n_levels - 1, "metadata": None, "software": "panfocus"}
            tiff.write(
                _pad_tiles(level, side),
                shape=level.shape,
                dtype=level.dtype,
                tile=(side, side),
                photometric="minisblack",
                compression="zlib",
                predictor=level.dtype.kind != "f" and level.dtype.itemsize <= 2,
                maxworkers=thread_count(),
                **(first if number == 0 else {"subfiletype": 1, "metadata": None}),
            )


def _pad_tiles(level: Any, side: int) -> Iterator[NDArray[Any]]:
    """Yield the tiles of every plane; tiles at an edge are padded."""
    height, width = level.shape[-2:]
    for at in np.ndindex(*level.shape[:-2]):
        for top, left in product(range(0, height, side), range(0, width, side)):
            part = np.asarray(level[(*at, slice(top, top + side), slice(left, left + side))])
            yield np.pad(part, [(0, side - length) for length in part.shape])


def _plane_attributes(image: ZarrImage) -> list[dict[str, str]]:
    """Return position and time of every plane, in their order; nothing if all start at 0."""
    planes = []
    for place in np.ndindex(*image.shape[:-2]):
        at = dict(zip((axis.name for axis in image.axes), place, strict=False))
        attributes: dict[str, str] = {}
        for axis in image.axes:
            if axis.name in "xy" and axis.translation:
                attributes[f"Position{axis.name.upper()}"] = repr(axis.translation)
                if axis.unit:
                    attributes[f"Position{axis.name.upper()}Unit"] = ome_length_unit(axis.unit)
            if axis.name == "t" and axis.translation and axis.unit and is_time_unit(axis.unit):
                attributes["DeltaT"] = repr(axis.translation + axis.scale * at["t"])
                attributes["DeltaTUnit"] = to_ome_unit(axis.unit)
        if attributes:
            planes.append({f"The{axis.upper()}": str(at.get(axis, 0)) for axis in "czt"} | attributes)
    return planes
