"""EXIF data: read from any file, adapted to another image, written into any file.

EXIF data is a TIFF file without pixels. Tags of its first directory are carried over only if they are listed
here, because others may describe the pixels of their file. The directories of camera and place are carried
over whole. Offsets of values are preserved where a camera maker's note exists, because such notes refer to
absolute offsets.
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
    integer_value,
    pack_file_start,
    read_directory,
    read_file_start,
    text_value,
)

SOFTWARE = "panfocus"
X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT = 0x011A, 0x011B, 0x0128

_SOFTWARE_TAG = 0x0131
_EXIF, _GPS, _INTEROP = 0x8769, 0x8825, 0xA005
_MAKER_NOTE = 0x927C
_WIDTHS, _HEIGHTS = {0xA002, 0x1001}, {0xA003, 0x1002}  # image sizes in EXIF and in interoperability data
_TIMES = ((0x9003, 0x9291), (0x0132, 0x9290))  # taken, else changed; each with its fraction of a second

# Conversion between RGB and the colours inside a JPEG; wrong in an RGB file.
_JPEG_COLOUR = {0x0211, 0x0212, 0x0213, 0x0214}
# Tags of the first directory: names, dates, people, camera, resolution, colour, place and comments.
_DESCRIPTIVE = {
    *(0x000B, 0x010D, 0x010E, 0x010F, 0x0110, 0x011D, 0x0132, 0x013B, 0x013C, 0x013E, 0x013F, 0x4746, 0x4749),
    *(0x8298, 0x9C9B, 0x9C9C, 0x9C9D, 0x9C9E, 0x9C9F, 0xC4A5, 0xC614, 0xC62F, 0xC630, _SOFTWARE_TAG),
    *(ORIENTATION_TAG, X_RESOLUTION, Y_RESOLUTION, RESOLUTION_UNIT, _EXIF, _GPS, *_JPEG_COLOUR),
}
# Tags of a TIFF that describe its pixels, or that are carried in another way (XMP, ICC profile): no loss.
_STRUCTURE = {
    *(0x00FE, 0x00FF, 0x0100, 0x0101, 0x0102, 0x0103, 0x0106, 0x0107, 0x0108, 0x0109, 0x010A, 0x0111, 0x0115),
    *(0x0116, 0x0117, 0x0118, 0x0119, 0x011C, 0x0129, 0x013D, 0x0140, 0x0141, 0x0142, 0x0143, 0x0144, 0x0145),
    *(0x0152, 0x0153, 0x0154, 0x0155, 0x015B, 0x02BC, 0x8773, 0xEA1C),
}
_MAX_NOTE_OFFSET = 1 << 20  # bytes; a maker's note further inside a TIFF is dropped, not kept in place


@dataclass(frozen=True)
class Exif:
    """Tags by directory, in the byte order of their file."""

    order: ByteOrder
    main: Directory
    parts: dict[int, Directory]  # camera, place, interoperability; by the tag that points to each
    complete: bool = True  # False if some tag was damaged

    @property
    def orientation(self) -> int:
        """Orientation of the camera, 1 to 8; 1 if unknown."""
        value = self.main.get(ORIENTATION_TAG)
        return (value.number(self.order) if value else None) or 1

    @property
    def taken(self) -> datetime | None:
        """Time when the photograph was taken, by the camera's clock."""
        camera = self.parts.get(_EXIF, {})
        for tag, fraction_tag in _TIMES:
            if value := (camera.get(tag) or self.main.get(tag)):
                fraction = camera[fraction_tag].text() if fraction_tag in camera else ""
                try:
                    moment = datetime.strptime(value.text(), "%Y:%m:%d %H:%M:%S")
                    return moment.replace(
                        microsecond=int(f"{fraction:0<6}"[:6]) if fraction.isdecimal() else 0
                    )
                except ValueError:
                    continue
        return None

    @property
    def has_maker_note(self) -> bool:
        """Whether the camera's maker added a note in its own format."""
        return _MAKER_NOTE in self.parts.get(_EXIF, {})

    def unknown_tags(self) -> list[int]:
        """Return tags of the first directory that are lost, apart from tags of the file's layout."""
        return sorted(self.main.keys() - _DESCRIPTIVE - _STRUCTURE)

    def without_maker_note(self) -> "Exif":
        """Return the data without the maker's note, so values can move."""
        return self._map(lambda tags: {tag: value for tag, value in tags.items() if tag != _MAKER_NOTE})

    def for_image(self, width: int, height: int, *, jpeg: bool) -> "Exif":
        """Return the data for an upright image of this size that panfocus wrote."""
        order = self.order

        def set_sizes(tags: Directory) -> Directory:
            sizes = dict.fromkeys(_WIDTHS, width) | dict.fromkeys(_HEIGHTS, height)
            return tags | {tag: integer_value(order, sizes[tag]) for tag in tags if tag in sizes}

        allowed = _DESCRIPTIVE if jpeg else _DESCRIPTIVE - _JPEG_COLOUR
        main = {tag: value for tag, value in self.main.items() if tag in allowed}
        if self.orientation in SIDEWAYS:
            exchanged = {X_RESOLUTION: Y_RESOLUTION, Y_RESOLUTION: X_RESOLUTION}
            main |= {tag: self.main[other] for tag, other in exchanged.items() if other in self.main}
        if ORIENTATION_TAG in main:
            main[ORIENTATION_TAG] = integer_value(order, 1, kind=SHORT)
        main[_SOFTWARE_TAG] = text_value(SOFTWARE)
        return replace(self, main=main)._map(set_sizes, main=False)

    def start_file(self, *, big: bool = False) -> tuple[DirectoryWriter, Directory]:
        """Return a file with all values and directories but the first, and the tags of the first."""
        writer = DirectoryWriter(self.order, big=big, beginning=self._values_in_place(big=big))
        pointers: dict[int | None, Directory] = {_EXIF: {}, None: {}}  # by the directory that holds them
        for tag in (_INTEROP, _EXIF, _GPS):
            if tag in self.parts:
                place = writer.directory(writer.place(self.parts[tag] | pointers.get(tag, {})))
                holder = _EXIF if tag == _INTEROP else None
                pointers[holder][tag] = integer_value(self.order, place, kind=IFD8 if big else LONG)
        return writer, writer.place(self.main) | pointers[None]

    def _values_in_place(self, *, big: bool) -> bytes:
        """Return the start of a file; with a maker's note, every value is at its original offset."""
        start = bytearray(16 if big else 8)
        first = len(start)
        if self.has_maker_note:
            for value in (value for tags in (self.main, *self.parts.values()) for value in tags.values()):
                if value.offset is not None and value.offset >= first:
                    end = value.offset + len(value.data)
                    start.extend(bytes(max(0, end - len(start))))
                    start[value.offset : end] = value.data
        return bytes(start)

    def to_bytes(self) -> bytes:
        """Return the data in the form that JPEG, PNG and WebP contain."""
        writer, main = self.start_file()
        first = writer.directory(main)
        writer.data[:8] = pack_file_start(self.order, first)
        return bytes(writer.data)

    def _map(self, change: Callable[[Directory], Directory], *, main: bool = True) -> "Exif":
        return replace(
            self,
            main=change(self.main) if main else self.main,
            parts={pointer: change(tags) for pointer, tags in self.parts.items()},
        )


def parse_exif(data: bytes) -> Exif | None:
    """Return the tags of EXIF data, or None if it is damaged."""
    try:
        return read_exif(io.BytesIO(data.removeprefix(b"Exif\0\0")))
    except FileError:
        return None


def read_exif(file: BinaryIO, position: int | None = None) -> Exif:
    """Read a directory of a TIFF, by default the first, and the directories that it points to."""
    order, big, first = read_file_start(file)
    main, complete = read_directory(file, order, big, first if position is None else position)
    parts: dict[int, Directory] = {}
    for pointer, above in ((_EXIF, None), (_GPS, None), (_INTEROP, _EXIF)):
        holder = main if above is None else parts.get(above, {})
        if pointer not in holder:
            continue
        place = holder.pop(pointer).number(order)
        try:
            parts[pointer], is_complete = read_directory(file, order, big, place or 0)
        except FileError:
            is_complete = False
        complete &= is_complete
    return Exif(order, main, parts, complete)


def exif_of_tiff(exif: Exif) -> Exif | None:
    """Return the tags of a TIFF that describe its image, without tags of its layout."""
    descriptive = replace(
        exif, main={tag: value for tag, value in exif.main.items() if tag in _DESCRIPTIVE}
    )._map(lambda tags: {tag: value for tag, value in tags.items() if value.kind not in BIGTIFF_ONLY})
    note = exif.parts.get(_EXIF, {}).get(_MAKER_NOTE)
    if note and (note.offset or 0) + len(note.data) > _MAX_NOTE_OFFSET:
        descriptive = descriptive.without_maker_note()
    return descriptive if descriptive.main or descriptive.parts else None
