"""TIFF of one or more pages, with the sample type it was stored in."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import tifffile
from numpy.typing import NDArray

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG, Frame, check_pixel_count, turn_upright

TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

# Colour models that need no conversion, and how many samples a pixel may have, alpha included.
_SAMPLES = {"MINISBLACK": (1, 2), "RGB": (3, 4)}
_WHOLE_SAMPLES = (8, 16, 32, 64)


def tiff_headers(path: Path) -> dict[int, Frame]:
    """Return what `decode_page` will, with blank pixels, for each page of full size that holds a picture."""
    with _open(path) as pages:
        return {page.index: _header(page) for page in pages}


def decode_page(path: Path, index: int) -> Frame:
    """Decode one page of a TIFF, by its place among all pages."""
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[index]
        assert isinstance(page, tifffile.TiffPage)  # as always, unless a file is opened for speed
        header = _header(page)
        return replace(header, image=_upright(page.asarray(), page, header.orientation))


def encode_tiff(image: NDArray[Any], icc_profile: bytes | None = None) -> Callable[[BinaryIO], object]:
    """Encode any supported dtype, (h, w) or (h, w, c) with 2 to 4 channels, into a file that is given later.

    Pixels go from the image into the file as they are, without a copy and without compression, which takes
    longer than many a fusion: docs/performance.md.
    """
    channels = image.shape[2] if image.ndim == 3 else 1
    return partial(
        tifffile.imwrite,
        data=image,
        photometric="rgb" if channels >= 3 else "minisblack",
        planarconfig="contig" if channels > 1 else None,
        extrasamples=["unassalpha"] if channels in (2, 4) else None,
        iccprofile=icc_profile,
        software="panfocus",
        metadata=None,
    )


@contextmanager
def _open(path: Path) -> Iterator[list[tifffile.TiffPage]]:
    with tifffile.TiffFile(path) as tiff:
        pages = [page for page in tiff.pages if isinstance(page, tifffile.TiffPage)]
        # In a file that was cut, the chain of pages ends in a pointer beyond its end; tifffile only logs it.
        tiff.filehandle.seek(tiff.pages.next_page_offset or tiff.filehandle.size)
        pointer = tiff.filehandle.read(tiff.tiff.offsetsize)
        if not pages or any(pointer) or len(pointer) < tiff.tiff.offsetsize:
            raise FileError("cut off: pages are missing")
        pictures = [page for page in pages if not (page.is_reduced or page.is_mask)]
        if not pictures:
            raise FileError("it holds only reduced pictures or masks, none of full size")
        if len(pictures) > 1:
            _check_axes(tiff)
        yield pictures


def _check_axes(tiff: tifffile.TiffFile) -> None:
    """Refuse a hyperstack of ImageJ or OME, whose pages are not only slices of one scene.

    tifffile's own list of axes would do, but for OME it believes any size and allocates it.
    """
    if stack := tiff.imagej_metadata:
        channels, times = stack.get("channels", 1), stack.get("frames", 1)
    elif pixels := re.search(r"<(\w+:)?Pixels\s[^>]*", tiff.ome_metadata or ""):
        sizes = dict(re.findall(r"\sSize([CT])\s*=\s*[\"'](\d+)", pixels.group()))
        channels = int(sizes.get("C", 1)) // tiff.pages.first.samplesperpixel
        times = int(sizes.get("T", 1))
    else:
        return
    for name, size in (("channels", channels), ("time points", times)):
        if size > 1:
            raise FileError(f"its pages are of {size} {name}, not only slices; save one of them as a stack")


def _header(page: tifffile.TiffPage) -> Frame:
    check_pixel_count(page.imagewidth, page.imagelength)
    _check_pixels(page)
    size = page.parent.filehandle.size
    if any(start + n > size for start, n in zip(page.dataoffsets, page.databytecounts, strict=True)):
        raise FileError("cut off: pixels are missing")
    if page.dtype is None:
        raise FileError("its samples are of no known kind; convert it to 8 or 16 bit")
    tag = page.tags.get(ORIENTATION_TAG)
    orientation = tag.value if tag else 1
    return Frame(
        image=_upright(blank(page.shape, page.dtype), page, orientation),
        orientation=orientation,
        icc_profile=page.iccprofile,
        has_exif="ExifTag" in page.tags,
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
