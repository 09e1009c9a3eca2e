"""Directories of TIFF files (IFDs), which EXIF data uses too: tags with their values.

Values stay bytes in the byte order of their file, so nothing is lost by converting them.
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import BinaryIO, Literal

from panfocus.errors import FileError

ByteOrder = Literal["<", ">"]

# Bytes of one value, by TIFF's number of the type.
_SIZES = {
    **dict.fromkeys((1, 2, 6, 7), 1),
    **dict.fromkeys((3, 8), 2),
    **dict.fromkeys((4, 9, 11, 13), 4),
    **dict.fromkeys((5, 10, 12, 16, 17, 18), 8),
}
_INTEGERS = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}
SHORT, LONG, RATIONAL, TEXT, IFD8 = 3, 4, 5, 2, 18
BIGTIFF_ONLY = (16, 17, 18)

_MAX_ENTRIES = 4096  # tags of one directory; cameras write up to a few hundred
_MAX_VALUE = 16 << 20  # bytes of one value


class Tag(IntEnum):
    """Tags that panfocus reads or writes, named as in the specifications of TIFF, EXIF and DNG."""

    PROCESSING_SOFTWARE = 0x000B
    NEW_SUBFILE_TYPE = 0x00FE
    SUBFILE_TYPE = 0x00FF
    IMAGE_WIDTH = 0x0100
    IMAGE_LENGTH = 0x0101
    BITS_PER_SAMPLE = 0x0102
    COMPRESSION = 0x0103
    PHOTOMETRIC_INTERPRETATION = 0x0106
    THRESHOLDING = 0x0107
    CELL_WIDTH = 0x0108
    CELL_LENGTH = 0x0109
    FILL_ORDER = 0x010A
    DOCUMENT_NAME = 0x010D
    IMAGE_DESCRIPTION = 0x010E
    MAKE = 0x010F
    MODEL = 0x0110
    STRIP_OFFSETS = 0x0111
    ORIENTATION = 0x0112
    SAMPLES_PER_PIXEL = 0x0115
    ROWS_PER_STRIP = 0x0116
    STRIP_BYTE_COUNTS = 0x0117
    MIN_SAMPLE_VALUE = 0x0118
    MAX_SAMPLE_VALUE = 0x0119
    X_RESOLUTION = 0x011A
    Y_RESOLUTION = 0x011B
    PLANAR_CONFIGURATION = 0x011C
    PAGE_NAME = 0x011D
    RESOLUTION_UNIT = 0x0128
    PAGE_NUMBER = 0x0129
    SOFTWARE = 0x0131
    DATE_TIME = 0x0132
    ARTIST = 0x013B
    HOST_COMPUTER = 0x013C
    PREDICTOR = 0x013D
    WHITE_POINT = 0x013E
    PRIMARY_CHROMATICITIES = 0x013F
    COLOR_MAP = 0x0140
    HALFTONE_HINTS = 0x0141
    TILE_WIDTH = 0x0142
    TILE_LENGTH = 0x0143
    TILE_OFFSETS = 0x0144
    TILE_BYTE_COUNTS = 0x0145
    EXTRA_SAMPLES = 0x0152
    SAMPLE_FORMAT = 0x0153
    S_MIN_SAMPLE_VALUE = 0x0154
    S_MAX_SAMPLE_VALUE = 0x0155
    JPEG_TABLES = 0x015B
    YCBCR_COEFFICIENTS = 0x0211
    YCBCR_SUB_SAMPLING = 0x0212
    YCBCR_POSITIONING = 0x0213
    REFERENCE_BLACK_WHITE = 0x0214
    XMP = 0x02BC
    RELATED_IMAGE_WIDTH = 0x1001
    RELATED_IMAGE_LENGTH = 0x1002
    RATING = 0x4746
    RATING_PERCENT = 0x4749
    COPYRIGHT = 0x8298
    IPTC = 0x83BB
    PHOTOSHOP = 0x8649
    EXIF_DIRECTORY = 0x8769
    ICC_PROFILE = 0x8773
    GPS_DIRECTORY = 0x8825
    DATE_TIME_ORIGINAL = 0x9003
    MAKER_NOTE = 0x927C
    SUB_SEC_TIME = 0x9290
    SUB_SEC_TIME_ORIGINAL = 0x9291
    PHOTOSHOP_LAYERS = 0x935C
    XP_TITLE = 0x9C9B
    XP_COMMENT = 0x9C9C
    XP_AUTHOR = 0x9C9D
    XP_KEYWORDS = 0x9C9E
    XP_SUBJECT = 0x9C9F
    PIXEL_X_DIMENSION = 0xA002
    PIXEL_Y_DIMENSION = 0xA003
    INTEROP_DIRECTORY = 0xA005
    PRINT_IMAGE_MATCHING = 0xC4A5
    UNIQUE_CAMERA_MODEL = 0xC614
    CAMERA_SERIAL_NUMBER = 0xC62F
    LENS_INFO = 0xC630
    PADDING = 0xEA1C


@dataclass(frozen=True)
class Value:
    """Value of a tag: the bytes of `count` numbers or characters, and their offset in the file."""

    kind: int
    count: int
    data: bytes
    offset: int | None = None

    def number(self, order: ByteOrder) -> int | None:
        """Return the first value if it is an integer."""
        code = _INTEGERS.get(self.kind)
        if code is None or len(self.data) < struct.calcsize(code):
            return None
        return int(struct.unpack_from(order + code, self.data)[0])

    def ratio(self, order: ByteOrder) -> tuple[int, int] | None:
        """Return numerator and denominator of the first value if it is a ratio."""
        if self.kind != RATIONAL or len(self.data) < 8:
            return None
        top, bottom = struct.unpack_from(order + "II", self.data)
        return top, bottom

    def text(self) -> str:
        """Return the value as text, without trailing zeros."""
        return self.data.split(b"\0")[0].decode(errors="replace").strip()


Directory = dict[int, Value]


def integer_value(order: ByteOrder, *numbers: int, kind: int = LONG) -> Value:
    """Return a value that holds one or more integers."""
    return Value(kind, len(numbers), struct.pack(f"{order}{len(numbers)}{_INTEGERS[kind]}", *numbers))


def text_value(content: str) -> Value:
    """Return a value that holds a text."""
    data = content.encode() + b"\0"
    return Value(TEXT, len(data), data)


def read_file_start(file: BinaryIO) -> tuple[ByteOrder, bool, int]:
    """Return the byte order, whether the file is a BigTIFF, and the offset of the first directory."""
    file.seek(0)
    head = file.read(16)
    orders: dict[bytes, ByteOrder] = {b"II": "<", b"MM": ">"}
    if len(head) < 8 or head[:2] not in orders:
        raise FileError("The file does not start like TIFF or EXIF data.", problem="format")
    order = orders[head[:2]]
    big = struct.unpack_from(order + "H", head, 2)[0] == 43
    if big and len(head) < 16:
        raise FileError("The file is truncated.", problem="truncated")
    start = struct.unpack_from(order + "Q", head, 8) if big else struct.unpack_from(order + "I", head, 4)
    return order, big, start[0]


def read_directory(file: BinaryIO, order: ByteOrder, big: bool, position: int) -> tuple[Directory, bool]:
    """Return the tags of the directory at a position, and whether all of them are readable."""
    size = file.seek(0, os.SEEK_END)
    counter, width, inline, form = ("Q", 20, 8, "HHQ") if big else ("H", 12, 4, "HHI")
    file.seek(position)
    head = file.read(struct.calcsize(counter))
    if len(head) < struct.calcsize(counter):
        raise FileError("The file is truncated: tags are missing.", problem="truncated")
    n_entries = struct.unpack(order + counter, head)[0]
    raw = file.read(width * min(n_entries, _MAX_ENTRIES))
    is_complete = len(raw) == width * n_entries
    tags: Directory = {}
    for start in range(0, len(raw) - width + 1, width):
        tag, kind, count = struct.unpack_from(order + form, raw, start)
        length = _SIZES.get(kind, 0) * count
        at = start + width - inline
        if 0 < length <= inline:
            tags[tag] = Value(kind, count, raw[at : at + length])
            continue
        offset = struct.unpack_from(order + ("Q" if big else "I"), raw, at)[0]
        if not 0 < length <= _MAX_VALUE or offset + length > size:
            is_complete = False
            continue
        file.seek(offset)
        tags[tag] = Value(kind, count, file.read(length), offset)
    return tags, is_complete


class DirectoryWriter:
    """Append directories and their values to the start of a file.

    A value that is already at its original offset stays there, because a camera maker's note may refer to
    that offset.
    """

    def __init__(
        self, order: ByteOrder, *, big: bool = False, beginning: bytes = b"", position: int = 0
    ) -> None:
        self.order, self.big = order, big
        self.data = bytearray(beginning)
        self._position = position  # offset of `beginning` in the file

    def append(self, data: bytes) -> int:
        """Append bytes at an even offset, as TIFF requires, and return the offset."""
        self.data += bytes((self._position + len(self.data)) % 2)
        place = self._position + len(self.data)
        self.data += data
        return place

    def place(self, tags: Mapping[int, Value]) -> Directory:
        """Append the values that do not fit into a directory; return the tags with their offsets."""
        return {tag: value if self._fits(value) else self._append_value(value) for tag, value in tags.items()}

    def directory(self, tags: Mapping[int, Value], *, following: int = 0) -> int:
        """Append a directory of placed values and the offset of the next directory; return its own offset."""
        counter, offset = ("Q", "Q") if self.big else ("H", "I")
        entries = []
        for tag, value in sorted(tags.items()):
            content = value.data if self._fits(value) else struct.pack(self.order + offset, value.offset)
            head = struct.pack(f"{self.order}HH{offset}", tag, value.kind, value.count)
            entries.append(head + content.ljust(struct.calcsize(offset), b"\0"))
        count = struct.pack(self.order + counter, len(entries))
        return self.append(count + b"".join(entries) + struct.pack(self.order + offset, following))

    def _fits(self, value: Value) -> bool:
        return len(value.data) <= (8 if self.big else 4)

    def _append_value(self, value: Value) -> Value:
        if value.offset is not None and value.offset >= self._position:
            start = value.offset - self._position
            if self.data[start : start + len(value.data)] == value.data:
                return value
        return replace(value, offset=self.append(value.data))


def pack_file_start(order: ByteOrder, first_directory: int, *, big: bool = False) -> bytes:
    """Return the first bytes of a TIFF file or of EXIF data."""
    mark = b"II" if order == "<" else b"MM"
    if big:
        return mark + struct.pack(order + "HHHQ", 43, 8, 0, first_directory)
    return mark + struct.pack(order + "HI", 42, first_directory)
