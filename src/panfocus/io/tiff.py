"""Reading TIFF of one or more pages in the sample type of the file; writing is in `tiff_writer`."""

import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, BinaryIO

import imagecodecs
import numpy as np
import tifffile
from numpy.typing import NDArray

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.io._frame import Frame, check_pixel_count, turn_upright
from panfocus.io._tiff_ifd import Tag, read_file_start
from panfocus.io.exif import Exif, exif_of_tiff, read_exif
from panfocus.io.metadata import collect_metadata, describe_unknown_tags
from panfocus.io.ome_xml import Layout, read_imagej, read_ome
from panfocus.stack import Metadata, join_channels, joined_channel_count

MAX_PAGES = 10_000  # far above any stack, and quickly counted
_SAMPLES = {"MINISBLACK": (1, 2), "RGB": (3, 4)}  # samples per pixel, with alpha, by supported colour model
_BITS = (8, 16, 32, 64)  # supported bits per sample
_MAX_RATIO = 50  # of lossless compression; a small file with a higher one may stand for endless pixels
_BAND_BYTES = 8 << 20  # read at once from a page that is read in bands
_LOST_TAGS = {
    Tag.IPTC: "IPTC data",
    Tag.PHOTOSHOP: "Photoshop data",
    Tag.PHOTOSHOP_LAYERS: "Photoshop layers",
}
_REVERSED_BITS = 2  # TIFF's FillOrder
_TRUNCATED = "The file is truncated: pixels are missing."


def read_tiff_headers(
    file: BinaryIO, *, channel: int | None = None, time: int | None = None
) -> list[tuple[tuple[int, ...], Frame]]:
    """Return the pages and the blank frame of every full-size page or slice.

    A slice has several pages if each channel has one.
    """
    with open_tiff(file) as (tiff, pages):
        layout = read_layout(tiff, pages)
        if layout is None:
            taken = read_exif(file, pages[0].offset).taken
            return [((page.index,), replace(read_page_header(page), taken=taken)) for page in pages]
        slices = []
        for numbers in layout.select(channel, time)[0]:
            headers = [read_page_header(pages[number]) for number in numbers]
            image = _combine_channels([header.image for header in headers])
            indices = tuple(pages[number].index for number in numbers)
            slices.append((indices, replace(headers[0], image=image)))
        return slices


def decode_pages(file: BinaryIO, indices: tuple[int, ...]) -> Frame:
    """Decode the pages of one frame; several pages are its channels."""
    with tifffile.TiffFile(file) as tiff:
        pages = [get_page(tiff, index) for index in indices]
        header = read_page_header(pages[0])
        for page in pages:
            for number in range(len(page.dataoffsets)):
                check_lzw(page, number)
        planes = [_upright(page.asarray(), page, header.orientation) for page in pages]
        return replace(header, image=_combine_channels(planes))


def read_tiff_metadata(
    file: BinaryIO, index: int, *, channel: int | None = None, time: int | None = None
) -> Metadata:
    """Return the metadata of a page."""
    with open_tiff(file) as (tiff, pages):
        page = get_page(tiff, index)
        tags = read_exif(file, page.offset)
        layout = read_layout(tiff, pages)
        if layout or page.is_shaped:  # the text describes the layout of the file, not the image
            tags.main.pop(Tag.IMAGE_DESCRIPTION, None)
        exif = exif_of_tiff(tags)
        xmp = page.tags.valueof(Tag.XMP)
        lost = _list_losses(tags, exif)
        if layout and layout.other_images:
            lost.append(describe_other_images(layout))
        xmp = xmp if isinstance(xmp, bytes) else None
        metadata, _, _ = collect_metadata(exif, xmp, left_behind=lost)
        return replace(
            metadata,
            premultiplied=tifffile.EXTRASAMPLE.ASSOCALPHA in page.extrasamples,
            acquisition=layout.select(channel, time)[1] if layout else None,
        )


def read_bands(file: BinaryIO, index: int) -> Iterator[tuple[int, NDArray[Any]]] | None:
    """Return an iterator over bands of a page, for pages that are large relative to the memory.

    A band is the number of its first row and its rows (k, w) or (k, w, c). Returns None for pages that must
    be read whole: their colours are in separate planes, or they must be turned.
    """
    page = get_page(tifffile.TiffFile(file), index)
    return None if is_turned_or_planar(page) else _read_bands(page)


def _read_bands(page: tifffile.TiffPage) -> Iterator[tuple[int, NDArray[Any]]]:
    height, width, *channels = page.shape
    step, _ = part_shape(page)
    n_rows = max(1, _BAND_BYTES * height // page.nbytes // step) * step
    for top in range(0, height, n_rows):
        rows = range(top, min(top + n_rows, height))
        yield top, read_rectangle(page, rows, range(width)).reshape(len(rows), width, *channels)


def is_turned_or_planar(page: tifffile.TiffPage) -> bool:
    """Return whether a page must be turned upright, or has its colours in separate planes."""
    tag = page.tags.get(Tag.ORIENTATION)
    return page.axes not in ("YX", "YXS") or bool(tag and tag.value in range(2, 9))


def part_shape(page: tifffile.TiffPage) -> tuple[int, int]:
    """Return rows and columns that are decoded together: a tile or a strip, or a row of plain pixels."""
    if page.is_tiled:
        return page.tilelength, page.tilewidth
    return 1 if page.is_contiguous else page.rowsperstrip, page.imagewidth


def read_rectangle(
    page: tifffile.TiffPage, rows: range, cols: range, samples: slice = slice(None)
) -> NDArray[Any]:
    """Return a rectangle (h, w, samples) of a page; only its strips or tiles are decoded."""
    assert page.dtype is not None  # the header was checked
    file = page.parent.filehandle
    decode = page.decode  # created on first access, which may read the file
    n_samples = len(range(page.samplesperpixel)[samples])
    rectangle = np.full((len(rows), len(cols), n_samples), page.nodata, page.dtype)
    if page.is_contiguous:
        stored = page.dtype.newbyteorder(page.parent.byteorder)
        pixel = stored.itemsize * page.samplesperpixel
        for y, row in enumerate(rows if page.databytecounts[0] else ()):
            file.seek(page.dataoffsets[0] + (row * page.imagewidth + cols.start) * pixel)
            line = np.frombuffer(file.read(len(cols) * pixel), stored)
            rectangle[y] = line.reshape(len(cols), -1)[:, samples]
        return rectangle
    height, width = part_shape(page)
    across = -(-page.imagewidth // width)
    for j, i in product(
        range(rows.start // height, -(-rows.stop // height)),
        range(cols.start // width, -(-cols.stop // width)),
    ):
        index = j * across + i
        if not (page.dataoffsets[index] and page.databytecounts[index]):
            continue
        check_lzw(page, index)
        file.seek(page.dataoffsets[index])
        pixels, _, _ = decode(file.read(page.databytecounts[index]), index, jpegtables=page.jpegtables)
        assert pixels is not None  # the part has data
        top, left = j * height, i * width
        down = range(max(rows.start, top), min(rows.stop, top + pixels.shape[1]))
        right = range(max(cols.start, left), min(cols.stop, left + pixels.shape[2]))
        rectangle[
            down.start - rows.start : down.stop - rows.start,
            right.start - cols.start : right.stop - cols.start,
        ] = pixels[0, down.start - top : down.stop - top, right.start - left : right.stop - left, samples]
    return rectangle


def get_page(tiff: tifffile.TiffFile, index: int) -> tifffile.TiffPage:
    """Return a page by its index among all pages."""
    page = tiff.pages[index]
    assert isinstance(page, tifffile.TiffPage)  # true unless a file is opened for speed
    return page


@contextmanager
def open_tiff(file: BinaryIO) -> Iterator[tuple[tifffile.TiffFile, list[tifffile.TiffPage]]]:
    """Provide a TIFF and its full-size pages."""
    check_page_chain(file)
    file.seek(0)
    with tifffile.TiffFile(file) as tiff:
        pages = [page for page in tiff.pages if isinstance(page, tifffile.TiffPage)]
        full_size = [page for page in pages if not (page.is_reduced or page.is_mask)]
        if not full_size:
            raise FileError("The file contains only reduced images or masks.", problem="no page")
        yield tiff, full_size


def check_page_chain(file: BinaryIO) -> None:
    """Raise if the chain of pages is truncated, too long or circular; tifffile would follow it."""
    order, is_big, page = read_file_start(file)
    # Formats of the number of tags and of an offset, and the size of a tag.
    count, offset, tag_size = ("Q", "Q", 20) if is_big else ("H", "I", 12)
    seen: set[int] = set()
    while page:
        if page in seen:
            raise FileError("The file is damaged: its pages form a circle.", problem="circle")
        if len(seen) == MAX_PAGES:
            raise FileError(f"The file has more than {MAX_PAGES:,} pages.", limit=MAX_PAGES)
        seen.add(page)
        n_tags = _read_number(file, page, order + count)
        page = _read_number(file, page + struct.calcsize(count) + n_tags * tag_size, order + offset)
    if not seen:
        raise FileError("The file has no page.", problem="no page")


def _read_number(file: BinaryIO, position: int, kind: str) -> int:
    file.seek(min(position, file.seek(0, os.SEEK_END)))
    data = file.read(struct.calcsize(kind))
    if len(data) < struct.calcsize(kind):
        raise FileError("The file is truncated: pages are missing.", problem="truncated")
    return int(struct.unpack(kind, data)[0])


def describe_other_images(layout: Layout) -> str:
    """Name the images of a file that are not read."""
    return f"other images in the file ({', '.join(layout.other_images)})"


def read_layout(tiff: tifffile.TiffFile, pages: list[tifffile.TiffPage]) -> Layout | None:
    """Return the layout of a microscopy file, None for other files.

    tifffile's own layout is not used: for OME it accepts any size and allocates memory for it.
    """
    if description := tiff.imagej_metadata:
        per_unit = [_ratio(pages[0], tag) for tag in (Tag.X_RESOLUTION, Tag.Y_RESOLUTION)]
        sizes = (float(per_unit[0]), float(per_unit[1])) if all(per_unit) else None
        return read_imagej(description, len(pages), sizes)
    if xml := tiff.ome_metadata:
        every = [get_page(tiff, index) for index in range(len(tiff.pages))]
        layout = read_ome(xml, [page.samplesperpixel for page in every])
        places = {page.index: place for place, page in enumerate(pages)}
        if not places.keys() >= {*layout.pages.values()}:
            raise FileError("The OME-XML uses reduced images or masks as slices.", problem="pages")
        return replace(layout, pages={plane: places[index] for plane, index in layout.pages.items()})
    return None


def _ratio(page: tifffile.TiffPage, tag: int) -> Fraction:
    value = page.tags.valueof(tag)
    return Fraction(*value) if isinstance(value, tuple) and len(value) == 2 and value[1] else Fraction(0)


def _combine_channels(planes: list[NDArray[Any]]) -> NDArray[Any]:
    """Return a frame of channels."""
    if len(planes) == 1:
        return planes[0]
    if any(plane.ndim != 2 or plane.shape != planes[0].shape for plane in planes):
        message = "The channels differ in size or are in colour. Save them as separate files."
        raise FileError(message, problem="channels")
    if not planes[0].strides[0]:  # blank planes of a header
        return blank((*planes[0].shape, joined_channel_count(len(planes))), planes[0].dtype)
    return join_channels(planes)


def _list_losses(tags: Exif, carried: Exif | None) -> list[str]:
    lost = [name for tag, name in _LOST_TAGS.items() if tags.main.pop(tag, None)]
    if tags.has_maker_note and not (carried and carried.has_maker_note):
        lost.append("the camera maker's notes")
    return lost + describe_unknown_tags(tags)


def count_empty_parts(page: tifffile.TiffPage) -> int:
    """Return the number of tiles or strips without data, as sparse TIFFs have them."""
    return sum(not (at and n) for at, n in zip(page.dataoffsets, page.databytecounts, strict=False))


def read_page_header(page: tifffile.TiffPage, *, sparse: bool = False) -> Frame:
    """Return a page's frame with blank pixels.

    Tiles or strips without data raise unless the page may be `sparse`.
    """
    _check_samples(page)
    size = page.parent.filehandle.size
    n_parts, n_empty = math.prod(page.chunked), count_empty_parts(page)
    if (n_empty and not sparse) or len(page.databytecounts) < n_parts:
        raise FileError(_TRUNCATED, problem="truncated")
    width, height = int(page.imagewidth), int(page.imagelength)  # may be texts in a damaged file
    pixels, tile = width * height, int(page.tilewidth) * int(page.tilelength)
    if tile > max(4 * pixels, 1 << 24):  # tiles are decoded whole
        raise FileError("The file is damaged: its tiles are larger than the image.", problem="tiles")
    stored = sum(page.databytecounts)
    if page.compression == tifffile.COMPRESSION.NONE and stored < page.nbytes and not n_empty:
        raise FileError(_TRUNCATED, problem="truncated")
    if stored * _MAX_RATIO < page.nbytes * (1 - n_empty / n_parts):
        check_pixel_count(width, height)
    if any(start + n > size for start, n in zip(page.dataoffsets, page.databytecounts, strict=True)):
        raise FileError(_TRUNCATED, problem="truncated")
    if page.dtype is None:
        raise FileError("The sample type is unknown. Convert the image to 8 or 16 bits.", problem="type")
    tag = page.tags.get(Tag.ORIENTATION)
    orientation = tag.value if tag and tag.value in range(1, 9) else 1
    return Frame(
        image=_upright(blank(page.shape, page.dtype), page, orientation),
        orientation=orientation,
        icc_profile=page.iccprofile,
    )


def _upright(image: NDArray[Any], page: tifffile.TiffPage, orientation: int) -> NDArray[Any]:
    return turn_upright(np.moveaxis(image, 0, 2) if page.axes == "SYX" else image, orientation)


def _check_samples(page: tifffile.TiffPage) -> None:
    """Raise for samples that would need a conversion, which is left to the user."""
    model = tifffile.PHOTOMETRIC(page.photometric).name
    if model == "YCBCR" and page.compression == tifffile.COMPRESSION.JPEG:
        model = "RGB"  # the decoder converts it
    if model not in _SAMPLES:
        raise FileError(f"The colour model is {model}. Convert the image to grey or RGB.", got=model)
    if page.bitspersample not in _BITS:
        bits = page.bitspersample
        raise FileError(f"The samples have {bits} bits. Convert the image to 8 or 16 bits.", got=bits)
    if page.axes not in ("YX", "YXS", "SYX") or page.samplesperpixel not in _SAMPLES[model]:
        message = f"Pages with {page.samplesperpixel} samples and axes {page.axes} are not supported."
        raise FileError(f"{message} Save the image as grey or RGB.", got=page.samplesperpixel)


def check_lzw(page: tifffile.TiffPage, index: int) -> None:
    """Raise if the LZW codes of a strip or tile do not produce its pixels.

    LZW has no checksum. The decoder of imagecodecs (2026.3.6) trusts a first code that refers to nothing: it
    then reads outside its tables and may crash the process.
    """
    if page.compression != tifffile.COMPRESSION.LZW:
        return
    # Imported here because numba is slow to import, and headers do not need it.
    from panfocus.io._kernel_lzw import BAD_CODE, TOO_LONG, TOO_SHORT, walk_lzw

    problems = {BAD_CODE: "invalid code", TOO_SHORT: "too few pixels", TOO_LONG: "too many pixels"}
    assert page.dtype is not None  # the header was checked
    file = page.parent.filehandle
    file.seek(page.dataoffsets[index])
    data = file.read(page.databytecounts[index])
    codes = imagecodecs.bitorder_decode(data) if page.fillorder == _REVERSED_BITS else data
    _, _, (depth, rows, *row_shape) = page.decode(None, index)
    row_bytes = math.prod(row_shape) * page.dtype.itemsize
    # The last strip may be as long as the others, although the image ends within it.
    most = rows if page.is_tiled else max(rows, int(page.rowsperstrip))
    result = walk_lzw(np.frombuffer(codes, np.uint8), depth * rows * row_bytes, depth * most * row_bytes)
    if result in problems:
        raise FileError(f"The LZW data is damaged ({problems[result]}).", problem=problems[result])
