"""Depth maps as files: floats, 16 bits with their scale written beside them, or colours with a legend."""

import struct
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from panfocus._intensity import FloatArray
from panfocus.io.atomic_files import Content
from panfocus.io.png import encode_png
from panfocus.show.colormap import coloured, ramp

DEPTH_SUFFIXES = (".tif", ".tiff", ".png")

_END_OF_HEADER = 33  # of a PNG: its signature and the IHDR chunk
_N_TICKS = 5


def encode_depth(path: Path, depth: FloatArray, *, step: float, unit: str, level: float) -> Content:
    """Encode depth in frames as distances: float32 in a TIFF; in a PNG 16 bits, one `level` apart.

    What the values mean is written into the file; into a PNG as the texts DepthScale and DepthUnit, too.
    """
    if path.suffix.lower() == ".png":
        values = np.clip(np.rint(depth.astype(np.float64) * (step / level)), 0, 65535)
        described = f"depth from the first frame; a value times {level:.9g} is {unit}"
        return png_with_texts(
            encode_png(values.astype(np.uint16)),
            {"Description": described, "DepthScale": f"{level:.9g}", "DepthUnit": unit},
        )
    return partial(
        tifffile.imwrite,
        data=(depth.astype(np.float64) * step).astype(np.float32),
        photometric="minisblack",
        description=f"depth from the first frame, in {unit}",
        software="panfocus",
        metadata=None,
    )


def encode_depth_colours(depth: FloatArray, *, largest: float, step: float, unit: str) -> Content:
    """Encode depth in frames, 0 to `largest`, as a PNG in the colours of a ramp, with a legend beside it."""
    picture = coloured(depth / np.float32(largest))
    return encode_png(np.concatenate([picture, _legend(len(picture), largest * step, unit)], axis=1))


def png_with_texts(png: bytes, texts: Mapping[str, str]) -> bytes:
    """Put texts, Latin-1 as the format has it, into a PNG."""
    chunks = b""
    for key, text in texts.items():
        content = b"tEXt" + key.encode("latin-1") + b"\0" + text.encode("latin-1")
        chunks += struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return png[:_END_OF_HEADER] + chunks + png[_END_OF_HEADER:]


def _legend(height: int, largest: float, unit: str) -> NDArray[np.uint8]:
    """Draw the ramp from top, which is 0, to bottom, with values at its side; `height` pixels high."""
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
