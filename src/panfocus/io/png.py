"""PNG to array and back, 8 and 16 bit alike (Pillow would cut 16-bit colour down to 8)."""

import struct
import zlib
from typing import Any

import imagecodecs
from numpy.typing import NDArray
from PIL import Image

from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG, Frame, check_pixel_count, turn_upright

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_END_OF_HEADER = len(PNG_SIGNATURE) + 25  # the IHDR chunk: 12 bytes of frame around 13 of content
_MAX_PROFILE_BYTES = 16 << 20


def decode_png(data: bytes) -> Frame:
    """Decode a complete PNG; palettes and fewer than 8 bits a sample are expanded to 8-bit grey or RGB."""
    chunks = _chunks(data)
    check_pixel_count(*struct.unpack(">II", chunks[b"IHDR"][:8]))
    if b"acTL" in chunks:
        raise FileError("animated; save its frames as separate files")
    exif = Image.Exif()
    exif.load(chunks.get(b"eXIf", b""))
    return Frame(
        image=turn_upright(imagecodecs.png_decode(data), exif.get(ORIENTATION_TAG, 1)),
        icc_profile=_profile(chunks.get(b"iCCP")),
        has_exif=b"eXIf" in chunks,
    )


def encode_png(image: NDArray[Any], icc_profile: bytes | None = None) -> bytes:
    """Encode uint8 or uint16, (h, w) or (h, w, c) with 2 to 4 channels."""
    data = bytes(imagecodecs.png_encode(image))
    if icc_profile is None:
        return data
    content = b"ICC profile\0\0" + zlib.compress(icc_profile)
    check = zlib.crc32(b"iCCP" + content)
    chunk = struct.pack(">I", len(content)) + b"iCCP" + content + struct.pack(">I", check)
    return data[:_END_OF_HEADER] + chunk + data[_END_OF_HEADER:]


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """Contents by chunk name up to IEND, which decoders do not miss when a file is cut just before it."""
    chunks: dict[bytes, bytes] = {}
    position = len(PNG_SIGNATURE)
    while b"IEND" not in chunks:
        if position + 12 > len(data):
            raise FileError("cut off before its end")
        length = int.from_bytes(data[position : position + 4], "big")
        name = data[position + 4 : position + 8]
        if name != b"IDAT":  # the pixels are large and not wanted here
            chunks[name] = data[position + 8 : position + 8 + length]
        position += 12 + length
    if position > len(data):
        raise FileError("cut off before its end")
    return chunks


def _profile(chunk: bytes | None) -> bytes | None:
    """Unpack an iCCP chunk: name, zero, compression method, compressed profile."""
    if chunk is None:
        return None
    _, _, compressed = chunk.partition(b"\0")
    return zlib.decompressobj().decompress(compressed[1:], _MAX_PROFILE_BYTES)
