"""The frame that every decoder returns, and checks that all decoders share."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.stack import NO_METADATA, Metadata

SIDEWAYS = (5, 6, 7, 8)  # orientations that exchange width and height

MAX_PIXELS = 500_000_000  # above the largest cameras (150 MP), below what exhausts the memory

# Deflate packs at most 1032 bytes, of 8 black-and-white pixels each, into one byte; JPEG and LZW pack less.
MAX_PIXELS_PER_BYTE = 10_000


ANIMATED = "Animated images are not supported. Save the frames as separate files."


@dataclass(frozen=True, eq=False)
class Frame:
    """One upright image from a file. The image of a header is blank and takes no memory."""

    image: NDArray[Any]
    orientation: int = 1  # EXIF orientation in the file
    icc_profile: bytes | None = None
    taken: datetime | None = None  # time by the camera's clock
    metadata: Metadata = NO_METADATA


def check_pixel_count(width: int, height: int) -> None:
    """Raise for an image whose header promises more pixels than any camera has."""
    if width * height > MAX_PIXELS:
        message = f"The image has {width} x {height} pixels; the limit is {MAX_PIXELS // 10**6} million."
        raise FileError(message, got=width * height, limit=MAX_PIXELS)


def check_plausible(image: NDArray[Any], file_bytes: int) -> None:
    """Raise for an image that its file is too small to hold, before memory is allocated."""
    height, width = image.shape[:2]
    if width * height > MAX_PIXELS_PER_BYTE * file_bytes:
        message = f"The file is damaged: {width} x {height} pixels do not fit into {file_bytes:,} bytes."
        raise FileError(message, got=width * height)


def turn_upright(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Return an image turned upright; `orientation` is the EXIF value, 1 to 8."""
    if orientation in SIDEWAYS:
        image = image.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        image = image[:, ::-1]
    if orientation in (3, 4, 7, 8):
        image = image[::-1]
    return image
