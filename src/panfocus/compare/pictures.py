"""Images for the page: results, label maps and error maps as 8-bit WebP, small enough to embed."""

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._downscale import reduced, reduction
from panfocus._intensity import FloatArray, IntArray
from panfocus.compare.scoring import intensity_scale
from panfocus.io.jpeg_webp import encode_webp
from panfocus.metrics import matlab_gray

Pixels = NDArray[np.uint8]

_QUALITY = 90  # of 100; no visible difference at full size
MAX_SIDE = 2048  # pixels; larger images are reduced, the report folder has the exact files
ERROR_LIMIT = 16 / 255  # share of full scale; larger errors have the last colour of the map

# Okabe and Ito's colours for every type of colour vision (the yellow darker, for white ground), and four
# more.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a800", "#888888",
    "#7a3fa0", "#8c5a2b", "#2f9e1f", "#d81b4e",
)  # fmt: skip
# Evenly spaced anchors of a ramp from dark to bright.
_RAMP = ("#000004", "#420a68", "#932667", "#dd513a", "#fca50a", "#fcffa4")


@dataclass(frozen=True)
class Picture:
    """An encoded image and its displayed size."""

    webp: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """Data URL that embeds the image in a page."""
        return data_url(self.webp, "image/webp")


def data_url(data: bytes, kind: str) -> str:
    """Return a URL that contains data of a media type."""
    return f"data:{kind};base64,{b64encode(data).decode()}"


def encode_photo(image: NDArray[Any], data_range: float | None = None) -> Picture:
    """Encode a source, result or reference with 8 bits and without alpha.

    `data_range` is the value of white, by default the maximum of the type.
    """
    colours = image if image.ndim == 2 or image.shape[2] in (1, 3) else image[..., :-1]
    unit = intensity_scale(image, data_range).to_unit(colours)
    return encode_picture(_to_8_bit(_reduce(unit)), quality=_QUALITY)


def encode_label_map(labels: IntArray, n_frames: int) -> Picture:
    """Encode a label map in the colours of `label_colours`."""
    palette = np.array([_rgb(colour) for colour in label_colours(n_frames)], np.uint8)
    step = reduction(labels.shape, MAX_SIDE)
    return encode_picture(palette[labels[::step, ::step]])


def encode_error_map(
    image: NDArray[Any], reference: NDArray[Any], data_range: float | None = None
) -> Picture:
    """Encode the absolute grey difference, from 0 to `ERROR_LIMIT`, in the colours of `ramp`."""
    unit = intensity_scale(image, data_range).to_unit
    error = np.abs(unit(matlab_gray(image)) - unit(matlab_gray(reference)))
    level = _to_8_bit(_reduce(error) / ERROR_LIMIT)
    return encode_picture(np.array([_rgb(colour) for colour in ramp(256)], np.uint8)[level])


def label_colours(n_frames: int) -> list[str]:
    """Return one colour per frame; for long stacks from dark to bright in order."""
    return list(COLOURS[:n_frames]) if n_frames <= len(COLOURS) else ramp(n_frames)


def ramp(n: int) -> list[str]:
    """Return n colours from dark to bright."""
    anchors = np.array([_rgb(colour) for colour in _RAMP])
    places = np.linspace(0, len(anchors) - 1, n)
    channels = [np.interp(places, np.arange(len(anchors)), channel) for channel in anchors.T]
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in np.rint(np.stack(channels, axis=1)).astype(int)]


def encode_picture(image: Pixels, *, quality: int | None = None) -> Picture:
    """Encode an 8-bit image as WebP, without loss unless a quality is given."""
    plane = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    return Picture(encode_webp(plane, quality=quality), width=image.shape[1], height=image.shape[0])


def _reduce(unit: FloatArray) -> FloatArray:
    return reduced(unit, reduction(unit.shape, MAX_SIDE))


def _to_8_bit(unit: FloatArray) -> Pixels:
    return np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
