"""PNG, 8 and 16 bits, through imagecodecs (Pillow would reduce 16-bit colour to 8 bits)."""

import io
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, BinaryIO

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.io._frame import ANIMATED, Frame, check_pixel_count, turn_upright
from panfocus.io.metadata import collect_metadata, exif_for_file, xmp_for_file
from panfocus.stack import NO_METADATA, Metadata, Resolution

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_END_OF_HEADER = len(PNG_SIGNATURE) + 25  # the IHDR chunk: 13 bytes of content and 12 around them
_MAX_UNPACKED = 16 << 20  # bytes of a profile or of XMP data
_MAX_CHUNK = 16 << 20  # bytes of any chunk but the pixels
_COLOUR = (b"cICP", b"sRGB", b"gAMA", b"cHRM", b"sBIT")  # chunks that are copied unchanged
_TEXT = (b"tEXt", b"zTXt", b"iTXt")
_XMP_KEY = b"XML:com.adobe.xmp"
_PER_METRE = 1  # unit of a resolution
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}  # by colour type; transparency adds one

# After this filter, photographs repeat only as runs. A search for more takes seven times as long and saves
# 2 %: docs/performance.md.
_RUNS, _PAETH = imagecodecs.PNG.STRATEGY.RLE, imagecodecs.PNG.FILTER.PAETH


def decode_png(data: bytes) -> Frame:
    """Decode a PNG; palettes and fewer than 8 bits become 8-bit grey or RGB."""
    header = read_png_header(io.BytesIO(data))
    return replace(header, image=turn_upright(imagecodecs.png_decode(data), header.orientation))


def read_png_header(file: BinaryIO) -> Frame:
    """Return the frame that `decode_png` returns, with blank pixels."""
    chunks = _read_chunks(file)
    width, height, bits, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    check_pixel_count(width, height)
    if b"acTL" in chunks:
        raise FileError(ANIMATED, problem="animated")
    metadata, orientation, taken = collect_metadata(
        chunks.get(b"eXIf"),
        _unpack_text(chunks[_XMP_KEY]) if _XMP_KEY in chunks else None,
        _resolution(chunks.get(b"pHYs")),
        left_behind=["texts"] if any(name in chunks for name in _TEXT) else [],
    )
    channels = _CHANNELS[kind] + (b"tRNS" in chunks)
    shape = (height, width) if channels == 1 else (height, width, channels)
    colour = [(name, chunks[name]) for name in _COLOUR if name in chunks]
    return Frame(
        image=turn_upright(blank(shape, np.dtype(np.uint16 if bits == 16 else np.uint8)), orientation),
        orientation=orientation,
        icc_profile=_profile(chunks.get(b"iCCP")),
        taken=taken,
        metadata=replace(metadata, png_colour=_extend_significant_bits(colour, channels)),
    )


def encode_png(
    image: NDArray[Any], icc_profile: bytes | None = None, metadata: Metadata = NO_METADATA
) -> bytes:
    """Encode uint8 or uint16, (h, w) or (h, w, c) with 2 to 4 channels."""
    data = bytes(imagecodecs.png_encode(image, level=1, strategy=_RUNS, filter=_PAETH))
    height, width = image.shape[:2]
    chunks = list(metadata.png_colour)
    if icc_profile is not None:
        chunks.append((b"iCCP", b"ICC profile\0\0" + zlib.compress(icc_profile)))
    if metadata.resolution:
        chunks.append((b"pHYs", _pack_resolution(metadata.resolution)))
    exif, _ = exif_for_file(metadata, ".png", width, height)
    if exif:
        chunks.append((b"eXIf", exif.to_bytes()))
    if xmp := xmp_for_file(metadata, ".png", width, height):
        chunks.append((b"iTXt", _XMP_KEY + bytes(5) + xmp))  # not compressed, no language
    return _insert_chunks(data, chunks)


def encode_indexed_png(indices: NDArray[np.uint8], colours: NDArray[np.uint8]) -> bytes:
    """Encode a map (h, w) of indices into a table of colours (n, 3), or (n, 4) with alpha.

    The pixels are encoded as grey, which is fast. The header is then changed to a palette.
    """
    data = bytes(imagecodecs.png_encode(indices, level=1, strategy=_RUNS, filter=_PAETH))
    start = len(PNG_SIGNATURE) + 8
    kind = start + 9  # offset of the colour type
    header = data[start:kind] + b"\x03" + data[kind + 1 : start + 13]
    chunks = [(b"IHDR", header), (b"PLTE", colours[:, :3].tobytes())]
    if colours.shape[1] == 4:
        chunks.append((b"tRNS", colours[:, 3].tobytes()))
    return b"".join([PNG_SIGNATURE, *map(_pack_chunk, chunks), data[_END_OF_HEADER:]])


def add_texts(png: bytes, texts: Mapping[str, str]) -> bytes:
    """Return a PNG with texts in Latin-1, by their keys."""
    encoded = ((key.encode("latin-1"), text.encode("latin-1")) for key, text in texts.items())
    return _insert_chunks(png, [(b"tEXt", key + b"\0" + text) for key, text in encoded])


def _insert_chunks(png: bytes, chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([png[:_END_OF_HEADER], *map(_pack_chunk, chunks), png[_END_OF_HEADER:]])


def _pack_chunk(chunk: tuple[bytes, bytes]) -> bytes:
    name, content = chunk
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _read_chunks(file: BinaryIO) -> dict[bytes, bytes]:
    """Return the contents of chunks up to IEND by name; XMP data by the key of its text.

    Decoders accept files that are truncated just before IEND; this does not.
    """
    chunks: dict[bytes, bytes] = {}
    size = file.seek(0, os.SEEK_END)
    position = len(PNG_SIGNATURE)
    while b"IEND" not in chunks:
        if position + 12 > size:
            raise FileError("The file is truncated.", problem="truncated")
        file.seek(position)
        head = file.read(8)
        length, name = int.from_bytes(head[:4], "big"), head[4:]
        position += 12 + length
        if position > size:  # checked before reading, which would allocate the claimed length
            raise FileError("The file is truncated.", problem="truncated")
        if name != b"IDAT":  # skip the pixels
            content = file.read(length) if length <= _MAX_CHUNK else b""
            if content and file.read(4) != struct.pack(">I", zlib.crc32(name + content)):
                message = f"The file is damaged: wrong checksum of the chunk {repr(name)[2:-1]}."
                raise FileError(message, problem="checksum")
            is_xmp = name == b"iTXt" and content.startswith(_XMP_KEY + b"\0")
            chunks[_XMP_KEY if is_xmp else name] = content
    return chunks


def _unpack_text(chunk: bytes) -> bytes | None:
    """Return the text of an iTXt chunk: key, zero, compression, method, language, translated key, text."""
    _, _, rest = chunk.partition(b"\0")
    *_, content = rest[2:].split(b"\0", 2)
    try:
        return zlib.decompressobj().decompress(content, _MAX_UNPACKED) if rest[:1] == b"\1" else content
    except zlib.error:
        return None


def _resolution(chunk: bytes | None) -> Resolution | None:
    if chunk is None or len(chunk) != 9:
        return None
    across, down, unit = struct.unpack(">IIB", chunk)
    if not (across and down):
        return None
    if unit != _PER_METRE:
        return Resolution(Fraction(across), Fraction(down), 1)
    return Resolution(Fraction(across, 100), Fraction(down, 100), 3)


def _pack_resolution(resolution: Resolution) -> bytes:
    per_metre = {1: Fraction(1), 2: Fraction(10_000, 254), 3: Fraction(100)}[resolution.unit]
    across, down = (min((1 << 31) - 1, max(1, round(n * per_metre))) for n in (resolution.x, resolution.y))
    return struct.pack(">IIB", across, down, 0 if resolution.unit == 1 else _PER_METRE)


def _extend_significant_bits(
    colour: Iterable[tuple[bytes, bytes]], channels: int
) -> tuple[tuple[bytes, bytes], ...]:
    """Add 8 significant bits for an alpha channel that was a table in the file."""
    return tuple(
        (name, content.ljust(channels, b"\x08")[:channels] if name == b"sBIT" else content)
        for name, content in colour
    )


def _profile(chunk: bytes | None) -> bytes | None:
    """Return the profile of an iCCP chunk: name, zero, compression method, compressed profile."""
    if chunk is None:
        return None
    _, _, compressed = chunk.partition(b"\0")
    unpacking = zlib.decompressobj()
    profile = unpacking.decompress(compressed[1:], _MAX_UNPACKED)
    if unpacking.unconsumed_tail:
        message = f"The colour profile unpacks to more than {_MAX_UNPACKED >> 20} MB."
        raise FileError(message, limit=_MAX_UNPACKED)
    return profile
