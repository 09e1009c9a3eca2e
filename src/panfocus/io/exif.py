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
from panfocus.io._frame import SIDEWAYS
from panfocus.io._tiff_ifd import (
    BIGTIFF_ONLY,
    IFD8,
    LONG,
    SHORT,
    ByteOrder,
    Directory,
    DirectoryWriter,
    Tag,
    integer_value,
    pack_file_start,
    read_directory,
    read_file_start,
    text_value,
)

SOFTWARE = "panfocus"

# Image sizes in EXIF and in interoperability data.
_WIDTHS: set[int] = {Tag.PIXEL_X_DIMENSION, Tag.RELATED_IMAGE_WIDTH}
_HEIGHTS: set[int] = {Tag.PIXEL_Y_DIMENSION, Tag.RELATED_IMAGE_LENGTH}
# Time taken, else changed; each with its fraction of a second.
_TIMES = (
    (Tag.DATE_TIME_ORIGINAL, Tag.SUB_SEC_TIME_ORIGINAL),
    (Tag.DATE_TIME, Tag.SUB_SEC_TIME),
)

# Conversion between RGB and the colours inside a JPEG; wrong in an RGB file.
_JPEG_COLOUR = {
    Tag.YCBCR_COEFFICIENTS,
    Tag.YCBCR_SUB_SAMPLING,
    Tag.YCBCR_POSITIONING,
    Tag.REFERENCE_BLACK_WHITE,
}
# Tags of the first directory that are copied: names, people, camera, comments, resolution, colour, places.
_DESCRIPTIVE = {
    *(Tag.DOCUMENT_NAME, Tag.IMAGE_DESCRIPTION, Tag.PAGE_NAME),
    *(Tag.DATE_TIME, Tag.ARTIST, Tag.HOST_COMPUTER, Tag.COPYRIGHT, Tag.RATING, Tag.RATING_PERCENT),
    *(Tag.MAKE, Tag.MODEL, Tag.UNIQUE_CAMERA_MODEL, Tag.CAMERA_SERIAL_NUMBER, Tag.LENS_INFO),
    *(Tag.XP_TITLE, Tag.XP_COMMENT, Tag.XP_AUTHOR, Tag.XP_KEYWORDS, Tag.XP_SUBJECT),
    *(Tag.X_RESOLUTION, Tag.Y_RESOLUTION, Tag.RESOLUTION_UNIT, Tag.ORIENTATION),
    *(Tag.PROCESSING_SOFTWARE, Tag.SOFTWARE, Tag.PRINT_IMAGE_MATCHING),
    *(Tag.WHITE_POINT, Tag.PRIMARY_CHROMATICITIES, *_JPEG_COLOUR),
    *(Tag.EXIF_DIRECTORY, Tag.GPS_DIRECTORY),
}
# Tags of a TIFF that describe its pixels, or that are carried in another way (XMP, ICC profile): no loss.
_STRUCTURE = {
    *(Tag.NEW_SUBFILE_TYPE, Tag.SUBFILE_TYPE, Tag.PAGE_NUMBER, Tag.IMAGE_WIDTH, Tag.IMAGE_LENGTH),
    *(Tag.BITS_PER_SAMPLE, Tag.SAMPLES_PER_PIXEL, Tag.EXTRA_SAMPLES, Tag.SAMPLE_FORMAT),
    *(Tag.MIN_SAMPLE_VALUE, Tag.MAX_SAMPLE_VALUE, Tag.S_MIN_SAMPLE_VALUE, Tag.S_MAX_SAMPLE_VALUE),
    *(Tag.PHOTOMETRIC_INTERPRETATION, Tag.THRESHOLDING, Tag.CELL_WIDTH, Tag.CELL_LENGTH, Tag.FILL_ORDER),
    *(Tag.COMPRESSION, Tag.PREDICTOR, Tag.JPEG_TABLES, Tag.COLOR_MAP, Tag.HALFTONE_HINTS),
    *(Tag.PLANAR_CONFIGURATION, Tag.STRIP_OFFSETS, Tag.ROWS_PER_STRIP, Tag.STRIP_BYTE_COUNTS),
    *(Tag.TILE_WIDTH, Tag.TILE_LENGTH, Tag.TILE_OFFSETS, Tag.TILE_BYTE_COUNTS),
    *(Tag.XMP, Tag.ICC_PROFILE, Tag.PADDING),
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
        value = self.main.get(Tag.ORIENTATION)
        return (value.number(self.order) if value else None) or 1

    @property
    def taken(self) -> datetime | None:
        """Time when the photograph was taken, by the camera's clock."""
        camera = self.parts.get(Tag.EXIF_DIRECTORY, {})
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
        return Tag.MAKER_NOTE in self.parts.get(Tag.EXIF_DIRECTORY, {})

    def unknown_tags(self) -> list[int]:
        """Return tags of the first directory that are lost, apart from tags of the file's layout."""
        return sorted(self.main.keys() - _DESCRIPTIVE - _STRUCTURE)

    def without_maker_note(self) -> "Exif":
        """Return the data without the maker's note, so values can move."""
        return self._map(lambda tags: {tag: value for tag, value in tags.items() if tag != Tag.MAKER_NOTE})

    def for_image(self, width: int, height: int, *, jpeg: bool) -> "Exif":
        """Return the data for an upright image of this size that panfocus wrote."""
        order = self.order

        def set_sizes(tags: Directory) -> Directory:
            sizes = dict.fromkeys(_WIDTHS, width) | dict.fromkeys(_HEIGHTS, height)
            return tags | {tag: integer_value(order, sizes[tag]) for tag in tags if tag in sizes}

        allowed = _DESCRIPTIVE if jpeg else _DESCRIPTIVE - _JPEG_COLOUR
        main = {tag: value for tag, value in self.main.items() if tag in allowed}
        if self.orientation in SIDEWAYS:
            exchanged = {Tag.X_RESOLUTION: Tag.Y_RESOLUTION, Tag.Y_RESOLUTION: Tag.X_RESOLUTION}
            main |= {tag: self.main[other] for tag, other in exchanged.items() if other in self.main}
        if Tag.ORIENTATION in main:
            main[Tag.ORIENTATION] = integer_value(order, 1, kind=SHORT)
        main[Tag.SOFTWARE] = text_value(SOFTWARE)
        return replace(self, main=main)._map(set_sizes, main=False)

    def start_file(self, *, big: bool = False) -> tuple[DirectoryWriter, Directory]:
        """Return a file with all values and directories but the first, and the tags of the first."""
        writer = DirectoryWriter(self.order, big=big, beginning=self._values_in_place(big=big))
        # By the directory that holds them.
        pointers: dict[int | None, Directory] = {Tag.EXIF_DIRECTORY: {}, None: {}}
        for tag in (Tag.INTEROP_DIRECTORY, Tag.EXIF_DIRECTORY, Tag.GPS_DIRECTORY):
            if tag in self.parts:
                place = writer.directory(writer.place(self.parts[tag] | pointers.get(tag, {})))
                holder = Tag.EXIF_DIRECTORY if tag == Tag.INTEROP_DIRECTORY else None
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
    holders = {Tag.EXIF_DIRECTORY: None, Tag.GPS_DIRECTORY: None, Tag.INTEROP_DIRECTORY: Tag.EXIF_DIRECTORY}
    for pointer, above in holders.items():
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
    note = exif.parts.get(Tag.EXIF_DIRECTORY, {}).get(Tag.MAKER_NOTE)
    if note and (note.offset or 0) + len(note.data) > _MAX_NOTE_OFFSET:
        descriptive = descriptive.without_maker_note()
    return descriptive if descriptive.main or descriptive.parts else None
