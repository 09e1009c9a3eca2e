"""RAW files of cameras, developed by LibRaw through rawpy (the extra `raw`).

All frames of a stack are developed alike: no automatic brightness, the camera's saturation level, the white
balance of the first frame. The result is 16-bit sRGB with its gamma.
"""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from panfocus._checks import blank
from panfocus.errors import FileError, missing_extra
from panfocus.io._frame import Frame, check_pixel_count
from panfocus.io.exif import exif_of_tiff, read_exif
from panfocus.io.metadata import collect_metadata

if TYPE_CHECKING:
    import rawpy

RAW_SUFFIXES = (
    *(".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos"),
    *(".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f"),
)
_SRGB_GAMMA = (2.4, 12.92)  # exponent, and slope near black
_SIDEWAYS = (5, 6)  # LibRaw's numbers for a camera on its side
_STDERR = 2
_stderr_lock = threading.Lock()  # the process has one standard error


def read_raw_header(path: Path) -> Frame:
    """Return the frame that `decode_raw` returns, with blank pixels."""
    with _open(path) as raw:
        sizes = raw.sizes
        check_pixel_count(sizes.width, sizes.height)
        shape = (sizes.height, sizes.width, 3)
        if sizes.flip in _SIDEWAYS:
            shape = (sizes.width, sizes.height, 3)
    with path.open("rb") as file:
        try:
            exif = exif_of_tiff(read_exif(file))
        except FileError:  # a format that is not based on TIFF
            exif = None
    lost = [] if exif else ["EXIF data of this RAW format"]
    metadata, orientation, taken = collect_metadata(exif, None, left_behind=lost)
    return Frame(blank(shape, np.dtype(np.uint16)), orientation, taken=taken, metadata=metadata)


def decode_raw(path: Path, *, like: Path) -> Frame:
    """Develop a RAW file with the white balance of `like`, the first frame of the stack."""
    import rawpy

    with _open(like) as first:
        _unpack(first, like)  # rawpy needs this before it knows the white balance
        balance = first.camera_whitebalance
        balance = balance if any(balance) else first.daylight_whitebalance
    header = read_raw_header(path)
    with _open(path) as raw:
        _unpack(raw, path)
        image = raw.postprocess(
            user_wb=list(balance),
            no_auto_bright=True,
            adjust_maximum_thr=0.0,  # otherwise the brightest pixel would scale the frame
            output_color=rawpy.ColorSpace.sRGB,
            gamma=_SRGB_GAMMA,
            output_bps=16,
        )
    return replace(header, image=image)


def _unpack(raw: "rawpy.RawPy", path: Path) -> None:
    """Read the sensor's values; raise for damage that LibRaw only prints."""
    with capture_stderr(str(path)) as lines:
        raw.unpack()
    if lines:
        raise FileError(f"The RAW data is damaged ({lines[0]}).", problem="damaged")


@contextmanager
def _open(path: Path) -> "Iterator[rawpy.RawPy]":
    try:
        import rawpy
    except ImportError:
        raise missing_extra("A RAW file", "rawpy", "raw") from None
    with rawpy.imread(str(path)) as raw:
        yield raw


@contextmanager
def capture_stderr(name: str) -> Iterator[list[str]]:
    """Collect lines starting with a file's name that C libraries write to standard error.

    The list is complete when the block ends. Other lines, for example of other threads, are printed then.
    Only one thread at a time can be in such a block.
    """
    lines: list[str] = []
    with _stderr_lock, tempfile.TemporaryFile() as buffer:
        try:
            original = os.dup(_STDERR)
        except OSError:  # standard error is closed
            yield lines
            return
        os.dup2(buffer.fileno(), _STDERR)
        try:
            yield lines
        finally:
            os.dup2(original, _STDERR)
            os.close(original)
            buffer.seek(0)
            for line in buffer.read().splitlines(keepends=True):
                if line.startswith(os.fsencode(name)):
                    lines.append(os.fsdecode(line).removeprefix(name).strip(": \n"))
                else:
                    os.write(_STDERR, line)
