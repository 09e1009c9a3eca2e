"""Headers: the size, type and metadata of frames, read without decoding pixels."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from panfocus import _checks
from panfocus.errors import FileError, InputError
from panfocus.io._frame import Frame, check_plausible
from panfocus.io.file_errors import add_path_to_errors, check_regular
from panfocus.io.input_files import detect_format
from panfocus.io.jpeg_webp import read_jpeg_header, read_webp_header
from panfocus.io.png import read_png_header
from panfocus.io.raw import RAW_SUFFIXES, read_raw_header
from panfocus.stack import NO_METADATA, Metadata

if TYPE_CHECKING:
    from panfocus.preprocess.frame_checks import BadFrames

_READERS = {"PNG": read_png_header, "JPEG": read_jpeg_header, "WebP": read_webp_header}


@dataclass(frozen=True, eq=False)
class Header:
    """A frame that is not decoded yet."""

    name: str  # in messages: the file, and the page if the file has several
    path: Path
    format: str  # JPEG, PNG, RAW, TIFF or WebP
    pages: tuple[int, ...]  # of a TIFF: one page, or one per channel
    frame: Frame  # the decoded frame with blank pixels and without metadata, which may be large
    channel: int | None = None  # selected from a microscopy file, from 1
    time: int | None = None


def read_headers(
    paths: Iterable[Path],
    bad: "BadFrames | None" = None,
    *,
    channel: int | None = None,
    time: int | None = None,
) -> list[Header]:
    """Return the headers of all frames: one per file, or one per page or slice of a TIFF.

    A file that cannot be read raises, or is passed to `bad`. `channel` and `time`, from 1, select from
    microscopy files; by default all channels are read.
    """
    headers = []
    for path in paths:
        try:
            headers += read_file_headers(path, channel=channel, time=time)
        except FileError as error:
            if bad is None:
                raise
            bad.drop(str(path), error)
    return headers


def read_file_headers(path: Path, *, channel: int | None = None, time: int | None = None) -> list[Header]:
    """Return the headers of all frames in a file, which is opened once."""
    with add_path_to_errors(path):
        check_regular(path)
        with path.open("rb") as file:
            kind = _detect_format(file, path)
            size = path.stat().st_size
            if kind == "TIFF":
                from panfocus.io.tiff import read_tiff_headers  # tifffile takes 0.1 s to import

                slices = read_tiff_headers(file, channel=channel, time=time)
                headers = []
                for number, (pages, frame) in enumerate(slices, start=1):
                    check_plausible(frame.image, size)
                    name = f"{path} (page {number})" if len(slices) > 1 else str(path)
                    headers.append(Header(name, path, kind, pages, frame, channel, time))
                return headers
            frame = _read_frame_header(file, path, kind)
            if kind in ("PNG", "JPEG"):  # WebP and RAW can store a plain image in a few bytes
                check_plausible(frame.image, size)
            return [Header(str(path), path, kind, (0,), replace(frame, metadata=NO_METADATA))]


def read_metadata(header: Header) -> Metadata:
    """Return the metadata of a frame's file."""
    with add_path_to_errors(header.path), header.path.open("rb") as file:
        if header.format == "TIFF":
            from panfocus.io.tiff import read_tiff_metadata

            return read_tiff_metadata(file, header.pages[0], channel=header.channel, time=header.time)
        return _read_frame_header(file, header.path, header.format).metadata


def _read_frame_header(file: BinaryIO, path: Path, kind: str) -> Frame:
    return read_raw_header(path) if kind == "RAW" else _READERS[kind](file)


def _detect_format(file: BinaryIO, path: Path) -> str:
    """Return the format of a file by its content; of RAW by its name, because many are TIFFs."""
    head = file.read(12)
    file.seek(0)
    if not head:
        raise FileError("The file is empty.", problem="empty")
    kind = "RAW" if path.suffix.lower() in RAW_SUFFIXES else detect_format(head)
    if kind is None:
        raise FileError("The file is not a JPEG, PNG, TIFF or WebP image.", problem="format")
    return kind


def check_headers(headers: Sequence[Header]) -> None:
    """Raise if there are fewer than two frames, or if they differ in size or type."""
    _checks.check_count(len(headers))
    first = headers[0]
    for header in headers:
        _checks.check_kind(header.frame.image, header.name, first.frame.image, first.name)


def select_matching(headers: Sequence[Header], bad: "BadFrames") -> list[Header]:
    """Return the two or more frames whose size and type are the most frequent; others are `bad`.

    If `bad` does not skip frames, the first frame that differs from the first of all raises.
    """
    if not (bad.skip and headers):
        check_headers(headers)
        return list(headers)
    kinds = [(header.frame.image.shape, header.frame.image.dtype) for header in headers]
    like = headers[kinds.index(Counter(kinds).most_common(1)[0][0])]
    matching = []
    for header in headers:
        try:
            _checks.check_kind(header.frame.image, header.name, like.frame.image, like.name)
            matching.append(header)
        except InputError as error:
            bad.drop(header.name, error)
    bad.check_enough_left(len(matching))
    return matching


def check_time_order(headers: Sequence[Header]) -> str | None:
    """Return a notice if the frames are not in the order of the camera's clock, forwards or backwards."""
    files = [header for k, header in enumerate(headers) if k == 0 or header.path != headers[k - 1].path]
    timed = [(header.frame.taken, header) for header in files if header.frame.taken]
    steps = [(later[0] > earlier[0]) - (later[0] < earlier[0]) for earlier, later in pairwise(timed)]
    if not (1 in steps and -1 in steps):
        return None
    back = -1 if steps.count(1) >= steps.count(-1) else 1
    (_, before), (_, after) = timed[steps.index(back)], timed[steps.index(back) + 1]
    return (
        f"The frames are not in the order in which they were taken: by the camera's clock, {after.name} does "
        f"not follow {before.name}. Check that the order is the order of focus."
    )
