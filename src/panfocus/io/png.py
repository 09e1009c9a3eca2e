"""PNG to array and back, 8 and 16 bit alike (Pillow would cut 16-bit colour down to 8)."""

import io
import os
import struct
import zlib
from dataclasses import replace
from typing import Any, BinaryIO

import imagecodecs
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG, Frame, check_pixel_count, turn_upright

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_END_OF_HEADER = len(PNG_SIGNATURE) + 25  # the IHDR chunk: 12 bytes of frame around 13 of content
_MAX_PROFILE_BYTES = 16 << 20
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}  # by colour type; transparency adds one more

# Of a photograph, the differences that this filter leaves repeat only as runs. Searching them for more takes
# seven times as long and saves a fiftieth: docs/performance.md.
_RUNS, _PAETH = imagecodecs.PNG.STRATEGY.RLE, imagecodecs.PNG.FILTER.PAETH


def decode_png(data: bytes) -> Frame:
    """Decode a complete PNG; palettes and fewer than 8 bits a sample are expanded to 8-bit grey or RGB."""
    header = png_header(io.BytesIO(data))
    return replace(header, image=turn_upright(imagecodecs.png_decode(data), header.orientation))


def png_header(file: BinaryIO) -> Frame:
    """Return what `decode_png` will, with blank pixels."""
    chunks = _chunks(file)
    width, height, bits, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    check_pixel_count(width, height)
    if b"acTL" in chunks:
        raise FileError("animated; save its frames as separate files")
    exif = Image.Exif()
    exif.load(chunks.get(b"eXIf", b""))
    orientation = exif.get(ORIENTATION_TAG, 1)
    channels = _CHANNELS[kind] + (b"tRNS" in chunks)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return Frame(
        image=turn_upright(blank(shape, np.dtype(np.uint16 if bits == 16 else np.uint8)), orientation),
        orientation=orientation,
        icc_profile=_profile(chunks.get(b"iCCP")),
        has_exif=b"eXIf" in chunks,
    )


def encode_png(image: NDArray[Any], icc_profile: bytes | None = None) -> bytes:
    """Encode uint8 or uint16, (h, w) or (h, w, c) with 2 to 4 channels."""
    data = bytes(imagecodecs.png_encode(image, level=1, strategy=_RUNS, filter=_PAETH))
    if icc_profile is None:
        return data
    content = b"ICC profile\0\0" + zlib.compress(icc_profile)
    check = zlib.crc32(b"iCCP" + content)
    chunk = struct.pack(">I", len(content)) + b"iCCP" + content + struct.pack(">I", check)
    return data[:_END_OF_HEADER] + chunk + data[_END_OF_HEADER:]


def _chunks(file: BinaryIO) -> dict[bytes, bytes]:
    """Contents by chunk name up to IEND, which decoders do not miss when a file is cut just before it."""
    chunks: dict[bytes, bytes] = {}
    size = file.seek(0, os.SEEK_END)
    position = len(PNG_SIGNATURE)
    while b"IEND" not in chunks:
        if position + 12 > size:
            raise FileError("cut off before its end")
        file.seek(position)
        frame = file.read(8)
        length, name = int.from_bytes(frame[:4], "big"), frame[4:]
        if name != b"IDAT":  # the pixels are large and not wanted here
            chunks[name] = file.read(length)
        position += 12 + length
    if position > size:
        raise FileError("cut off before its end")
    return chunks


def _profile(chunk: bytes | None) -> bytes | None:
    """Unpack an iCCP chunk: name, zero, compression method, compressed profile."""
    if chunk is None:
        return None
    _, _, compressed = chunk.partition(b"\0")
    return zlib.decompressobj().decompress(compressed[1:], _MAX_PROFILE_BYTES)
