"""From files to a stack of frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus import _checks
from panfocus._downscale import reduced
from panfocus._progress import Progress, silent
from panfocus._threads import map_blocks
from panfocus.errors import FileError, PanfocusError
from panfocus.io._file_errors import errors_that_name
from panfocus.io._frame import Frame
from panfocus.io.headers import (
    Header,
    check_headers,
    headers_of,
    kind_of_file,
    read_headers,
    read_metadata,
    time_against_order,
)
from panfocus.io.jpeg_webp import decode_jpeg, decode_webp
from panfocus.io.metadata import of_reduced
from panfocus.io.png import decode_png
from panfocus.io.raw import decode_raw
from panfocus.io.scratch import ScratchFrames
from panfocus.io.tiff import decode_pages
from panfocus.io.tiff_bands import in_bands
from panfocus.preprocess.frame_checks import BadFrames, Look, look_at, sampling_step, sound_frames
from panfocus.stack import Stack

_DECODE = {"PNG": decode_png, "JPEG": decode_jpeg, "WebP": decode_webp}


def read_image(path: str | Path) -> NDArray[Any]:
    """Read the picture in a file; of a TIFF with several pages, the first."""
    return _decode(headers_of(Path(path))[0]).image


def read_frame(header: Header) -> NDArray[Any]:
    """Decode a frame that `read_headers` has found, all of it, so that damage is noticed."""
    return _decode(header).image


def read_single(path: Path) -> NDArray[Any]:
    """Read a file that is to hold one picture; several pages are refused, as one would be left out."""
    headers = headers_of(path)
    if len(headers) > 1:
        raise FileError(
            f"{path} holds {len(headers)} pages, one is needed; save that one as a file of its own"
        )
    return _decode(headers[0]).image


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
        if kind_of_file(header.path) != "TIFF" or len(header.pages) > 1 or frames.dtype.kind == "f":
            return False
        bands = in_bands(header.path, header.pages[0])
        for top, rows in bands or ():
            frames[k, top : top + len(rows), 0 : rows.shape[1]] = rows
        return bands is not None


def _to_front(frames: NDArray[Any] | ScratchFrames, kept: Sequence[int]) -> NDArray[Any] | ScratchFrames:
    """Move these frames, in their order, to the front, in place: there may be no room for a copy."""
    for place, k in enumerate(kept):
        if place != k:
            frames[place] = frames[k]
    return frames[: len(kept)] if isinstance(frames, np.ndarray) else frames.first(len(kept))


def _decode(header: Header, *, like: Header | None = None) -> Frame:
    """Decode a frame; RAW files are developed like the first one."""
    with errors_that_name(header.path):
        kind = kind_of_file(header.path)
        if kind == "RAW":
            return decode_raw(header.path, like=like.path if like else header.path)
        if kind == "TIFF":
            return decode_pages(header.path, header.pages)
        return _DECODE[kind](header.path.read_bytes())
