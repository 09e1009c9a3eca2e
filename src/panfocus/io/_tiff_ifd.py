"""Directories of TIFF files, of which EXIF data is one without pixels: tags with their values.

Values stay as bytes in the order of their file, so that nothing is lost by understanding them.
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal

from panfocus.errors import FileError

ByteOrder = Literal["<", ">"]

# Bytes of one value, by TIFF's number of its type; the last three are those of BigTIFF.
_SIZES = {
    1: 1,
    2: 1,
    3: 2,
    4: 4,
    5: 8,
    6: 1,
    7: 1,
    8: 2,
    9: 4,
    10: 8,
    11: 4,
    12: 8,
    13: 4,
    16: 8,
    17: 8,
    18: 8,
}
_WHOLE = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}
SHORT, LONG, RATIONAL, TEXT, IFD8 = 3, 4, 5, 2, 18
BIGTIFF_ONLY = (16, 17, 18)

_MAX_ENTRIES = 4096  # of one directory; cameras write up to some hundred
_MAX_VALUE = 16 << 20  # bytes


@dataclass(frozen=True)
class Value:
    """What a tag says: bytes of `count` values of one type, and where in the file they were."""

    kind: int
    count: int
    data: bytes
    offset: int | None = None

    def number(self, order: ByteOrder) -> int | None:
        """Return the first value if it is a whole number."""
        code = _WHOLE.get(self.kind)
        if code is None or len(self.data) < struct.calcsize(code):
            return None
        return int(struct.unpack_from(order + code, self.data)[0])

    def ratio(self, order: ByteOrder) -> tuple[int, int] | None:
        """Return the first value, a ratio of two whole numbers, if its type is that."""
        if self.kind != RATIONAL or len(self.data) < 8:
            return None
        top, bottom = struct.unpack_from(order + "II", self.data)
        return top, bottom

    def text(self) -> str:
        """Return the value as text, without the zeros that end it."""
        return self.data.split(b"\0")[0].decode(errors="replace").strip()


Directory = dict[int, Value]


def whole(order: ByteOrder, number: int, kind: int = LONG) -> Value:
    """Make the value of one whole number."""
    return Value(kind, 1, struct.pack(order + _WHOLE[kind], number))


def wholes(order: ByteOrder, numbers: list[int], kind: int) -> Value:
    """Make the value of several whole numbers."""
    return Value(kind, len(numbers), struct.pack(f"{order}{len(numbers)}{_WHOLE[kind]}", *numbers))


def text(content: str) -> Value:
    """Make the value of a text."""
    data = content.encode() + b"\0"
    return Value(TEXT, len(data), data)


def read_start(file: BinaryIO) -> tuple[ByteOrder, bool, int]:
    """Return byte order, whether it is a BigTIFF, and where the first directory is."""
    file.seek(0)
    head = file.read(16)
    orders: dict[bytes, ByteOrder] = {b"II": "<", b"MM": ">"}
    if len(head) < 8 or head[:2] not in orders:
        raise FileError("not the beginning of TIFF or EXIF data")
    order = orders[head[:2]]
    big = struct.unpack_from(order + "H", head, 2)[0] == 43
    if big and len(head) < 16:
        raise FileError("not the beginning of a BigTIFF")
    start = struct.unpack_from(order + "Q", head, 8) if big else struct.unpack_from(order + "I", head, 4)
    return order, big, start[0]


def read_directory(file: BinaryIO, order: ByteOrder, big: bool, position: int) -> tuple[Directory, bool]:
    """Return the tags of the directory at a position, and whether all of them could be read."""
    size = file.seek(0, os.SEEK_END)
    counter, width, inline, form = ("Q", 20, 8, "HHQ") if big else ("H", 12, 4, "HHI")
    file.seek(position)
    head = file.read(struct.calcsize(counter))
    if len(head) < struct.calcsize(counter):
        raise FileError("its tags lie beyond its end")
    n_entries = struct.unpack(order + counter, head)[0]
    raw = file.read(width * min(n_entries, _MAX_ENTRIES))
    whole_directory = len(raw) == width * n_entries
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
            whole_directory = False
            continue
        file.seek(offset)
        tags[tag] = Value(kind, count, file.read(length), offset)
    return tags, whole_directory


class DirectoryWriter:
    """Appends directories to what a file begins with.

    A value that the beginning holds already at the offset which it had is left there, so that notes of the
    camera's maker, which point to places of their own file, still point to them.
    """

    def __init__(
        self, order: ByteOrder, *, big: bool = False, beginning: bytes = b"", position: int = 0
    ) -> None:
        self.order, self.big = order, big
        self.data = bytearray(beginning)
        self._position = position  # of that beginning in the file

    def append(self, data: bytes) -> int:
        """Append bytes at an even place, as TIFF asks for, and return it."""
        self.data += bytes((self._position + len(self.data)) % 2)
        place = self._position + len(self.data)
        self.data += data
        return place

    def place(self, tags: Mapping[int, Value]) -> Directory:
        """Have all values that do not fit into a directory itself in the file, and return where they are."""
        return {tag: value if self._fits(value) else self._placed(value) for tag, value in tags.items()}

    def directory(self, tags: Mapping[int, Value], *, following: int = 0) -> int:
        """Append a directory of values that have their `place`, and where the next one is; return its own."""
        counter, offset = ("Q", "Q") if self.big else ("H", "I")
        entries = []
        for tag, value in sorted(tags.items()):
            content = value.data if self._fits(value) else struct.pack(self.order + offset, value.offset)
            head = struct.pack(f"{self.order}HH{offset}", tag, value.kind, value.count)
            entries.append(head + content.ljust(struct.calcsize(offset), b"\0"))
        count, end = (
            struct.pack(self.order + counter, len(entries)),
            struct.pack(self.order + offset, following),
        )
        return self.append(count + b"".join(entries) + end)

    def _fits(self, value: Value) -> bool:
        return len(value.data) <= (8 if self.big else 4)

    def _placed(self, value: Value) -> Value:
        if value.offset is not None and value.offset >= self._position:
            start = value.offset - self._position
            if self.data[start : start + len(value.data)] == value.data:
                return value
        return replace(value, offset=self.append(value.data))


def start_of_file(order: ByteOrder, first_directory: int, *, big: bool = False) -> bytes:
    """Return the bytes that a TIFF file or EXIF data begins with."""
    mark = b"II" if order == "<" else b"MM"
    if big:
        return mark + struct.pack(order + "HHHQ", 43, 8, 0, first_directory)
    return mark + struct.pack(order + "HI", 42, first_directory)
