"""What every decoder returns, and the checks that all of them share."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.stack import NO_METADATA, Metadata

ORIENTATION_TAG = 0x0112

SIDEWAYS = (5, 6, 7, 8)  # orientations of a camera on its side: width and height are exchanged

# Above the largest cameras (150 megapixels) and below what a small file could use to exhaust the memory.
MAX_PIXELS = 500_000_000

# Deflate packs at most 1032 bytes, of 8 pixels each if they are black or white, into one; JPEG and LZW less.
MAX_PIXELS_PER_BYTE = 10_000


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture out of a file, turned upright; of a header, blank and without any memory."""

    image: NDArray[Any]
    orientation: int = 1  # that it had in the file
    icc_profile: bytes | None = None
    taken: datetime | None = None  # by the camera's clock
    metadata: Metadata = NO_METADATA


def check_pixel_count(width: int, height: int) -> None:
    """Refuse a picture whose header promises more pixels than any camera has, before they are decoded."""
    if width * height > MAX_PIXELS:
        raise FileError(
            f"{width} x {height} pixels is more than the {MAX_PIXELS // 10**6} million that are read"
        )


def check_plausible(image: NDArray[Any], file_bytes: int) -> None:
    """Refuse a picture that its file is too small to hold, before memory is taken for it."""
    height, width = image.shape[:2]
    if width * height > MAX_PIXELS_PER_BYTE * file_bytes:
        raise FileError(f"damaged: it claims {width} x {height} pixels, more than {file_bytes:,} bytes hold")


def turn_upright(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Undo how the camera was held; `orientation` is the EXIF value, 1 to 8, where 1 is upright."""
    if orientation in SIDEWAYS:
        image = image.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        image = image[:, ::-1]
    if orientation in (3, 4, 7, 8):
        image = image[::-1]
    return image
