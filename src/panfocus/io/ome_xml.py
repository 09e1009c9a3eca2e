"""OME-XML and ImageJ descriptions of microscopy TIFFs: axes, channels, pixel sizes and units."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from panfocus.errors import FileError
from panfocus.stack import Acquisition

_SCHEMA = "http://www.openmicroscopy.org/Schemas/OME/2016-06"
_PIXEL_TYPES = {"uint8": "uint8", "uint16": "uint16", "float32": "float", "float64": "double"}
_MAX_SIZE = 1 << 24  # places of an axis; a larger number is damage
OME_CHANNEL_ATTRIBUTES = (  # that a store keeps; NGFF has none for them
    *("EmissionWavelength", "EmissionWavelengthUnit", "ExcitationWavelength", "ExcitationWavelengthUnit"),
    *("Fluor", "AcquisitionMode", "ContrastMethod", "IlluminationType", "NDFilter"),
    *("PinholeSize", "PinholeSizeUnit"),
)
_OWN_CHANNEL_ATTRIBUTES = ("ID", "Name", "SamplesPerPixel")  # set for every file; others are copied
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_PREFIXES = {  # of the SI: symbol and power of ten
    "yocto": ("y", -24),
    "zepto": ("z", -21),
    "atto": ("a", -18),
    "femto": ("f", -15),
    "pico": ("p", -12),
    "nano": ("n", -9),
    "micro": ("µ", -6),
    "milli": ("m", -3),
    "centi": ("c", -2),
    "deci": ("d", -1),
    "": ("", 0),
    "hecto": ("h", 2),
    "kilo": ("k", 3),
    "mega": ("M", 6),
    "giga": ("G", 9),
    "tera": ("T", 12),
    "peta": ("P", 15),
    "exa": ("E", 18),
    "zetta": ("Z", 21),
    "yotta": ("Y", 24),
}
_LENGTHS = {f"{prefix}meter": f"{symbol}m" for prefix, (symbol, _) in _PREFIXES.items()}
_LENGTHS |= {"angstrom": "Å", "inch": "in", "foot": "ft", "yard": "yd", "mile": "mi", "parsec": "pc"}
_TIMES = {f"{prefix}second": f"{symbol}s" for prefix, (symbol, _) in _PREFIXES.items()}
_TIMES |= {"minute": "min", "hour": "h", "day": "d"}
_OME_SYMBOLS = _LENGTHS | _TIMES  # by the name in NGFF
_NGFF_NAMES = {symbol: name for name, symbol in _OME_SYMBOLS.items()}
_COMMON_NAMES = {  # names that programs write and neither standard has
    **dict.fromkeys(("um", "micron", "\\u00b5m", "μm"), "micrometer"),
    **{"inches": "inch", "feet": "foot", "sec": "second", "msec": "millisecond"},
}
_OME_ONLY_LENGTHS = ("dam", "thou", "li", "ua", "ly", "pt", "pixel", "reference frame")
_POWERS = {f"{symbol}m": power for symbol, power in _PREFIXES.values()} | {"Å": -10}


def to_ome_unit(unit: str) -> str:
    """Return the OME symbol of a unit by its NGFF or common name; an unknown unit is returned unchanged."""
    if unit in _NGFF_NAMES:
        return unit
    name = unit.strip().lower().replace("metre", "meter")
    names = (_COMMON_NAMES.get(each, each) for each in (name, name.removesuffix("s")))
    return next((_OME_SYMBOLS[each] for each in names if each in _OME_SYMBOLS), unit)


def to_ngff_unit(unit: str) -> str:
    """Return the NGFF name of a unit by its OME symbol; an unknown unit is returned unchanged."""
    return _NGFF_NAMES.get(unit, unit)


def is_ome_length(unit: str) -> bool:
    """Return whether OME has this unit of length."""
    return unit in _OME_ONLY_LENGTHS or to_ome_unit(unit) in _LENGTHS.values()


def is_time_unit(unit: str | None) -> bool:
    """Return whether a unit is a unit of time."""
    return unit is not None and to_ome_unit(unit) in _TIMES.values()


def ome_length_unit(unit: str) -> str:
    """Return the OME symbol of a length; "reference frame" for a unit that OME lacks.

    A missing unit would be understood as micrometres.
    """
    return to_ome_unit(unit) if is_ome_length(unit) else "reference frame"


def convert_length(length: float, unit: str, to: str) -> float | None:
    """Return a length in another unit, both as OME symbols; None if the ratio is unknown."""
    if unit == to:
        return length
    if unit not in _POWERS or to not in _POWERS:
        return None
    power = _POWERS[unit] - _POWERS[to]
    return length * 10.0**power if power >= 0 else length / 10.0**-power  # exact: 500 nm is 0.5 µm


@dataclass(frozen=True)
class Layout:
    """Which page of a file holds which channel of which slice at which time."""

    slices: int
    channels: int
    times: int
    pages: Mapping[tuple[int, int, int], int]  # by slice, channel and time, from 0
    acquisition: Acquisition
    interval: tuple[float, str] | None = None  # between time points, and its unit
    origin: tuple[float, float] = (0.0, 0.0)  # x and y of the first pixel, in the unit of the pixel sizes
    other_images: tuple[str, ...] = ()  # names or numbers of images in the file that are not read

    def select(self, channel: int | None, time: int | None) -> tuple[list[tuple[int, ...]], Acquisition]:
        """Return the pages of every slice, one per channel, and the acquisition of these channels."""
        channels, t = select_channels(channel, time, self.channels, self.times)
        pages = [tuple(self.pages[z, c, t] for c in channels) for z in range(self.slices)]
        return pages, self.acquisition.of_channels(channels)


def select_channels(
    channel: int | None, time: int | None, n_channels: int, n_times: int
) -> tuple[Sequence[int], int]:
    """Return the numbers, from 0, of one channel or all, and of one time point.

    The arguments are counted from 1, as in microscopy software.
    """
    check_selection(channel, time, n_channels, n_times)
    if n_times > 1 and time is None:
        raise FileError(f"The file has {n_times} time points.", hint="choose_time", setting="time")
    return range(n_channels) if channel is None else [channel - 1], (time or 1) - 1


def check_selection(channel: int | None, time: int | None, n_channels: int, n_times: int) -> None:
    """Raise if a file lacks a channel or a time point, both counted from 1."""
    for setting, number, count, noun in (
        ("channel", channel, n_channels, "channel"),
        ("time", time, n_times, "time point"),
    ):
        if number is not None and not 1 <= number <= count:
            message = f"`{setting}` must be 1 to {count}, the number of {noun}s, got {number}."
            raise FileError(message, setting=setting, got=number)


def make_acquisition(
    channels: Sequence[str],
    sizes: Mapping[str, tuple[float, str]],
    *,
    name: str = "",
    details: Sequence[Mapping[str, str]] = (),
) -> Acquisition:
    """Return channel names and pixel sizes; `sizes` has size and unit by axis, returned in one unit."""
    acquisition = Acquisition(tuple(channels), name=name, channel_details=tuple(map(dict, details)))
    if not sizes:
        return acquisition
    unit = next(iter(sizes.values()))[1]
    converted = {axis: convert_length(size, of, unit) for axis, (size, of) in sizes.items()}
    if None in converted.values():
        return acquisition
    return replace(
        acquisition,
        pixel_width=converted.get("x"),
        pixel_height=converted.get("y"),
        step=converted.get("z"),
        unit=unit,
    )


def hex_colours(acquisition: Acquisition) -> list[str]:
    """Return RRGGBB of every channel, an empty text where the colour is unknown."""
    details = acquisition.channel_details or ({},) * len(acquisition.channels)
    return [_hex_colour(each.get("Color", "")) for each in details]


def ome_colour(rgb: str) -> str:
    """Return OME's form of RRGGBB: RGBA as a signed integer of 32 bits."""
    return str(int.from_bytes(bytes.fromhex(f"{rgb}FF"), signed=True))


def _hex_colour(colour: str) -> str:
    if not re.fullmatch(r"-?\d{1,10}", colour) or not -(1 << 31) <= int(colour) < 1 << 31:
        return ""
    return int(colour).to_bytes(4, signed=True)[:3].hex().upper()


def read_ome(xml: str, samples: Sequence[int]) -> Layout:
    """Parse OME-XML of a file; `samples` has the samples per pixel of each page.

    Sizes are accepted only up to the number of pages. If there are several images, the only one with several
    slices is read; others are labels and overviews.
    """
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise FileError("Document type declarations in OME-XML are not supported.", problem="doctype")
    image, others = _find_stack(ElementTree.fromstring(xml))
    pixels = next(_children(image, "Pixels"))
    sizes = {axis: _count(pixels.get(f"Size{axis}", "1")) for axis in "CZT"}
    n_pages = len(samples)
    block = next(_children(pixels, "TiffData"), None)
    first_page = _count(block.get("IFD", "0"), least=0) if block is not None else 0
    sizes["C"] = max(1, sizes["C"] // samples[min(first_page, n_pages - 1)])
    _check_page_count(sizes["C"] * sizes["Z"] * sizes["T"], n_pages, "Save all pages in one file.")
    channels = [dict(channel.attrib) for channel in _children(pixels, "Channel")][: sizes["C"]]
    channels += [{}] * (sizes["C"] - len(channels))
    physical = {
        axis.lower(): (size, to_ome_unit(pixels.get(f"PhysicalSize{axis}Unit", "µm")))
        for axis in "XYZ"
        if (size := _positive(pixels.get(f"PhysicalSize{axis}")))
    }
    details = [
        {key: text for key, text in channel.items() if key not in _OWN_CHANNEL_ATTRIBUTES and "{" not in key}
        for channel in channels
    ]
    acquisition = make_acquisition(
        [channel.get("Name", "") for channel in channels],
        physical,
        name=image.get("Name", ""),
        details=details if any(details) else (),
    )
    interval = _positive(pixels.get("TimeIncrement"))
    return Layout(
        sizes["Z"],
        sizes["C"],
        sizes["T"],
        _find_pages(pixels, sizes, n_pages),
        acquisition,
        interval=(interval, to_ome_unit(pixels.get("TimeIncrementUnit", "s"))) if interval else None,
        origin=_origin(pixels, acquisition),
        other_images=others,
    )


def _children(element: Element, name: str) -> Iterator[Element]:
    """Yield elements below by their name, in any namespace."""
    return (child for child in element.iter() if child.tag.rpartition("}")[2] == name)


def _find_stack(root: Element) -> tuple[Element, tuple[str, ...]]:
    """Return the image with several slices, or the only image, and the names of the others."""
    images = [image for image in _children(root, "Image") if len([*_children(image, "Pixels")]) == 1]
    n_images = len([*_children(root, "Pixels")])
    if n_images == 1 and images:
        return images[0], ()
    stacks = [image for image in images if _count(next(_children(image, "Pixels")).get("SizeZ", "1")) > 1]
    if len(stacks) != 1 or len(images) != n_images:
        raise FileError(
            f"The file contains {n_images} OME images, {len(stacks)} of them with several slices; one is "
            "needed. Save that image as a separate file, for example with bfconvert -series N.",
            got=n_images,
        )
    if stacks[0] is not images[0] and not any(block.get("IFD") for block in _children(stacks[0], "TiffData")):
        raise FileError("The OME-XML does not say which pages are the slices.", problem="pages")
    return stacks[0], tuple(
        image.get("Name") or f"image {number}"
        for number, image in enumerate(images, start=1)
        if image is not stacks[0]
    )


def _check_page_count(described: int, n_pages: int, remedy: str) -> None:
    if described > n_pages:
        message = f"The file describes {described} pages but has {n_pages}. {remedy}"
        raise FileError(message, needed=described, got=n_pages)


def _origin(pixels: Element, acquisition: Acquisition) -> tuple[float, float]:
    """Return x and y of the first plane; 0 without a known unit of length."""
    plane = next(_children(pixels, "Plane"), None)
    if plane is None or not acquisition.pixel_width:
        return 0.0, 0.0
    x, y = (
        convert_length(
            _number(plane.get(f"Position{axis}")),
            to_ome_unit(plane.get(f"Position{axis}Unit", "")),
            acquisition.unit,
        )
        for axis in "XY"
    )
    return x or 0.0, y or 0.0


def _find_pages(pixels: Element, sizes: Mapping[str, int], n_pages: int) -> dict[tuple[int, int, int], int]:
    """Return the page of each plane, by slice, channel and time."""
    order = pixels.get("DimensionOrder", "XYCZT")[2:]
    axes = order if sorted(order) == ["C", "T", "Z"] else "CZT"
    strides, total = {}, 1
    for axis in axes:
        strides[axis] = total
        total *= sizes[axis]
    page_of: dict[int, int] = {}  # by the plane's number in the order of the axes
    for block in [*_children(pixels, "TiffData")] or [Element("TiffData")]:
        first = sum(strides[axis] * _count(block.get(f"First{axis}", "0"), least=0) for axis in axes)
        page = _count(block.get("IFD", "0"), least=0)
        count = _count(block.get("PlaneCount", "1" if "IFD" in block.attrib else str(total)))
        page_of |= {first + i: page + i for i in range(min(count, total - first))}
    pages = {}
    for z, c, t in product(range(sizes["Z"]), range(sizes["C"]), range(sizes["T"])):
        page = page_of.get(z * strides["Z"] + c * strides["C"] + t * strides["T"], n_pages)
        if page >= n_pages:
            message = f"The OME-XML names no page for slice {z + 1}, channel {c + 1}. Save all in one file."
            raise FileError(message, slice=z + 1, channel=c + 1)
        pages[z, c, t] = page
    return pages


def read_imagej(
    description: Mapping[str, Any], n_pages: int, pixels_per_unit: tuple[float, float] | None
) -> Layout:
    """Parse ImageJ's description of a file of n pages."""
    channels, slices, times = (
        _count(str(description.get(name, 1))) for name in ("channels", "slices", "frames")
    )
    if channels * slices * times == 1:
        slices = _count(str(description.get("images", 1)))
    # ImageJ writes stacks above 4 GB with a single page.
    _check_page_count(channels * slices * times, n_pages, "Save it as OME-TIFF.")
    pages = {
        (z, c, t): c + channels * (z + slices * t)
        for z, c, t in product(range(slices), range(channels), range(times))
    }
    tables = list(description.get("LUTs") or [])  # (3, 256) each; the last colour is the brightest
    details = [{"Color": ome_colour(bytes(table[:, -1]).hex())} for table in tables]
    acquisition = Acquisition(
        ("",) * channels, channel_details=tuple(details) if len(details) == channels else ()
    )
    unit = to_ome_unit(str(description.get("unit", "")))
    if unit and unit not in ("pixel", "pixels") and pixels_per_unit:
        across, down = (1 / each for each in pixels_per_unit)
        step = _positive(str(description.get("spacing", "")))
        acquisition = replace(acquisition, pixel_width=across, pixel_height=down, step=step, unit=unit)
    interval = _positive(str(description.get("finterval", "")))
    time_unit = to_ome_unit(str(description.get("tunit", "s")))
    return Layout(
        slices, channels, times, pages, acquisition, interval=(interval, time_unit) if interval else None
    )


def _count(text: str, *, least: int = 1) -> int:
    if not text.isdecimal() or not least <= int(text) <= _MAX_SIZE:
        raise FileError(f"The axes are damaged: {text!r} is not a number of pages.", got=text)
    return int(text)


def _number(text: str | None) -> float:
    try:
        number = float(text or "")
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def _positive(text: str | None) -> float | None:
    return max(0.0, _number(text)) or None


def build_ome_xml(
    dtype: np.dtype[Any],
    sizes: Mapping[str, int],
    acquisition: Acquisition,
    *,
    samples: int = 1,
    interval: tuple[float, str] | None = None,
    planes: Sequence[Mapping[str, str]] = (),
    description: str = "",
) -> str:
    """Return OME-XML, in ASCII, of an image whose pages follow each other in the order of `sizes`.

    Parameters
    ----------
    dtype : dtype
        Of the pixels.
    sizes : mapping
        Places of the axes T, C, Z, Y, X in the order of the array, the last varying fastest. C counts the
        channels, not the samples.
    acquisition : Acquisition
        Pixel sizes, names and attributes of channels.
    samples : int
        Samples per pixel, 3 for RGB.
    interval : (float, str), optional
        Time between time points and its unit.
    planes : sequence of mappings
        Attributes of each plane.
    description : str
        Text on the image.
    """
    order = "".join(reversed([axis for axis in sizes if axis not in "YX"]))
    order += "".join(axis for axis in "CZT" if axis not in order)
    full = {axis: sizes.get(axis, 1) for axis in "XYCZT"}
    root = Element("OME", {"xmlns": _SCHEMA, "Creator": "panfocus"})
    root.set("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance")
    root.set("xsi:schemaLocation", f"{_SCHEMA} {_SCHEMA}/ome.xsd")
    image = SubElement(root, "Image", {"ID": "Image:0"} | _text_attribute("Name", acquisition.name))
    if description:
        SubElement(image, "Description").text = _NOT_XML.sub("", description)
    pixels = SubElement(image, "Pixels", {"ID": "Pixels:0", "DimensionOrder": f"XY{order}"})
    pixels.set("Type", _PIXEL_TYPES[dtype.name])
    for axis, n in full.items():
        pixels.set(f"Size{axis}", str(n * samples if axis == "C" else n))
    for axis, size in (("X", acquisition.pixel_width), ("Y", acquisition.pixel_height)):
        if size is not None:
            pixels.set(f"PhysicalSize{axis}", repr(size))
            pixels.set(f"PhysicalSize{axis}Unit", ome_length_unit(acquisition.unit))
    if interval:
        pixels.set("TimeIncrement", repr(interval[0]))
        pixels.set("TimeIncrementUnit", to_ome_unit(interval[1]))
    details = acquisition.channel_details or ({},) * full["C"]
    names = acquisition.channels if len(acquisition.channels) == full["C"] else ("",) * full["C"]
    for number, (name, more) in enumerate(zip(names, details, strict=False)):
        attributes = {"ID": f"Channel:0:{number}", "SamplesPerPixel": str(samples)}
        copied = {key: _NOT_XML.sub("", text) for key, text in more.items()}
        SubElement(pixels, "Channel", attributes | _text_attribute("Name", name) | copied)
    n_planes = full["C"] * full["Z"] * full["T"]
    SubElement(pixels, "TiffData", {"IFD": "0", "PlaneCount": str(n_planes)})
    for plane in planes:
        SubElement(pixels, "Plane", dict(plane))
    text = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=False).decode()
    return f'<?xml version="1.0" encoding="UTF-8"?>{text}'


def _text_attribute(key: str, text: str) -> dict[str, str]:
    return {key: _NOT_XML.sub("", text)} if text else {}
