"""From files to a stack of frames."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus import _checks
from panfocus._progress import Progress, silent
from panfocus._reduce import reduced
from panfocus._threads import map_blocks
from panfocus.errors import FileError, InputError, PanfocusError
from panfocus.io._errors import check_regular, errors_that_name
from panfocus.io._frame import Frame, check_plausible
from panfocus.io.find import kind_of
from panfocus.io.metadata import of_reduced
from panfocus.io.png import decode_png, png_header
from panfocus.io.raster import decode_jpeg, decode_webp, jpeg_header, webp_header
from panfocus.io.raw import RAW_SUFFIXES, decode_raw, raw_header
from panfocus.io.scratch import ScratchFrames
from panfocus.io.stack_checks import BadFrames, Look, look_at, sampling_step, sound_frames
from panfocus.io.tiff import decode_pages, tiff_headers, tiff_metadata
from panfocus.io.tiff_bands import in_bands
from panfocus.stack import NO_METADATA, Metadata, Stack

_HEADER = {"PNG": png_header, "JPEG": jpeg_header, "WebP": webp_header}
_DECODE = {"PNG": decode_png, "JPEG": decode_jpeg, "WebP": decode_webp}


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
    bad: BadFrames | None = None,
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
            headers += _headers(path, channel=channel, time=time)
        except FileError as error:
            if bad is None:
                raise
            bad.drop(str(path), error)
    return headers


def read_metadata(header: Header) -> Metadata:
    """Read what a frame's file says about its picture."""
    with errors_that_name(header.path):
        kind = _kind(header.path)
        if kind == "TIFF":
            return tiff_metadata(header.path, header.pages[0], channel=header.channel, time=header.time)
        return _whole_header(kind, header.path).metadata


def read_image(path: str | Path) -> NDArray[Any]:
    """Read the picture in a file; of a TIFF with several pages, the first."""
    return _decode(_headers(Path(path))[0]).image


def read_frame(header: Header) -> NDArray[Any]:
    """Decode a frame that `read_headers` has found, all of it, so that damage is noticed."""
    return _decode(header).image


def read_single(path: Path) -> NDArray[Any]:
    """Read a file that is to hold one picture; several pages are refused, as one would be left out."""
    headers = _headers(path)
    if len(headers) > 1:
        raise FileError(
            f"{path} holds {len(headers)} pages, one is needed; save that one as a file of its own"
        )
    return _decode(headers[0]).image


def check_headers(headers: Sequence[Header]) -> None:
    """Refuse frames that are no stack: fewer than two, or not of one size and type."""
    if len(headers) < 2:
        raise InputError(f"fusion needs at least two frames, got {len(headers) or 'none'}")
    first = headers[0]
    for header in headers:
        _checks.check_like(header.frame.image, header.name, first.frame.image, first.name)


def fitting_headers(headers: Sequence[Header], bad: BadFrames) -> list[Header]:
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
            _checks.check_like(header.frame.image, header.name, like.frame.image, like.name)
            fitting.append(header)
        except InputError as error:
            bad.drop(header.name, error)
    bad.check_enough_left(len(fitting))
    return fitting


def read_stack(paths: Sequence[Path]) -> Stack:
    """Read two or more frames of one size and type into memory, or say which file does not fit."""
    headers = read_headers(paths)
    check_headers(headers)
    first = headers[0].frame.image
    return read_into(np.empty((len(headers), *first.shape), first.dtype), headers)


def read_into(
    frames: NDArray[Any] | ScratchFrames,
    headers: Sequence[Header],
    *,
    at_once: int | None = None,
    reduce: int = 1,
    reference: int = 0,
    progress: Progress = silent,
    bad: BadFrames | None = None,
) -> Stack:
    """Decode frames that `check_headers` has passed into an array, so many `at_once` (None: on all cores).

    Frames are made smaller by the factor `reduce`, of both sides; the array is for what comes of them.
    Colour profile and metadata are those of the `reference` frame.

    With `bad`, frames are compared with each other: copies are told, and those that cannot be read or show
    another scene are refused or left out.
    """

    def decode(k: int) -> Look | PanfocusError | None:
        header = headers[k]
        try:
            if reduce == 1 and isinstance(frames, ScratchFrames) and _copy_in_bands(header, frames, k):
                step = sampling_step(frames.shape[1:])
                return look_at(frames[k, ::step, ::step]) if bad else None
            image = _decode(header, like=headers[0]).image
            _checks.check_like(image, header.name, headers[0].frame.image, headers[0].name)
        except PanfocusError as error:
            if bad is None or not bad.skip:
                raise
            return error
        image = reduced(image, reduce)
        frames[k] = image
        return look_at(image) if bad else None

    found = []
    for k, look in enumerate(map_blocks(decode, range(len(headers)), threads=at_once)):
        found.append(look)
        progress("read", (k + 1) / len(headers))
    notices: list[str] = []
    if bad:
        kept, notices = sound_frames(found, [header.name for header in headers], frames, bad)
        frames, headers = _to_front(frames, kept), [headers[k] for k in kept]
        reference = kept.index(reference) if reference in kept else 0
    profiles = [header.frame.icc_profile for header in headers]
    if len(set(profiles)) > 1:
        notices.append(
            f"The frames' colour profiles differ: that of {headers[reference].name} is kept, "
            "no colour is converted."
        )
    if disagreement := time_against_order(headers):
        notices.append(disagreement)
    return Stack(
        frames=frames,
        names=tuple(header.name for header in headers),
        icc_profile=profiles[reference],
        notices=tuple(notices),
        metadata=of_reduced(read_metadata(headers[reference]), reduce),
    )


def _copy_in_bands(header: Header, frames: ScratchFrames, k: int) -> bool:
    """Copy a frame without ever holding all of it, if its file allows that.

    Of floats it would be in vain: they are looked through for what is no number, frame by frame.
    """
    with errors_that_name(header.path):
        if _kind(header.path) != "TIFF" or len(header.pages) > 1 or frames.dtype.kind == "f":
            return False
        bands = in_bands(header.path, header.pages[0])
        for top, rows in bands or ():
            frames[k, top : top + len(rows), 0 : rows.shape[1]] = rows
        return bands is not None


def time_against_order(headers: Sequence[Header]) -> str | None:
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


def _to_front(frames: NDArray[Any] | ScratchFrames, kept: Sequence[int]) -> NDArray[Any] | ScratchFrames:
    """Move these frames, in their order, to the front, in place: there may be no room for a copy."""
    for place, k in enumerate(kept):
        if place != k:
            frames[place] = frames[k]
    return frames[: len(kept)] if isinstance(frames, np.ndarray) else frames.first(len(kept))


def _headers(path: Path, *, channel: int | None = None, time: int | None = None) -> list[Header]:
    with errors_that_name(path):
        kind = _kind(path)
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


def _decode(header: Header, *, like: Header | None = None) -> Frame:
    """Decode a frame; RAW files are developed like the first one."""
    with errors_that_name(header.path):
        kind = _kind(header.path)
        if kind == "RAW":
            return decode_raw(header.path, like=like.path if like else header.path)
        if kind == "TIFF":
            return decode_pages(header.path, header.pages)
        return _DECODE[kind](header.path.read_bytes())


def _kind(path: Path) -> str:
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
