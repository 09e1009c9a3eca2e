"""Reading TIFF of one or more pages, with the sample type it was stored in; writing is in `tiff_writer`."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG, Frame, check_pixel_count, turn_upright
from panfocus.io._tiff_pages import check_page_chain
from panfocus.io.exif import X_RESOLUTION, Y_RESOLUTION, Exif, exif_of_tiff, read_exif
from panfocus.io.metadata import gather, unknown_tags
from panfocus.io.ome import Layout, read_imagej, read_ome
from panfocus.io.tiff_lzw import check_lzw
from panfocus.stack import Metadata, beside_each_other, n_beside

TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

# Colour models that need no conversion, and how many samples a pixel may have, alpha included.
_SAMPLES = {"MINISBLACK": (1, 2), "RGB": (3, 4)}
_WHOLE_SAMPLES = (8, 16, 32, 64)

# Pictures compress to less than this without loss: beyond it a small file could stand for endless pixels.
_HIGHEST_RATIO = 50

_DESCRIPTION_TAG, _XMP_TAG = 0x010E, 0x02BC
_KNOWN_LOSSES = {0x83BB: "IPTC data", 0x8649: "Photoshop's data", 0x935C: "Photoshop's layers"}


@dataclass(frozen=True, eq=False)
class Slice:
    """A frame of a TIFF: its page, or pages where each channel of a microscope has one; blank."""

    pages: tuple[int, ...]
    frame: Frame


def tiff_headers(path: Path, *, channel: int | None = None, time: int | None = None) -> list[Slice]:
    """Return what `decode_pages` will, with blank pixels, for each slice, which is a page of full size."""
    with open_tiff(path) as (tiff, pages):
        layout = layout_of(tiff, pages)
        if layout is None:
            taken = _taken(pages[0])
            return [Slice((page.index,), replace(page_header(page), taken=taken)) for page in pages]
        layout = layout.chosen(channel, time)
        slices = []
        for numbers in layout.frames():
            chosen = [pages[number] for number in numbers]
            image = _of_channels([page_header(page).image for page in chosen])
            slices.append(
                Slice(tuple(page.index for page in chosen), replace(page_header(chosen[0]), image=image))
            )
        return slices


def decode_pages(path: Path, indices: tuple[int, ...]) -> Frame:
    """Decode the pages of one frame of a TIFF, by their places among all; several are its channels."""
    with tifffile.TiffFile(path) as tiff:
        pages = [page_of(tiff, index) for index in indices]
        header = page_header(pages[0])
        for page in pages:
            check_lzw(page)
        planes = [_upright(page.asarray(), page, header.orientation) for page in pages]
        return replace(header, image=_of_channels(planes))


def tiff_metadata(path: Path, index: int, *, channel: int | None = None, time: int | None = None) -> Metadata:
    """Return what a page of a TIFF says about its picture."""
    with open_tiff(path) as (tiff, pages), path.open("rb") as file:
        page = page_of(tiff, index)
        found = read_exif(file, page.offset)
        layout = layout_of(tiff, pages)
        if layout or page.is_shaped:  # then this text is on the layout of the file, not on the picture
            found.main.pop(_DESCRIPTION_TAG, None)
        exif = exif_of_tiff(found)
        xmp = page.tags.valueof(_XMP_TAG)
        source = gather(
            exif,
            bytes(xmp) if isinstance(xmp, bytes) else None,
            left_behind=_left_behind(found, exif) + ([left_out(layout)] if layout and layout.others else []),
        )
        return replace(
            source.metadata,
            premultiplied=tifffile.EXTRASAMPLE.ASSOCALPHA in page.extrasamples,
            acquisition=layout.chosen(channel, time).acquisition if layout else None,
        )


def page_of(tiff: tifffile.TiffFile, index: int) -> tifffile.TiffPage:
    """Return a page by its place among all."""
    page = tiff.pages[index]
    assert isinstance(page, tifffile.TiffPage)  # as always, unless a file is opened for speed
    return page


@contextmanager
def open_tiff(path: Path) -> Iterator[tuple[tifffile.TiffFile, list[tifffile.TiffPage]]]:
    """Open a TIFF, and give its pages of full size."""
    with path.open("rb") as file:
        check_page_chain(file)
    with tifffile.TiffFile(path) as tiff:
        pages = [page for page in tiff.pages if isinstance(page, tifffile.TiffPage)]
        pictures = [page for page in pages if not (page.is_reduced or page.is_mask)]
        if not pictures:
            raise FileError("it holds only reduced pictures or masks, none of full size")
        yield tiff, pictures


def left_out(layout: Layout) -> str:
    """Name the images of a file that are not fused."""
    return f"other images in the file ({', '.join(layout.others)})"


def layout_of(tiff: tifffile.TiffFile, pages: list[tifffile.TiffPage]) -> Layout | None:
    """Return how a microscope's file is laid out, None for any other.

    tifffile's own list of axes would do, but for OME it believes any size and allocates it.
    """
    if said := tiff.imagej_metadata:
        per_unit = [_ratio(pages[0], tag) for tag in (X_RESOLUTION, Y_RESOLUTION)]
        sizes = (float(per_unit[0]), float(per_unit[1])) if all(per_unit) else None
        return read_imagej(said, len(pages), sizes)
    if xml := tiff.ome_metadata:
        every = [page_of(tiff, index) for index in range(len(tiff.pages))]
        layout = read_ome(xml, [page.samplesperpixel for page in every])
        places = {page.index: place for place, page in enumerate(pages)}
        if not places.keys() >= {*layout.pages.values()}:
            raise FileError("its description takes reduced pictures or masks for slices; save it anew")
        return replace(layout, pages={plane: places[index] for plane, index in layout.pages.items()})
    return None


def _ratio(page: tifffile.TiffPage, tag: int) -> Fraction:
    value = page.tags.valueof(tag)
    return Fraction(*value) if isinstance(value, tuple) and len(value) == 2 and value[1] else Fraction(0)


def _of_channels(planes: list[NDArray[Any]]) -> NDArray[Any]:
    """Make a frame of channels."""
    if len(planes) == 1:
        return planes[0]
    if any(plane.ndim != 2 or plane.shape != planes[0].shape for plane in planes):
        raise FileError("its channels are not of one size, or in colour; save them as separate files")
    if not planes[0].strides[0]:  # blank ones, of a header
        return blank((*planes[0].shape, n_beside(len(planes))), planes[0].dtype)
    return beside_each_other(planes)


def _taken(page: tifffile.TiffPage) -> Any:
    with Path(page.parent.filehandle.path).open("rb") as file:
        return read_exif(file, page.offset).taken


def _left_behind(found: Exif, carried: Exif | None) -> list[str]:
    left = [name for tag, name in _KNOWN_LOSSES.items() if found.main.pop(tag, None)]
    if found.has_maker_note and not (carried and carried.has_maker_note):
        left.append("the notes of the camera's maker")
    return left + unknown_tags(found)


def parts_without_data(page: tifffile.TiffPage) -> int:
    """Count the tiles or strips of a page that the file leaves out, as sparse TIFFs do."""
    return sum(not (at and n) for at, n in zip(page.dataoffsets, page.databytecounts, strict=False))


def page_header(page: tifffile.TiffPage, *, sparse: bool = False) -> Frame:
    """Return a page's frame with blank pixels, or say why it cannot be read.

    Tiles or strips without data are damage, unless it may be `sparse`.
    """
    _check_pixels(page)
    size = page.parent.filehandle.size
    n_parts, n_empty = math.prod(page.chunked), parts_without_data(page)
    if (n_empty and not sparse) or len(page.databytecounts) < n_parts:
        raise FileError("cut off: pixels are missing")
    width, height = int(page.imagewidth), int(page.imagelength)  # in a damaged file they may be texts
    pixels, tile = width * height, int(page.tilewidth) * int(page.tilelength)
    if tile > max(4 * pixels, 1 << 24):  # which are decoded whole
        raise FileError("damaged: its tiles are larger than the picture")
    stored = sum(page.databytecounts)
    if page.compression == tifffile.COMPRESSION.NONE and stored < page.nbytes and not n_empty:
        raise FileError("cut off: pixels are missing")
    if stored * _HIGHEST_RATIO < page.nbytes * (1 - n_empty / n_parts):
        check_pixel_count(width, height)
    if any(start + n > size for start, n in zip(page.dataoffsets, page.databytecounts, strict=True)):
        raise FileError("cut off: pixels are missing")
    if page.dtype is None:
        raise FileError("its samples are of no known kind; convert it to 8 or 16 bit")
    tag = page.tags.get(ORIENTATION_TAG)
    orientation = tag.value if tag and tag.value in range(1, 9) else 1
    return Frame(
        image=_upright(blank(page.shape, page.dtype), page, orientation),
        orientation=orientation,
        icc_profile=page.iccprofile,
    )


def _upright(image: NDArray[Any], page: tifffile.TiffPage, orientation: int) -> NDArray[Any]:
    return turn_upright(np.moveaxis(image, 0, 2) if page.axes == "SYX" else image, orientation)


def _check_pixels(page: tifffile.TiffPage) -> None:
    """Refuse by name what would need a conversion that is the user's to choose."""
    model = tifffile.PHOTOMETRIC(page.photometric).name
    if model == "YCBCR" and page.compression == tifffile.COMPRESSION.JPEG:
        model = "RGB"  # as which the decoder returns it
    if model not in _SAMPLES:
        raise FileError(f"its colours are {model}; convert it to grey or RGB")
    if page.bitspersample not in _WHOLE_SAMPLES:
        raise FileError(f"its samples have {page.bitspersample} bits; convert it to 8 or 16 bit")
    if page.axes not in ("YX", "YXS", "SYX") or page.samplesperpixel not in _SAMPLES[model]:
        raise FileError(
            f"its pages are {page.axes} with {page.samplesperpixel} samples a pixel; save it as grey or RGB"
        )
