"""The chain of a TIFF's pages, walked before a library follows it: it may be cut, endless or a circle."""

import os
import struct
from typing import BinaryIO

from panfocus.errors import FileError

MAX_PAGES = 10_000  # far above any stack, and soon counted


def check_page_chain(file: BinaryIO) -> None:
    """Refuse a file whose pages are missing, too many, or lead back to each other."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    order = "<" if file.read(2) == b"II" else ">"
    is_big = _number(file, f"{order}H") == 43  # BigTIFF; 42 is the common kind
    # Formats of a page's number of tags and of an offset, and the size of a tag.
    count, offset, tag_size = (f"{order}Q", f"{order}Q", 20) if is_big else (f"{order}H", f"{order}I", 12)
    file.seek(8 if is_big else 4)
    seen: set[int] = set()
    while page := _number(file, offset):
        if page in seen:
            raise FileError("its pages lead back to each other; save it anew")
        if len(seen) == MAX_PAGES:
            raise FileError(f"it has more than {MAX_PAGES:,} pages; save it in parts")
        seen.add(page)
        file.seek(min(page, size))
        file.seek(min(_number(file, count) * tag_size, size), os.SEEK_CUR)
    if not seen:
        raise FileError("it has no page")


def _number(file: BinaryIO, kind: str) -> int:
    data = file.read(struct.calcsize(kind))
    if len(data) < struct.calcsize(kind):
        raise FileError("cut off: pages are missing")
    (number,) = struct.unpack(kind, data)
    return int(number)
