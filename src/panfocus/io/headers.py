"""Frames as their files tell of them, before any is decoded."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from panfocus import _checks
from panfocus.errors import FileError, InputError, Notice, PanfocusError
from panfocus.io._frame import Frame, check_plausible
from panfocus.io.file_errors import add_path_to_errors, check_regular
from panfocus.io.input_files import kind_of
from panfocus.io.jpeg_webp import jpeg_header, webp_header
from panfocus.io.png import png_header
from panfocus.io.raw import RAW_SUFFIXES, raw_header
from panfocus.io.tiff import tiff_headers, tiff_metadata
from panfocus.stack import NO_METADATA, Frames, Metadata

_HEADER = {"PNG": png_header, "JPEG": jpeg_header, "WebP": webp_header}


class FrameFilter(Protocol):
    """Decides about frames that do not belong in a stack; `preprocess.frame_checks.BadFrames` is one."""

    @property
    def skip(self) -> bool:
        """Whether bad frames are dropped; otherwise they raise."""

    def drop(self, name: str, reason: PanfocusError, /) -> None:
        """Drop a frame, or raise `reason`."""

    def check_enough_left(self, n_frames: int, /) -> None:
        """Raise if fewer than two frames remain."""

    def inspect(self, frames: Frames, k: int, /) -> object:
        """Return a summary of frame k for `select`; several threads may call this at once."""

    def select(
        self, inspected: Sequence[object], names: Sequence[str], frames: Frames, /
    ) -> tuple[list[int], list[Notice | str]]:
        """Return the numbers of the frames to keep, and notices.

        `inspected` has the result of `inspect` for each frame, or the error of a frame that cannot be read.
        """


@dataclass(frozen=True, eq=False)
class Header:
    """A frame that is not decoded yet."""

    name: str  # what it is called in messages: its file, and its page where the file has several
    path: Path
    pages: tuple[int, ...]  # of a TIFF, among all its pages: one, or one a channel
    frame: Frame  # what decoding will give, with blank pixels and without metadata, which may be large
    channel: int | None = None  # that was asked for, of a microscope's file
    time: int | None = None


def read_headers(
    paths: Iterable[Path],
    bad: FrameFilter | None = None,
    *,
    channel: int | None = None,
    time: int | None = None,
) -> list[Header]:
    """Find out what frames there are, without decoding them: one a file, one a page or slice of a TIFF.

    A file that cannot be read is an error, or what `bad` makes of it. `channel` and `time` choose, counted
    from 1, from microscopes' files; by default all channels are read.
    """
    headers = []
    for path in paths:
        try:
            headers += headers_of(path, channel=channel, time=time)
        except FileError as error:
            if bad is None:
                raise
            bad.drop(str(path), error)
    return headers


def read_metadata(header: Header) -> Metadata:
    """Read what a frame's file says about its picture."""
    with add_path_to_errors(header.path):
        kind = kind_of_file(header.path)
        if kind == "TIFF":
            return tiff_metadata(header.path, header.pages[0], channel=header.channel, time=header.time)
        return _whole_header(kind, header.path).metadata


def check_headers(headers: Sequence[Header]) -> None:
    """Refuse frames that are no stack: fewer than two, or not of one size and type."""
    if len(headers) < 2:
        raise InputError(f"fusion needs at least two frames, got {len(headers) or 'none'}")
    first = headers[0]
    for header in headers:
        _checks.check_kind(header.frame.image, header.name, first.frame.image, first.name)


def select_matching(headers: Sequence[Header], bad: FrameFilter) -> list[Header]:
    """Return the frames that make a stack, two or more; others, not of the size and type of most, are `bad`.

    Where frames are not skipped, the first that is not like the first of all is refused.
    """
    if not (bad.skip and headers):
        check_headers(headers)
        return list(headers)
    kinds = [(header.frame.image.shape, header.frame.image.dtype) for header in headers]
    like = headers[kinds.index(Counter(kinds).most_common(1)[0][0])]
    fitting = []
    for header in headers:
        try:
            _checks.check_kind(header.frame.image, header.name, like.frame.image, like.name)
            fitting.append(header)
        except InputError as error:
            bad.drop(header.name, error)
    bad.check_enough_left(len(fitting))
    return fitting


def check_time_order(headers: Sequence[Header]) -> str | None:
    """Say where the camera's clock and the order of the frames disagree; a sweep may run either way."""
    files = [header for k, header in enumerate(headers) if k == 0 or header.path != headers[k - 1].path]
    timed = [(header.frame.taken, header) for header in files if header.frame.taken]
    steps = [(later[0] > earlier[0]) - (later[0] < earlier[0]) for earlier, later in pairwise(timed)]
    if not (1 in steps and -1 in steps):
        return None
    back = -1 if steps.count(1) >= steps.count(-1) else 1
    (_, before), (_, after) = timed[steps.index(back)], timed[steps.index(back) + 1]
    return (
        f"The order of the frames is not that in which they were taken: by the camera's clock {after.name} "
        f"does not belong after {before.name}. The order is kept; see that it is that of their focus."
    )


def headers_of(path: Path, *, channel: int | None = None, time: int | None = None) -> list[Header]:
    """Find out what frames a file holds; it is an error if it cannot be read."""
    with add_path_to_errors(path):
        kind = kind_of_file(path)
        if kind == "TIFF":
            slices = tiff_headers(path, channel=channel, time=time)
            for found in slices:
                check_plausible(found.frame.image, path.stat().st_size)
            several = len(slices) > 1
            return [
                Header(
                    f"{path}, page {number}," if several else str(path),
                    path,
                    found.pages,
                    found.frame,
                    channel,
                    time,
                )
                for number, found in enumerate(slices, start=1)
            ]
        frame = _whole_header(kind, path)
        if kind in ("PNG", "JPEG"):  # others may pack a plain picture into next to nothing
            check_plausible(frame.image, path.stat().st_size)
        return [Header(str(path), path, (0,), replace(frame, metadata=NO_METADATA))]


def _whole_header(kind: str, path: Path) -> Frame:
    if kind == "RAW":
        return raw_header(path)
    with path.open("rb") as file:
        return _HEADER[kind](file)


def kind_of_file(path: Path) -> str:
    """Tell the format of a file, by its content, and of RAW by its name."""
    head = _head(path)
    if path.suffix.lower() in RAW_SUFFIXES:  # by content many would be TIFFs, whose first picture is small
        return "RAW"
    if kind := kind_of(head):
        return kind
    raise FileError("not a JPEG, PNG, TIFF or WebP image")


def _head(path: Path) -> bytes:
    check_regular(path)
    with path.open("rb") as file:
        head = file.read(12)
    if not head:
        raise FileError("an empty file: 0 bytes; copy it anew from where it came from")
    return head
