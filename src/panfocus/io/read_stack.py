"""Decode files into images and stacks of frames."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus import _checks
from panfocus._downscale import reduced
from panfocus._progress import Progress, silent
from panfocus._threads import map_blocks
from panfocus.errors import FileError, InputError, Notice, PanfocusError
from panfocus.io._frame import Frame
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.headers import (
    Header,
    check_headers,
    check_time_order,
    read_file_headers,
    read_headers,
    read_metadata,
    select_matching,
)
from panfocus.io.input_files import find_inputs, is_zarr
from panfocus.io.jpeg_webp import decode_jpeg, decode_webp
from panfocus.io.metadata import scale_metadata
from panfocus.io.png import decode_png
from panfocus.io.raw import decode_raw
from panfocus.stack import Metadata, Stack

if TYPE_CHECKING:
    from panfocus.io.disk_array import DiskArray
    from panfocus.preprocess.frame_checks import BadFrames

_DECODERS = {"PNG": decode_png, "JPEG": decode_jpeg, "WebP": decode_webp}


def read_image(path: str | Path) -> NDArray[Any]:
    """Read the image in a file, the first page of a TIFF."""
    return read_frame(read_file_headers(Path(path))[0])


def read_frame(header: Header) -> NDArray[Any]:
    """Return all pixels of a frame; raise if its file is damaged."""
    return _decode(header).image


def read_single(path: Path) -> NDArray[Any]:
    """Read a file that must hold exactly one image."""
    headers = read_file_headers(path)
    if len(headers) > 1:
        message = f"{path}: The file has {len(headers)} pages; one image is needed."
        raise FileError(message, file=str(path), got=len(headers))
    return read_frame(headers[0])


def read_stack(
    inputs: str | Path | Sequence[str | Path],
    *,
    channel: int | None = None,
    time: int | None = None,
    bad: "BadFrames | None" = None,
) -> Stack:
    """Read a stack of two or more frames of one size and type, with its metadata.

    Parameters
    ----------
    inputs : path or sequence of paths
        Files, folders and patterns of photographs, multi-page TIFFs and z-stacks, or one OME-Zarr store.
    channel, time : int, optional
        Channel and time point of a microscopy file, counted from 1. Default: all channels, the only time.
    bad : BadFrames, optional
        Decides about frames of another scene, copies and damaged files. Default: damaged files raise.

    Returns
    -------
    Stack
        Frames in memory. Frames of an OME-Zarr store are read when they are indexed.
    """
    names = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    if len(names) == 1 and names[0] != "" and is_zarr(Path(names[0])):
        return _open_zarr(Path(names[0]), channel, time)
    skipped: list[str] = []
    headers = read_headers(find_inputs(names, warn=skipped.append), bad, channel=channel, time=time)
    headers = select_matching(headers, bad) if bad else headers
    check_headers(headers)
    first = headers[0].frame.image
    stack = read_into(np.empty((len(headers), *first.shape), first.dtype), headers, bad=bad)
    return replace(stack, notices=(*skipped, *stack.notices))


def _open_zarr(path: Path, channel: int | None, time: int | None) -> Stack:
    """Return the slices of an OME-Zarr image as a stack that is read lazily."""
    from panfocus.io.ome_xml import select_channels
    from panfocus.io.ome_zarr import read_ome_zarr

    image = read_ome_zarr(path)
    with add_path_to_errors(path):
        channels, t = select_channels(channel, time, image.length("c"), image.length("t"))
    frames = image.frames(t, channels)
    if len(frames) < 2:
        raise InputError(f"{path}: Fusion needs at least two frames, got 1.", file=str(path), frames=1)
    return Stack(
        frames=frames,
        names=tuple(f"{path}, slice {k + 1}" for k in range(len(frames))),
        notices=image.notices,
        metadata=Metadata(acquisition=image.acquisition.of_channels(channels)),
    )


def read_into(
    frames: "NDArray[Any] | DiskArray",
    headers: Sequence[Header],
    *,
    at_once: int | None = None,
    reduce: int = 1,
    reference: int = 0,
    progress: Progress = silent,
    bad: "BadFrames | None" = None,
) -> Stack:
    """Decode frames that `check_headers` accepted into an array.

    Parameters
    ----------
    frames : array
        Receives the frames, after reduction.
    headers : sequence of Header
        Of the frames.
    at_once : int, optional
        Number of frames to decode at the same time. Default: one per core.
    reduce : int
        Factor by which both sides of a frame are reduced.
    reference : int
        Frame whose colour profile and metadata the stack gets.
    progress : callable
        Called after each frame.
    bad : BadFrames, optional
        Decides about frames of another scene, copies and damaged files. Default: damaged files raise.
    """

    def decode(k: int) -> object:
        header = headers[k]
        try:
            in_bands = (
                reduce == 1 and not isinstance(frames, np.ndarray) and _copy_in_bands(header, frames, k)
            )
            if not in_bands:
                image = _decode(header, like=headers[0]).image
                _checks.check_like(image, header.name, headers[0].frame.image, headers[0].name)
                frames[k] = reduced(image, reduce)
        except PanfocusError as error:
            if bad is None or not bad.skip:
                raise
            return error
        return bad.inspect(frames, k) if bad else None

    inspected = []
    for k, summary in enumerate(map_blocks(decode, range(len(headers)), threads=at_once)):
        inspected.append(summary)
        progress("read", (k + 1) / len(headers))
    notices: list[Notice | str] = []
    if bad:
        kept, notices = bad.select(inspected, [header.name for header in headers], frames)
        frames, headers = _to_front(frames, kept), [headers[k] for k in kept]
        reference = kept.index(reference) if reference in kept else 0
    profiles = [header.frame.icc_profile for header in headers]
    if len(set(profiles)) > 1:
        notices.append(
            f"The colour profiles of the frames differ. The profile of {headers[reference].name} is used; "
            "colours are not converted."
        )
    if conflict := check_time_order(headers):
        notices.append(conflict)
    return Stack(
        frames=frames,
        names=tuple(header.name for header in headers),
        icc_profile=profiles[reference],
        notices=tuple(notices),
        metadata=scale_metadata(read_metadata(headers[reference]), reduce),
    )


def _copy_in_bands(header: Header, frames: "DiskArray", k: int) -> bool:
    """Copy a frame of a TIFF band by band, so that it is never in memory as a whole; return whether it was.

    Floats are read whole, because they are checked for NaN and infinity.
    """
    if header.format != "TIFF" or len(header.pages) > 1 or frames.dtype.kind == "f":
        return False
    with add_path_to_errors(header.path), header.path.open("rb") as file:
        from panfocus.io.tiff import read_bands

        bands = read_bands(file, header.pages[0])
        for top, rows in bands or ():
            frames[k, top : top + len(rows), 0 : rows.shape[1]] = rows
        return bands is not None


def _to_front(frames: "NDArray[Any] | DiskArray", kept: Sequence[int]) -> "NDArray[Any] | DiskArray":
    """Move frames to the front in place, because a copy may not fit into memory."""
    for place, k in enumerate(kept):
        if place != k:
            frames[place] = frames[k]
    return frames[: len(kept)] if isinstance(frames, np.ndarray) else frames.first(len(kept))


def _decode(header: Header, *, like: Header | None = None) -> Frame:
    """Decode a frame; RAW files are developed like the first one."""
    with add_path_to_errors(header.path):
        if header.format == "RAW":
            return decode_raw(header.path, like=like.path if like else header.path)
        with header.path.open("rb") as file:
            if header.format == "TIFF":
                from panfocus.io.tiff import decode_pages

                return decode_pages(file, header.pages)
            return _DECODERS[header.format](file.read())
