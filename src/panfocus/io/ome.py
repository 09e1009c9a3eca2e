"""Axes and pixel sizes of microscopes' TIFFs: OME's XML and ImageJ's lines, read; OME's, written."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import quoteattr, unescape

from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io.units import converted, of_ome, written_length
from panfocus.stack import Acquisition

_PIXEL_TYPES = {"uint8": "uint8", "uint16": "uint16", "float32": "float", "float64": "double"}
_LARGEST_SIZE = 1 << 24  # of an axis; more is damage
_PIXELS = re.compile(r"<(?:\w+:)?Pixels\s[^>]*>")
_TIFF_DATA = re.compile(r"<(?:\w+:)?TiffData\b[^>]*>")


@dataclass(frozen=True)
class Layout:
    """Which page holds which channel of which slice at which time."""

    slices: int
    channels: int
    times: int
    pages: Mapping[tuple[int, int, int], int]  # by slice, channel and time, from 0
    acquisition: Acquisition
    interval: tuple[float, str] | None = None  # from time point to time point, and its unit
    name: str = ""  # of the image
    colours: tuple[str, ...] = ()  # of the channels, RRGGBB; empty where none is told
    origin: tuple[float, float] = (0.0, 0.0)  # where its first pixel lies: x and y, in the unit of the sizes
    others: tuple[str, ...] = ()  # images in the same file that are left out, by name or number

    def chosen(self, channel: int | None, time: int | None) -> "Layout":
        """Return one channel or all, at one time; both are counted from 1 here, as microscopists do."""
        for option, number, count, what in (
            ("--channel", channel, self.channels, "channels"),
            ("--time", time, self.times, "time points"),
        ):
            if number is not None and not 1 <= number <= count:
                raise FileError(f"it has {count} {what}; {option} {number} is none of them")
        if self.times > 1 and time is None:
            raise FileError(
                f"its pages are of {self.times} time points; choose one by --time N, fuse each by "
                "--decisions shared, or, if they are a focus sweep, save them as slices"
            )
        wanted = range(self.channels) if channel is None else [channel - 1]
        pages = {
            (z, place, 0): self.pages[z, c, (time or 1) - 1]
            for z in range(self.slices)
            for place, c in enumerate(wanted)
        }
        names = tuple(self.acquisition.channels[c] for c in wanted)
        return Layout(self.slices, len(names), 1, pages, replace(self.acquisition, channels=names))

    def frames(self) -> list[tuple[int, ...]]:
        """Return the pages of every slice, one a channel."""
        return [tuple(self.pages[z, c, 0] for c in range(self.channels)) for z in range(self.slices)]


def read_ome(xml: str, samples: Sequence[int]) -> Layout:
    """Understand OME's description of a file, whose pages have so many samples a pixel.

    Sizes are believed only as far as there are pages; nothing is fetched, nothing allocated by them. Of
    several images the only one with several slices is taken: others are labels and overviews.
    """
    xml, others = _stack_among(xml)
    pixels = _attributes(_PIXELS.findall(xml)[0])
    sizes = {axis: _whole(pixels.get(f"Size{axis}", "1")) for axis in "CZT"}
    n_pages = len(samples)
    sizes["C"] = max(1, sizes["C"] // samples[min(_first_page(xml), n_pages - 1)])
    if sizes["C"] * sizes["Z"] * sizes["T"] > n_pages:
        raise FileError(
            f"its description promises {sizes['C'] * sizes['Z'] * sizes['T']} pages, it has {n_pages}; "
            "if the others are in further files, save all in one"
        )
    channels = [*map(_attributes, re.findall(r"<(?:\w+:)?Channel\s[^>]*>", xml))][: sizes["C"]]
    channels += [{}] * (sizes["C"] - len(channels))
    of_axes = {
        axis.lower(): (size, _unit(pixels.get(f"PhysicalSize{axis}Unit", "µm")))
        for axis in "XYZ"
        if (size := _positive(pixels.get(f"PhysicalSize{axis}")))
    }
    acquisition = acquired([_text(channel.get("Name", "")) for channel in channels], of_axes)
    interval = _positive(pixels.get("TimeIncrement"))
    return Layout(
        sizes["Z"],
        sizes["C"],
        sizes["T"],
        _ome_pages(xml, pixels.get("DimensionOrder", "XYCZT"), sizes, n_pages),
        acquisition,
        interval=(interval, _unit(pixels.get("TimeIncrementUnit", "s"))) if interval else None,
        name=_image_name(xml),
        colours=tuple(_colour(channel.get("Color", "")) for channel in channels),
        origin=_origin(xml, acquisition),
        others=others,
    )


def _stack_among(xml: str) -> tuple[str, tuple[str, ...]]:
    """Return the description of the image to be fused, and what others in the file are called."""
    n_images = len(_PIXELS.findall(xml))
    if n_images == 1:
        return xml, ()
    images = [part for part in re.split(r"(?=<(?:\w+:)?Image[\s>])", xml) if _PIXELS.search(part)]
    stacks = [part for part in images if _whole(_attributes(_PIXELS.findall(part)[0]).get("SizeZ", "1")) > 1]
    if len(stacks) != 1 or len(images) != n_images:
        raise FileError(
            f"it holds {n_images} images of OME, {len(stacks) or 'none'} of them with several slices; one is "
            "needed: save it as a file of its own, as bfconvert -series N of Bio-Formats does"
        )
    if stacks[0] is not images[0] and not re.search(r"TiffData\s[^>]*IFD", stacks[0]):
        raise FileError("its description does not say which pages are the slices; save it anew")
    return stacks[0], tuple(
        _image_name(part) or f"image {number}"
        for number, part in enumerate(images, start=1)
        if part is not stacks[0]
    )


def _image_name(xml: str) -> str:
    image = re.search(r"<(?:\w+:)?Image\s[^>]*>", xml)
    return _text(_attributes(image[0]).get("Name", "")) if image else ""


def _first_page(xml: str) -> int:
    """Return a page that holds pixels of the image."""
    block = _TIFF_DATA.search(xml)
    return _whole(_attributes(block[0]).get("IFD", "0"), least=0) if block else 0


def acquired(channels: Sequence[str], sizes: Mapping[str, tuple[float, str]]) -> Acquisition:
    """Tell names of channels and sizes of pixels, by axis and each with its unit, in one unit for all."""
    known = Acquisition(tuple(channels))
    if not sizes:
        return known
    unit = next(iter(sizes.values()))[1]
    found = {axis: converted(size, of, unit) for axis, (size, of) in sizes.items()}
    if None in found.values():
        return known
    return Acquisition(known.channels, found.get("x"), found.get("y"), found.get("z"), unit)


def _origin(xml: str, acquisition: Acquisition) -> tuple[float, float]:
    """Return where the first plane lies, if that is told in a unit of length; else it lies at 0."""
    plane = re.search(r"<(?:\w+:)?Plane\s[^>]*>", xml)
    said = _attributes(plane[0]) if plane and acquisition.pixel_width else {}
    x, y = (
        converted(
            _number(said.get(f"Position{axis}")), _unit(said.get(f"Position{axis}Unit", "")), acquisition.unit
        )
        for axis in "XY"
    )
    return x or 0.0, y or 0.0


def _colour(said: str) -> str:
    """Return RRGGBB of a colour as OME has it, RGBA in 32 bits with a sign; nothing if it is none."""
    if not re.fullmatch(r"-?\d{1,10}", said) or not -(1 << 31) <= int(said) < 1 << 31:
        return ""
    return int(said).to_bytes(4, signed=True)[:3].hex().upper()


def _ome_pages(
    xml: str, order: str, sizes: Mapping[str, int], n_pages: int
) -> dict[tuple[int, int, int], int]:
    axes = order[2:] if sorted(order[2:]) == ["C", "T", "Z"] else "CZT"
    strides, total = {}, 1
    for axis in axes:
        strides[axis] = total
        total *= sizes[axis]
    page_of: dict[int, int] = {}  # by the plane's number in the order of the axes
    blocks = _TIFF_DATA.findall(xml) or ["<TiffData/>"]
    for block in blocks:
        said = _attributes(block)
        first = sum(strides[axis] * _whole(said.get(f"First{axis}", "0"), least=0) for axis in axes)
        page = _whole(said.get("IFD", "0"), least=0)
        count = _whole(said.get("PlaneCount", "1" if "IFD" in said else str(total)))
        for i in range(min(count, total - first)):
            page_of[first + i] = page + i
    pages = {}
    for z in range(sizes["Z"]):
        for c in range(sizes["C"]):
            for t in range(sizes["T"]):
                page = page_of.get(z * strides["Z"] + c * strides["C"] + t * strides["T"], n_pages)
                if page >= n_pages:
                    raise FileError(
                        f"its description names no page for slice {z + 1}, channel {c + 1}; if that is in a "
                        "further file, save all in one"
                    )
                pages[z, c, t] = page
    return pages


def read_imagej(said: Mapping[str, Any], n_pages: int, pixels_per_unit: tuple[float, float] | None) -> Layout:
    """Understand ImageJ's description of a file of so many pages."""
    channels, slices, times = (_whole(str(said.get(name, 1))) for name in ("channels", "slices", "frames"))
    if channels * slices * times == 1:
        slices = _whole(str(said.get("images", 1)))
    if channels * slices * times > n_pages:
        raise FileError(
            f"its description promises {channels * slices * times} pages, it has {n_pages}; save it anew, by "
            "ImageJ as OME-TIFF if it is larger than 4 GB"
        )
    pages = {
        (z, c, t): c + channels * (z + slices * t)
        for z in range(slices)
        for c in range(channels)
        for t in range(times)
    }
    unit = _unit(str(said.get("unit", "")))
    acquisition = Acquisition(("",) * channels)
    if unit and unit not in ("pixel", "pixels") and pixels_per_unit:
        across, down = (1 / each for each in pixels_per_unit)
        step = _positive(str(said.get("spacing", "")))
        acquisition = Acquisition(("",) * channels, across, down, step, unit)
    interval = _positive(str(said.get("finterval", "")))
    tables = list(said.get("LUTs") or [])  # (3, 256) each: the last is the brightest
    return Layout(
        slices,
        channels,
        times,
        pages,
        acquisition,
        interval=(interval, of_ome(str(said.get("tunit", "s")))) if interval else None,
        colours=tuple(bytes(table[:, -1]).hex().upper() for table in tables)
        if len(tables) == channels
        else (),
    )


def _attributes(element: str) -> dict[str, str]:
    return {
        name: first or second
        for name, first, second in re.findall(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')""", element)
    }


def _whole(said: str, *, least: int = 1) -> int:
    if not said.isdecimal() or not least <= int(said) <= _LARGEST_SIZE:
        raise FileError(f"the description of its axes is damaged ({said!r} is no number of pages)")
    return int(said)


def _number(said: str | None) -> float:
    try:
        number = float(said or "")
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _positive(said: str | None) -> float | None:
    return max(0.0, _number(said)) or None


def _text(said: str) -> str:
    return unescape(said, {"&quot;": '"', "&apos;": "'"})


def _unit(said: str) -> str:
    said = re.sub(r"&#(\d{1,4});", lambda code: chr(int(code[1])), said)
    return of_ome(said)


def describe(acquisition: Acquisition, image: NDArray[Any]) -> str:
    """Return OME's description of a picture (h, w), (h, w, 3) or (h, w, channels), in ASCII."""
    height, width = image.shape[:2]
    samples = image.shape[2] if image.ndim == 3 and len(acquisition.channels) == 1 else 1
    sizes = "".join(
        f' PhysicalSize{axis}="{size!r}" PhysicalSize{axis}Unit={quoteattr(written_length(acquisition.unit))}'
        for axis, size in (("X", acquisition.pixel_width), ("Y", acquisition.pixel_height))
        if size is not None
    )
    channels = "".join(
        f'<Channel ID="Channel:0:{number}" SamplesPerPixel="{samples}"'
        + (f" Name={quoteattr(name)}" if name else "")
        + "/>"
        for number, name in enumerate(acquisition.channels)
    )
    xml = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 '
        'http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd" Creator="panfocus">'
        '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" '
        f'Type="{_PIXEL_TYPES[image.dtype.name]}" SizeX="{width}" SizeY="{height}" '
        f'SizeC="{len(acquisition.channels) * samples}" SizeZ="1" SizeT="1"{sizes}>'
        f"{channels}<TiffData/></Pixels></Image></OME>"
    )
    return xml.encode("ascii", "xmlcharrefreplace").decode()
