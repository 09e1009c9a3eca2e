"""Tiled OME-TIFF of images larger than memory: read by rectangles; written, with smaller levels, by tiles."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import thread_count
from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG
from panfocus.io.atomic_files import Content
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.ome import Layout
from panfocus.io.ome_zarr import Axis, ZarrFrames, ZarrImage, read_ome_zarr
from panfocus.io.ome_zarr_writer import open_level
from panfocus.io.tiff_lzw import check_lzw
from panfocus.io.units import is_length_of_ome, is_time, of_ngff, of_ome, written_length
from panfocus.stack import Acquisition

TIFF_SUFFIXES = (".tif", ".tiff")
_COLOURS = {"red": "FF0000", "green": "00FF00", "blue": "0000FF", "alpha": "FFFFFF"}  # of a page in colour
_TILE_STEP = 16  # of which the sides of tiles are multiples
_LARGEST_PART = 1 << 24  # pixels that are decoded at once
_ROWS = 256  # that count as a part of pages in strips, at least


@dataclass(frozen=True)
class TiffImage(ZarrImage):
    """An image of slices in a TIFF, told like one of a store; `array` is not used."""

    pages: tuple[tuple[tuple[int, int], ...], ...] = ()  # page and sample, of each time and slice by channel
    samples: int = 1  # of a pixel; the last of 2 or 4 is alpha
    no_data: float = 0  # what tiles or strips that the file leaves out count as

    @property
    def has_alpha(self) -> bool:
        """Whether the last channel is the alpha of the pages' colours."""
        return self.samples in (2, 4) and self.length("c") == self.samples

    def count_missing(self, n_files: int) -> int:
        """Return how many tiles or strips the file leaves out."""
        from panfocus.io.tiff import open_tiff, page_of, parts_without_data

        used = {index for of_slice in self.pages for index, _ in of_slice}
        with add_path_to_errors(self.path), open_tiff(self.path) as (tiff, _):
            return sum(parts_without_data(page_of(tiff, index)) for index in used)

    def describe_missing(self, n: int) -> str:
        """Say what becomes of so many tiles or strips that are missing."""
        return f"{n} tiles or strips have no data; they count as {self.no_data:g}"

    def frames(self, time: int, channels: Sequence[int]) -> "TiffFrames":
        """Return the slices of one time point, with one channel or several."""
        return TiffFrames(self, time, channels)


class TiffFrames(ZarrFrames):
    """The same as of a store, of a TIFF: of each page only strips or tiles are decoded that are asked for."""

    image: TiffImage

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_tiff", "_busy")}

    @cached_property
    def _tiff(self) -> Any:
        import tifffile

        return tifffile.TiffFile(self.image.path)

    @cached_property
    def _busy(self) -> Any:
        return threading.Lock()  # the file has one position

    def _part(self, slices: range, channels: range, rows: slice, cols: slice) -> NDArray[Any]:
        """Read a rectangle (1, h, w, c) of channels that are samples of one page."""
        from panfocus.io.tiff import page_of

        told = [self.image.pages[self.time * len(self) + slices[0]][channel] for channel in channels]
        samples = slice(told[0][1], told[-1][1] + 1)
        spans = [range(n)[span] for n, span in zip(self.shape[1:3], (rows, cols), strict=True)]
        with self._busy:
            return _rectangle(page_of(self._tiff, told[0][0]), spans, samples)[np.newaxis]


def read_tiled_tiff(path: Path) -> TiffImage:
    """Look at a TIFF whose pages are slices, time points and channels; no pixel is read."""
    from panfocus.io.tiff import layout_of, left_out, open_tiff, page_header

    with add_path_to_errors(path), open_tiff(path) as (tiff, pages):
        layout = layout_of(tiff, pages) or Layout(
            len(pages), 1, 1, {(z, 0, 0): z for z in range(len(pages))}, Acquisition()
        )
        used = [pages[number] for number in sorted(set(layout.pages.values()))]
        first = page_header(used[0], sparse=True)
        for page in used:
            tag = page.tags.get(ORIENTATION_TAG)
            if page.axes not in ("YX", "YXS") or (tag and tag.value in range(2, 9)):
                raise FileError("its pages are turned, or their colours apart; save it otherwise")
            if page.shape != used[0].shape or page.dtype != used[0].dtype:
                raise FileError("its pages are not of one size and kind")
            if page.tilewidth * page.tilelength > _LARGEST_PART and page.is_tiled:
                raise FileError("its tiles are too large to be read in parts; save it in smaller ones")
            if (
                not (page.is_tiled or page.is_contiguous)
                and page.rowsperstrip * page.imagewidth > _LARGEST_PART
            ):
                raise FileError("its strips are too large to be read in parts; save it in tiles")
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
        parts = [_decoded_at_once(page) for page in used]
        chunk = {"c": samples, "y": max(rows for rows, _ in parts), "x": max(cols for _, cols in parts)}
        return TiffImage(
            path=path,
            array="",
            axes=axes,
            shape=tuple(lengths[axis.name] for axis in axes),
            chunks=tuple(chunk.get(axis.name, 1) for axis in axes),
            dtype=first.image.dtype,
            name=layout.name,
            omero=_shown(layout, samples, first.image.dtype),
            pages=numbers,
            samples=samples,
            no_data=used[0].nodata,
            notices=(f"not fused: {left_out(layout)}",) if layout.others else (),
        )


def _decoded_at_once(page: Any) -> tuple[int, int]:
    """Return rows and columns of a part: a tile, or whole strips; of plain pixels any rows can be read."""
    if page.is_tiled:
        return page.tilelength, page.tilewidth
    strip = 1 if page.is_contiguous else page.rowsperstrip
    return -(-_ROWS // strip) * strip, page.imagewidth


def open_large_image(path: Path) -> ZarrImage:
    """Look at an image that is larger than memory: a store, or a TIFF of slices."""
    return read_tiled_tiff(path) if path.suffix.lower() in TIFF_SUFFIXES else read_ome_zarr(path)


def _shown(layout: Layout, samples: int, dtype: np.dtype[Any]) -> dict[str, Any] | None:
    """Return how channels are called and shown, as NGFF has it; None if the file tells nothing of that."""
    if layout.channels == 1 and samples in (3, 4):
        told = [*_COLOURS.items()][:samples]
    elif samples == 1:
        told = [*zip(layout.acquisition.channels, layout.colours or [""] * layout.channels, strict=True)]
    else:
        told = []
    if not any(name or colour for name, colour in told):
        return None
    white = 1.0 if dtype.kind == "f" else int(np.iinfo(dtype).max)
    window = {"min": 0, "max": white, "start": 0, "end": white}
    return {
        "channels": [
            {**({"label": name} if name else {}), "color": colour or "FFFFFF", "window": window}
            for name, colour in told
        ]
    }


def _axes(layout: Layout, names: list[str]) -> tuple[Axis, ...]:
    told = layout.acquisition
    left, top = layout.origin
    sizes = (("z", told.step, 0.0), ("y", told.pixel_height, top), ("x", told.pixel_width, left))
    known = {name: Axis(name, of_ngff(told.unit), size, first) for name, size, first in sizes if size}
    if layout.interval:
        between, unit = layout.interval
        known["t"] = Axis("t", of_ngff(unit), between)
    return tuple(known.get(name, Axis(name)) for name in names)


def _rectangle(page: Any, spans: list[range], samples: slice) -> NDArray[Any]:
    """Decode what a rectangle (h, w, samples) of a page needs."""
    rows, cols = spans
    file = page.parent.filehandle
    decode = page.decode  # made at first sight, for which tifffile may read in the file
    part = np.full((len(rows), len(cols), samples.stop - samples.start), page.nodata, page.dtype)
    if page.is_contiguous and page.databytecounts[0]:
        stored = page.dtype.newbyteorder(page.parent.byteorder)
        pixel = stored.itemsize * page.samplesperpixel
        for y, row in enumerate(rows):
            file.seek(page.dataoffsets[0] + (row * page.imagewidth + cols.start) * pixel)
            line = np.frombuffer(file.read(len(cols) * pixel), stored)
            part[y] = line.reshape(len(cols), -1)[:, samples]
        return part
    height = page.tilelength if page.is_tiled else page.rowsperstrip
    width = page.tilewidth if page.is_tiled else page.imagewidth
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
        top, left = j * height, i * width
        down = range(max(rows.start, top), min(rows.stop, top + pixels.shape[1]))
        right = range(max(cols.start, left), min(cols.stop, left + pixels.shape[2]))
        part[
            down.start - rows.start : down.stop - rows.start,
            right.start - cols.start : right.stop - cols.start,
        ] = pixels[0, down.start - top : down.stop - top, right.start - left : right.stop - left, samples]
    return part


def write_store_as_tiff(store: Path) -> Content:
    """Return what a file is to hold: all levels of a store that panfocus has made."""
    return lambda file: _write(file, read_ome_zarr(store))


def describe_tiff_losses(image: ZarrImage) -> list[str]:
    """Say what OME-TIFF cannot have of an image: units of pixel sizes and time, times without a unit."""
    told = [(axis.name, str(axis.unit)) for axis in image.axes if axis.name in "tyx" and axis.unit]
    units = {unit for name, unit in told if not (is_time if name == "t" else is_length_of_ome)(unit)}
    said = [f"OME-TIFF does not have the unit {', '.join(sorted(units))}, which is left out"] if units else []
    time = image.axis("t")
    if time and not is_time(time.unit) and (time.scale, time.translation) != (1.0, 0.0):
        said.append("OME-TIFF has times in units of time only; step and start of the time axis are left out")
    return said


def _write(file: BinaryIO, image: ZarrImage) -> None:
    import tifffile

    n_levels = sum(1 for folder in image.path.iterdir() if folder.is_dir())
    with tifffile.TiffWriter(file, bigtiff=True, ome=True) as tiff:
        for number in range(n_levels):
            level = open_level(image.path, number)
            side = -(-max(level.chunks[-2:]) // _TILE_STEP) * _TILE_STEP
            tiff.write(
                _tiles(level, side),
                shape=level.shape,
                dtype=level.dtype,
                tile=(side, side),
                photometric="minisblack",
                compression="zlib",
                predictor=level.dtype.kind != "f" and level.dtype.itemsize <= 2,
                maxworkers=thread_count(),
                **(
                    {"subifds": n_levels - 1, "metadata": _described(image)}
                    if number == 0
                    else {"subfiletype": 1}
                ),
            )


def _tiles(level: Any, side: int) -> Iterator[NDArray[Any]]:
    """Yield the tiles of every plane; those at an edge are filled up."""
    height, width = level.shape[-2:]
    for at in np.ndindex(*level.shape[:-2]):
        for top, left in product(range(0, height, side), range(0, width, side)):
            part = np.asarray(level[(*at, slice(top, top + side), slice(left, left + side))])
            yield np.pad(part, [(0, side - length) for length in part.shape])


def _described(image: ZarrImage) -> dict[str, Any]:
    told = image.acquisition
    described: dict[str, Any] = {"axes": "".join(axis.name for axis in image.axes).upper()}
    for axis, size in (("X", told.pixel_width), ("Y", told.pixel_height)):
        if size is not None:
            described |= {f"PhysicalSize{axis}": size, f"PhysicalSize{axis}Unit": written_length(told.unit)}
    time = image.axis("t")
    if time and time.unit and is_time(time.unit):
        described |= {"TimeIncrement": time.scale, "TimeIncrementUnit": of_ome(time.unit)}
    if image.name:
        described["Name"] = image.name
    if planes := _planes(image):
        described["Plane"] = planes
    channels: dict[str, Any] = {}
    if any(told.channels):
        channels["Name"] = list(told.channels)
    if colours := _colours(image):
        channels["Color"] = colours
    return described | ({"Channel": channels} if channels else {})


def _planes(image: ZarrImage) -> dict[str, list[Any]]:
    """Return where and when every plane is, in their order; nothing where all begins at 0."""
    places = list(np.ndindex(*image.shape[:-2]))
    planes: dict[str, list[Any]] = {}
    for number, axis in enumerate(image.axes):
        if axis.name in "xy" and axis.translation:
            position = f"Position{axis.name.upper()}"
            planes[position] = [axis.translation] * len(places)
            if axis.unit:
                planes[f"{position}Unit"] = [written_length(axis.unit)] * len(places)
        if axis.name == "t" and axis.translation and axis.unit and is_time(axis.unit):
            planes["DeltaT"] = [axis.translation + axis.scale * place[number] for place in places]
            planes["DeltaTUnit"] = [of_ome(axis.unit)] * len(places)
    return planes


def _colours(image: ZarrImage) -> list[int]:
    """Return the colours of channels as OME has them: RGBA in 32 bits; nothing if one is not told."""
    channels = (image.omero or {}).get("channels") or []
    told = [str(channel.get("color") or "") for channel in channels if isinstance(channel, Mapping)]
    if len(told) != image.length("c") or not all(re.fullmatch("[0-9a-fA-F]{6}", colour) for colour in told):
        return []
    return [int.from_bytes(bytes.fromhex(f"{colour}FF"), signed=True) for colour in told]
