"""8-bit pictures of images and maps: colour map, grey values, thumbnails, depth with a legend.

The colour map is perceptually uniform: equal steps look equally large, also in grey.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from panfocus._downscale import reduced, reduction
from panfocus._intensity import FloatArray, IntArray, IntensityScale
from panfocus.stack import colours

Pixels = NDArray[np.uint8]

# Range of lightness, hue in degrees, and largest chroma in Ottosson's Oklab: from dark violet through blue
# and green to bright yellow.
LIGHTNESS, HUE, CHROMA = (0.22, 0.94), (300.0, 105.0), 0.13

# Matrices of Oklab: to the cube roots of cone responses, and from cone responses to linear sRGB.
_TO_ROOTS = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


@cache
def ramp() -> Pixels:
    """Return the 256 colours (256, 3) of the colour map, dark to bright."""
    share = np.linspace(0, 1, 256)
    lightness = LIGHTNESS[0] + share * (LIGHTNESS[1] - LIGHTNESS[0])
    hue = np.deg2rad(HUE[0] + share * (HUE[1] - HUE[0]))
    # Bisect for the largest chroma that sRGB can show.
    low, high = np.zeros(256), np.full(256, 2 * CHROMA)
    for _ in range(30):
        chroma = np.minimum((low + high) / 2, CHROMA)
        linear = _linear(lightness, hue, chroma)
        fits = (linear.min(axis=1) >= 0) & (linear.max(axis=1) <= 1)
        low, high = np.where(fits, (low + high) / 2, low), np.where(fits, high, (low + high) / 2)
    linear = np.clip(_linear(lightness, hue, np.minimum(low, CHROMA)), 0, 1)
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(255 * srgb), np.uint8)


def to_bytes(unit: NDArray[Any]) -> Pixels:
    """Return values from 0 to 1 as 0 to 255; values outside are clipped, NaN becomes 0."""
    return np.asarray(np.rint(255 * np.nan_to_num(np.clip(unit, 0, 1))).astype(np.uint8))


def apply_colormap(unit: NDArray[Any]) -> Pixels:
    """Return the colours of values from 0 to 1; values outside are clipped."""
    return np.asarray(ramp()[to_bytes(unit)])


def _linear(lightness: NDArray[Any], hue: NDArray[Any], chroma: NDArray[Any]) -> NDArray[Any]:
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], axis=1)
    return np.asarray((lab @ _TO_ROOTS.T) ** 3 @ _TO_LINEAR.T)


# Colours of a mask: transparent where false; where true, a colour that neither map nor photographs have.
MASK_COLOURS = np.array([[0, 0, 0, 0], [255, 0, 128, 255]], np.uint8)


def white_of(image: NDArray[Any]) -> float:
    """Return the value to show as white: 255 for 8 bits, otherwise the 99.9th percentile.

    Files with 16 bits may use only 12 of them.
    """
    if image.dtype == np.uint8:
        return 255.0
    bright = float(np.percentile(colours(image), 99.9))
    return bright if bright > 0 else IntensityScale.of(image.dtype).white


def picture(part: NDArray[Any], white: float) -> Pixels:
    """Return an image (h, w) or (h, w, c) as grey (h, w) or colour (h, w, 3), without alpha."""
    seen = colours(part)
    seen = seen[..., 0] if seen.shape[2] < 3 else seen[..., :3]
    if part.dtype == np.uint8:
        return np.ascontiguousarray(seen)
    bright = np.float32(255 / white) * seen.astype(np.float32)
    return np.ascontiguousarray(np.rint(np.clip(bright, 0, 255)), np.uint8)


def label_colours(labels: IntArray, n_frames: int) -> Pixels:
    """Return the colours (h, w, 3) of labels: the first frame is dark, the last is bright."""
    return np.take(ramp(), ramp_shades(labels, n_frames), axis=0)


def ramp_shades(values: FloatArray | IntArray, n_frames: int) -> Pixels:
    """Return the index in the colour map of labels, or of depths in frames; NaN counts as 0."""
    shades = np.rint(np.nan_to_num(values) * (255 / max(1, n_frames - 1)))
    return np.asarray(np.clip(shades, 0, 255), np.uint8)


def make_thumbnail(image: NDArray[Any], largest: int) -> Pixels:
    """Return a picture (h, w, 3) with sides of at most `largest` pixels, without alpha.

    Images with more than 8 bits are brightened so that the 99.9th percentile is white.
    """
    small = colours(reduced(image, reduction(image.shape, largest)))
    unit = IntensityScale.of(image.dtype).to_unit(small)
    if image.dtype != np.uint8:
        unit = unit / (np.percentile(unit, 99.9) or 1.0)
    pixels = to_bytes(unit)
    return np.ascontiguousarray(
        pixels[..., :3] if pixels.shape[2] >= 3 else np.repeat(pixels[..., :1], 3, axis=2)
    )


_N_TICKS = 5  # labels of the legend


def colour_depth(depth: FloatArray, *, largest: float, step: float, unit: str) -> Pixels:
    """Return depth in frames, 0 to `largest`, as an RGB picture with a legend on its right side.

    The legend is in `unit`; frames are `step` units apart.
    """
    picture = apply_colormap(depth / np.float32(largest))
    return np.concatenate([picture, _draw_legend(len(picture), largest * step, unit)], axis=1)


def _draw_legend(height: int, largest: float, unit: str) -> Pixels:
    """Return a picture of the colour map, `height` pixels high, from 0 at the top down to `largest`."""
    size = int(np.clip(height / 30, 10, 60))
    font = ImageFont.load_default(size=size)
    texts = [f"{largest * i / (_N_TICKS - 1):.4g} {unit}" for i in range(_N_TICKS)]
    room = max(int(font.getlength(text)) for text in texts)
    legend = Image.new("RGB", (4 * size + room, height), "white")
    top, bottom = size, max(size + 1, height - size)
    shades = np.linspace(0, 255, bottom - top).astype(np.uint8)
    bar = np.repeat(ramp()[shades][:, None], 2 * size, axis=1)
    legend.paste(Image.fromarray(bar), (size // 2, top))
    draw = ImageDraw.Draw(legend)
    for i, text in enumerate(texts):
        y = top + (bottom - top - 1) * i // (_N_TICKS - 1)
        draw.line([(size // 2 + 2 * size, y), (3 * size - 1, y)], fill="black", width=max(1, size // 12))
        draw.text((int(3.3 * size), y), text, fill="black", font=font, anchor="lm")
    return np.asarray(legend)
