"""A page of a TIFF from top to bottom, some rows at a time: for pages that are large beside the memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG
from panfocus.io.tiff import page_of
from panfocus.io.tiff_lzw import check_lzw

_BAND_BYTES = 8 << 20  # that are read at once


def in_bands(path: Path, index: int) -> Iterator[tuple[int, NDArray[Any]]] | None:
    """Yield the first row's number and rows (k, w) or (k, w, c) of a page; None if it has to be read whole.

    That is a page whose colours are in separate planes, or that is to be turned.
    """
    with tifffile.TiffFile(path) as tiff:
        page = page_of(tiff, index)
        tag = page.tags.get(ORIENTATION_TAG)
        if page.axes not in ("YX", "YXS") or (tag and tag.value in range(2, 9)):
            return None
    return _bands(path, index)


def _bands(path: Path, index: int) -> Iterator[tuple[int, NDArray[Any]]]:
    with tifffile.TiffFile(path) as tiff:
        page = page_of(tiff, index)
        if page.is_contiguous:
            yield from _as_they_are(tiff, page)
        else:
            check_lzw(page)
            yield from _decoded(page)


def _as_they_are(tiff: tifffile.TiffFile, page: tifffile.TiffPage) -> Iterator[tuple[int, NDArray[Any]]]:
    assert page.dtype is not None  # as its header has been checked
    stored = page.dtype.newbyteorder(tiff.byteorder)
    height, *of_a_row = page.shape
    row_bytes = page.nbytes // height
    rows = max(1, _BAND_BYTES // row_bytes)
    tiff.filehandle.seek(page.dataoffsets[0])
    for top in range(0, height, rows):
        wanted = min(rows, height - top)
        data = tiff.filehandle.read(wanted * row_bytes)
        if len(data) < wanted * row_bytes:
            raise FileError("cut off: pixels are missing")
        yield top, np.frombuffer(data, stored).reshape(wanted, *of_a_row).astype(page.dtype, copy=False)


def _decoded(page: tifffile.TiffPage) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield strips as they are decoded, and tiles as soon as there is a row of them."""
    height, width, *channels = page.shape
    rows = page.tilelength if page.is_tiled else page.rowsperstrip
    band, top = np.empty((0, width, *channels), page.dtype), -1
    for pixels, (_, _, y, x, _), (_, _, across, _) in page.segments(maxworkers=1, buffersize=_BAND_BYTES):
        if pixels is None:
            raise FileError("cut off: pixels are missing")
        if y != top:
            if top >= 0:
                yield top, band
            band, top = np.empty((min(rows, height - y), width, *channels), page.dtype), y
        place = band[:, x : x + across]
        inside = pixels[0, : len(place), : place.shape[1]]  # tiles reach beyond the edges
        place[...] = inside if channels else inside[..., 0]
    yield top, band
