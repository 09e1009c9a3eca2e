"""A larger picture of a frame, to be looked at before anything is fused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from panfocus.io.atomic_files import write_files
from panfocus.io.headers import read_headers
from panfocus.io.jpeg_webp import encode_jpeg
from panfocus.io.read_stack import read_frame
from panfocus.show.thumbnail import shown

PICTURE_SIDE = 2400  # pixels, at most: what screens have; sides are divided by whole numbers
_QUALITY = 85


def run(task: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Write a picture of the first page of the file `path` to `picture`."""
    header = read_headers([Path(task["path"])])[0]
    pixels = shown(read_frame(header), PICTURE_SIDE)
    data = encode_jpeg(pixels, header.frame.icc_profile, quality=_QUALITY)
    write_files({Path(task["picture"]): data}, force=True)
    return {"width": pixels.shape[1], "height": pixels.shape[0]}
