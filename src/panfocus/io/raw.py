"""RAW files of cameras, developed by LibRaw through rawpy (the extra `raw`): every frame in the same way.

Nothing is fitted to a frame: no automatic brightness, the saturation level of the camera, the white balance
of the first frame for all. The picture is in sRGB with its gamma, 16 bit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from panfocus._checks import blank
from panfocus.errors import FileError, missing_extra
from panfocus.io._capture_stderr import lines_about
from panfocus.io._frame import Frame, check_pixel_count
from panfocus.io.exif import exif_of_tiff, read_exif
from panfocus.io.metadata import gather

if TYPE_CHECKING:
    import rawpy

RAW_SUFFIXES = (
    *(".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc", ".mef", ".mos"),
    *(".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".rwl", ".sr2", ".srf", ".srw", ".x3f"),
)
_SRGB_GAMMA = (2.4, 12.92)  # exponent, and slope of the part near black
_ON_ITS_SIDE = (5, 6)  # LibRaw's numbers


def raw_header(path: Path) -> Frame:
    """Return what `decode_raw` will, with blank pixels."""
    with _open(path) as raw:
        sizes = raw.sizes
        check_pixel_count(sizes.width, sizes.height)
        shape = (sizes.height, sizes.width, 3)
        if sizes.flip in _ON_ITS_SIDE:
            shape = (sizes.width, sizes.height, 3)
    with path.open("rb") as file:
        try:
            exif = exif_of_tiff(read_exif(file))
        except FileError:  # a format that is no TIFF
            exif = None
    source = gather(exif, None, left_behind=[] if exif else ["EXIF data of such RAW files"])
    return Frame(
        image=blank(shape, np.dtype(np.uint16)),
        orientation=source.orientation,
        taken=exif.taken if exif else None,
        metadata=source.metadata,
    )


def decode_raw(path: Path, *, like: Path) -> Frame:
    """Develop a RAW file with the white balance of another, which is that of the first frame."""
    import rawpy

    with _open(like) as first:
        _unpack(first, like)  # as rawpy does before it tells the balance
        balance = first.camera_whitebalance
        balance = balance if any(balance) else first.daylight_whitebalance
    header = raw_header(path)
    with _open(path) as raw:
        _unpack(raw, path)
        image = raw.postprocess(
            user_wb=list(balance),
            no_auto_bright=True,
            adjust_maximum_thr=0.0,  # else the brightest pixel of a frame would scale all of it
            output_color=rawpy.ColorSpace.sRGB,
            gamma=_SRGB_GAMMA,
            output_bps=16,
        )
    return Frame(image, header.orientation, taken=header.taken, metadata=header.metadata)


def _unpack(raw: "rawpy.RawPy", path: Path) -> None:
    """Read the sensor's values; what LibRaw only prints of damage to them is an error."""
    with lines_about(str(path)) as said:
        raw.unpack()
    if said:
        raise FileError(f"a damaged RAW file ({said[0]})")


@contextmanager
def _open(path: Path) -> "Iterator[rawpy.RawPy]":
    try:
        import rawpy
    except ImportError:
        raise missing_extra("A RAW file", "rawpy", "raw") from None
    with rawpy.imread(str(path)) as raw:
        yield raw
