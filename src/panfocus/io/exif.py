"""EXIF data: read from any file, made true for another picture, written into any file.

Every format holds it as a TIFF file without pixels. What is kept of its first directory is listed by name, as
other tags may describe the pixels of its file; the directories of camera and place are kept whole.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from panfocus.errors import FileError
from panfocus.io._frame import ORIENTATION_TAG, SIDEWAYS
from panfocus.io._tiff_ifd import (
    BIGTIFF_ONLY,
    IFD8,
    LONG,
    SHORT,
    ByteOrder,
    Directory,
    DirectoryWriter,
    Value,
    read_directory,
    read_start,
    start_of_file,
    text,
    whole,
)

SOFTWARE = "panfocus"
X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT = 0x011A, 0x011B, 0x0128

_SOFTWARE_TAG = 0x0131
_EXIF, _GPS, _INTEROP = 0x8769, 0x8825, 0xA005
_MAKER_NOTE = 0x927C
_WIDTHS, _HEIGHTS = {0xA002, 0x1001}, {0xA003, 0x1002}  # of the picture: EXIF's own, and interoperability's
_TIMES = ((0x9003, 0x9291), (0x0132, 0x9290))  # when it was taken, else when it was changed; and its fraction

# Of the first directory: names, dates, people, camera, resolution, colour, place and comments.
_DESCRIPTIVE = {
    *(
        0x000B,
        0x010D,
        0x010E,
        0x010F,
        0x0110,
        ORIENTATION_TAG,
        X_RESOLUTION,
        Y_RESOLUTION,
        0x011D,
        RESOLUTION_UNIT,
    ),
    *(_SOFTWARE_TAG, 0x0132, 0x013B, 0x013C, 0x013E, 0x013F, 0x0211, 0x0212, 0x0213, 0x0214, 0x4746, 0x4749),
    *(0x8298, _EXIF, _GPS, 0x9C9B, 0x9C9C, 0x9C9D, 0x9C9E, 0x9C9F, 0xC4A5, 0xC614, 0xC62F, 0xC630),
}
# Of a TIFF, what describes its pixels, or is carried by other means (XMP, ICC profile): nothing to be said.
_STRUCTURE = {
    *(0x00FE, 0x00FF, 0x0100, 0x0101, 0x0102, 0x0103, 0x0106, 0x0107, 0x0108, 0x0109, 0x010A, 0x0111, 0x0115),
    *(0x0116, 0x0117, 0x0118, 0x0119, 0x011C, 0x0129, 0x013D, 0x0140, 0x0141, 0x0142, 0x0143, 0x0144, 0x0145),
    *(0x0152, 0x0153, 0x0154, 0x0155, 0x015B, 0x02BC, 0x8773, 0xEA1C),
}
# Conversion between RGB and the colours inside a JPEG; in an RGB file they would say something untrue.
_OF_JPEG = {0x0211, 0x0212, 0x0213, 0x0214}

_FURTHEST_NOTE = 1 << 20  # bytes into a TIFF: up to there a maker's note is kept where it is


@dataclass(frozen=True)
class Exif:
    """Tags by directory, in the byte order of their file."""

    order: ByteOrder
    main: Directory
    parts: dict[int, Directory]  # by the tag that points to it: of the camera, the place, interoperability
    complete: bool = True  # False: some tag was damaged

    @property
    def orientation(self) -> int:
        """How the camera was held, 1 to 8; 1 also where nothing is said."""
        value = self.main.get(ORIENTATION_TAG)
        return (value.number(self.order) if value else None) or 1

    @property
    def taken(self) -> datetime | None:
        """When the picture was taken, by the camera's clock."""
        camera = self.parts.get(_EXIF, {})
        for tag, fraction_tag in _TIMES:
            if found := (camera.get(tag) or self.main.get(tag)):
                fraction = camera[fraction_tag].text() if fraction_tag in camera else ""
                try:
                    moment = datetime.strptime(found.text(), "%Y:%m:%d %H:%M:%S")
                    return moment.replace(
                        microsecond=int(f"{fraction:0<6}"[:6]) if fraction.isdecimal() else 0
                    )
                except ValueError:
                    continue
        return None

    @property
    def has_maker_note(self) -> bool:
        """Whether there are notes in a form of the camera's maker."""
        return _MAKER_NOTE in self.parts.get(_EXIF, {})

    def unknown_tags(self) -> list[int]:
        """Return tags of the first directory that are not carried over and are more than layout."""
        return sorted(self.main.keys() - _DESCRIPTIVE - _STRUCTURE)

    def without_maker_note(self) -> "Exif":
        """Return it without the maker's notes, and free to be moved."""
        return self._mapped(lambda tags: {tag: value for tag, value in tags.items() if tag != _MAKER_NOTE})

    def for_picture(self, width: int, height: int, *, jpeg: bool) -> "Exif":
        """Return what is true of a picture that was turned upright, has this size, and was made by us."""
        order = self.order

        def sized(tags: Directory) -> Directory:
            sizes = dict.fromkeys(_WIDTHS, width) | dict.fromkeys(_HEIGHTS, height)
            return tags | {tag: whole(order, sizes[tag]) for tag in tags if tag in sizes}

        kept = _DESCRIPTIVE if jpeg else _DESCRIPTIVE - _OF_JPEG
        main = {tag: value for tag, value in self.main.items() if tag in kept}
        if self.orientation in SIDEWAYS:
            turned = {X_RESOLUTION: Y_RESOLUTION, Y_RESOLUTION: X_RESOLUTION}
            main |= {tag: self.main[other] for tag, other in turned.items() if other in self.main}
        if ORIENTATION_TAG in main:
            main[ORIENTATION_TAG] = whole(order, 1, kind=SHORT)
        main[_SOFTWARE_TAG] = text(SOFTWARE)
        return replace(self, main=main)._mapped(sized, main=False)

    def start_file(self, *, big: bool = False) -> tuple[DirectoryWriter, Directory]:
        """Begin a file with values and the directories below the first; return it, and the first's tags."""
        beginning = bytearray(16 if big else 8)
        if self.has_maker_note:
            for value in self._values():
                if value.offset is not None and value.offset >= len(start_of_file("<", 0, big=big)):
                    beginning.extend(bytes(max(0, value.offset + len(value.data) - len(beginning))))
                    beginning[value.offset : value.offset + len(value.data)] = value.data
        writer = DirectoryWriter(self.order, big=big, beginning=bytes(beginning))
        pointers: dict[int | None, Directory] = {_EXIF: {}, None: {}}  # by the directory that is to hold them
        for tag in (_INTEROP, _EXIF, _GPS):
            if tag in self.parts:
                place = writer.directory(writer.place(self.parts[tag] | pointers.get(tag, {})))
                holder = _EXIF if tag == _INTEROP else None
                pointers[holder][tag] = whole(self.order, place, kind=IFD8 if big else LONG)
        return writer, writer.place(self.main) | pointers[None]

    def to_bytes(self) -> bytes:
        """Return the data as JPEG, PNG and WebP hold it."""
        writer, main = self.start_file()
        first = writer.directory(main)
        writer.data[:8] = start_of_file(self.order, first)
        return bytes(writer.data)

    def _mapped(self, change: Callable[[Directory], Directory], *, main: bool = True) -> "Exif":
        return replace(
            self,
            main=change(self.main) if main else self.main,
            parts={pointer: change(tags) for pointer, tags in self.parts.items()},
        )

    def _values(self) -> list[Value]:
        return [value for tags in (self.main, *self.parts.values()) for value in tags.values()]


def parse_exif(data: bytes) -> Exif | None:
    """Return the tags of EXIF data, None if it is so damaged that it has none."""
    try:
        return read_exif(io.BytesIO(data.removeprefix(b"Exif\0\0")))
    except FileError:
        return None


def read_exif(file: BinaryIO, position: int | None = None) -> Exif:
    """Read the tags of a TIFF's directory, by default the first, and of those that it points to."""
    order, big, first = read_start(file)
    main, complete = read_directory(file, order, big, first if position is None else position)
    parts: dict[int, Directory] = {}
    for pointer, above in ((_EXIF, None), (_GPS, None), (_INTEROP, _EXIF)):
        holder = main if above is None else parts.get(above, {})
        if pointer not in holder:
            continue
        place = holder.pop(pointer).number(order)
        try:
            parts[pointer], read = read_directory(file, order, big, place or 0)
        except FileError:
            read = False
        complete &= read
    return Exif(order, main, parts, complete)


def exif_of_tiff(exif: Exif) -> Exif | None:
    """Return what a TIFF's tags say of its picture, free of its layout, as data of its own."""
    kept = replace(
        exif, main={tag: value for tag, value in exif.main.items() if tag in _DESCRIPTIVE}
    )._mapped(lambda tags: {tag: value for tag, value in tags.items() if value.kind not in BIGTIFF_ONLY})
    note = exif.parts.get(_EXIF, {}).get(_MAKER_NOTE)
    if note and (note.offset or 0) + len(note.data) > _FURTHEST_NOTE:
        kept = kept.without_maker_note()
    return kept if kept.main or kept.parts else None
