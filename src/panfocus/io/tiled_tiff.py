"""TIFFs of slices that are larger than memory: rectangles are read from their tiles or strips."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.ome_xml import OME_CHANNEL_ATTRIBUTES, Layout, hex_colours, to_ngff_unit
from panfocus.io.ome_zarr import Axis, ZarrFrames, ZarrImage, read_ome_zarr
from panfocus.stack import Acquisition

TIFF_SUFFIXES = (".tif", ".tiff")
_RGBA = {"red": "FF0000", "green": "00FF00", "blue": "0000FF", "alpha": "FFFFFF"}  # of a page in colour
_MAX_PART = 1 << 24  # pixels of a tile or strip, which is decoded whole
_MIN_ROWS = 256  # of a part, for pages in strips


@dataclass(frozen=True)
class TiffImage(ZarrImage):
    """An image of slices in a TIFF, with the interface of an OME-Zarr image; `array` is unused."""

    pages: tuple[tuple[tuple[int, int], ...], ...] = ()  # page and sample of each channel, by time and slice
    samples: int = 1  # per pixel; the last of 2 or 4 is alpha
    no_data: float = 0  # value of missing tiles or strips

    @property
    def has_alpha(self) -> bool:
        """Whether the last channel is the alpha channel of the pages."""
        return self.samples in (2, 4) and self.length("c") == self.samples

    def count_missing(self, n_files: int) -> int:
        """Return the number of tiles or strips without data."""
        from panfocus.io.tiff import count_empty_parts, get_page, open_tiff

        used = {index for of_slice in self.pages for index, _ in of_slice}
        with add_path_to_errors(self.path), self.path.open("rb") as file, open_tiff(file) as (tiff, _):
            return sum(count_empty_parts(get_page(tiff, index)) for index in used)

    def describe_missing(self, n: int) -> str:
        """Return a notice about n missing tiles or strips."""
        return f"{n} tiles or strips have no data; their pixels are read as {self.no_data:g}."

    def frames(self, time: int, channels: Sequence[int]) -> "TiffFrames":
        """Return the slices of one time point, with one channel or several."""
        return TiffFrames(self, time, channels)


class TiffFrames(ZarrFrames):
    """Frames of a TIFF; only the requested strips or tiles of a page are decoded."""

    image: TiffImage

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_tiff", "_lock")}

    @cached_property
    def _tiff(self) -> Any:
        import tifffile

        return tifffile.TiffFile(self.image.path)

    @cached_property
    def _lock(self) -> Any:
        return threading.Lock()  # the file has one position

    def _part(self, slices: range, channels: range, rows: slice, cols: slice) -> NDArray[Any]:
        """Read a rectangle (1, h, w, c) of channels that are samples of one page."""
        from panfocus.io.tiff import get_page, read_rectangle

        sources = [self.image.pages[self.time * len(self) + slices[0]][channel] for channel in channels]
        samples = slice(sources[0][1], sources[-1][1] + 1)
        down, across = (range(n)[span] for n, span in zip(self.shape[1:3], (rows, cols), strict=True))
        with self._lock:
            return read_rectangle(get_page(self._tiff, sources[0][0]), down, across, samples)[np.newaxis]


def read_tiled_tiff(path: Path) -> TiffImage:
    """Return the image of a TIFF whose pages are slices, time points and channels; no pixel is read."""
    from panfocus.io.tiff import describe_other_images, open_tiff, read_layout, read_page_header

    with add_path_to_errors(path), path.open("rb") as file, open_tiff(file) as (tiff, pages):
        layout = read_layout(tiff, pages) or Layout(
            len(pages), 1, 1, {(z, 0, 0): z for z in range(len(pages))}, Acquisition()
        )
        used = [pages[number] for number in sorted(set(layout.pages.values()))]
        first = read_page_header(used[0], sparse=True)
        for page in used:
            _check_page(page, used[0])
        samples = used[0].samplesperpixel
        numbers = tuple(
            tuple(
                (pages[layout.pages[z, c, t]].index, sample)
                for c in range(layout.channels)
                for sample in range(samples)
            )
            for t in range(layout.times)
            for z in range(layout.slices)
        )
        height, width = first.image.shape[:2]
        lengths = {
            "t": layout.times,
            "c": layout.channels * samples,
            "z": layout.slices,
            "y": height,
            "x": width,
        }
        axes = _axes(layout, [name for name in lengths if name in "zyx" or lengths[name] > 1])
        parts = [_chunk_shape(page) for page in used]
        chunk = {"c": samples, "y": max(rows for rows, _ in parts), "x": max(cols for _, cols in parts)}
        return TiffImage(
            path=path,
            array="",
            axes=axes,
            shape=tuple(lengths[axis.name] for axis in axes),
            chunks=tuple(chunk.get(axis.name, 1) for axis in axes),
            dtype=first.image.dtype,
            name=layout.acquisition.name,
            omero=_omero(layout, samples, first.image.dtype),
            pages=numbers,
            samples=samples,
            no_data=used[0].nodata,
            notices=(f"Not fused: {describe_other_images(layout)}.",) if layout.other_images else (),
        )


def _check_page(page: Any, first: Any) -> None:
    """Raise for a page that cannot be read by rectangles."""
    from panfocus.io.tiff import is_turned_or_planar, part_shape

    if is_turned_or_planar(page):
        raise FileError("Rotated or planar TIFF pages are not supported.", problem="turned")
    if page.shape != first.shape or page.dtype != first.dtype:
        raise FileError("The pages differ in size or type.", problem="pages")
    if math.prod(part_shape(page)) > _MAX_PART:
        message = "The tiles or strips are too large. Save the file with smaller tiles."
        raise FileError(message, limit=_MAX_PART)


def _chunk_shape(page: Any) -> tuple[int, int]:
    """Return rows and columns that are read together: a tile, or several strips."""
    from panfocus.io.tiff import part_shape

    rows, cols = part_shape(page)
    return rows if page.is_tiled else -(-_MIN_ROWS // rows) * rows, cols


def open_large_image(path: Path) -> ZarrImage:
    """Return an image that is larger than memory, of an OME-Zarr store or a TIFF; no pixel is read."""
    return read_tiled_tiff(path) if path.suffix.lower() in TIFF_SUFFIXES else read_ome_zarr(path)


def _omero(layout: Layout, samples: int, dtype: np.dtype[Any]) -> dict[str, Any] | None:
    """Return names, colours and OME attributes of channels in the form of NGFF; None if there are none."""
    channels: list[dict[str, str]] = []
    if layout.channels == 1 and samples in (3, 4):
        channels = [{"label": name, "color": colour} for name, colour in _RGBA.items()][:samples]
    elif samples == 1:
        acquisition = layout.acquisition
        details = acquisition.channel_details or ({},) * layout.channels
        colours = hex_colours(acquisition)
        for name, colour, attributes in zip(acquisition.channels, colours, details, strict=True):
            copied = {key: attributes[key] for key in OME_CHANNEL_ATTRIBUTES if key in attributes}
            channels.append({"label": name, "color": colour, **copied})
    channels = [{key: text for key, text in channel.items() if text} for channel in channels]
    if not any(channels):
        return None
    white = 1.0 if dtype.kind == "f" else int(np.iinfo(dtype).max)
    window = {"min": 0, "max": white, "start": 0, "end": white}
    return {"channels": [{"color": "FFFFFF", **channel, "window": window} for channel in channels]}


def _axes(layout: Layout, names: list[str]) -> tuple[Axis, ...]:
    acquisition = layout.acquisition
    left, top = layout.origin
    sizes = (
        ("z", acquisition.step, 0.0),
        ("y", acquisition.pixel_height, top),
        ("x", acquisition.pixel_width, left),
    )
    unit = to_ngff_unit(acquisition.unit)
    known = {name: Axis(name, unit, size, first) for name, size, first in sizes if size}
    if layout.interval:
        interval, time_unit = layout.interval
        known["t"] = Axis("t", to_ngff_unit(time_unit), interval)
    return tuple(known.get(name, Axis(name)) for name in names)
