"""Picture of a depth map in colour, with a legend."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from panfocus._intensity import FloatArray
from panfocus.show.colormap import coloured, ramp

_N_TICKS = 5  # labels of the legend


def colour_depth(depth: FloatArray, *, largest: float, step: float, unit: str) -> NDArray[np.uint8]:
    """Return depth in frames, 0 to `largest`, as an RGB picture with a legend on its right side.

    The legend is in `unit`; frames are `step` units apart.
    """
    picture = coloured(depth / np.float32(largest))
    return np.concatenate([picture, _draw_legend(len(picture), largest * step, unit)], axis=1)


def _draw_legend(height: int, largest: float, unit: str) -> NDArray[np.uint8]:
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
