"""How much memory a fusion takes, and how people write such sizes."""

import re
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


LARGEST_TILE = 2_800_000  # pixels, with the halo


def parse_size(text: str) -> int:
    """Return the bytes in a size as people write it: 500MB, 2GB, 1.5GiB, or a plain number of bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?", text.strip().lower())
    if not match:
        raise InputError(f"{text!r} is not a size; write it like 500MB, 2GB or 1.5GiB")
    number, prefix, binary = match.groups()
    unit: int = (1024 if binary else 1000) ** (" kmgt".index(prefix or " "))
    return int(float(number) * unit)


def format_size(size: int) -> str:
    """Write a size for people."""
    return f"{size / 1e6:,.0f} MB"


def estimate_peak(n_frames: int, frame: "NDArray[Any]", *, refine: bool, n_atoms: int = 0) -> int:
    """Return the bytes that fusing `n_frames` frames like this one takes at its peak.

    `n_atoms`: those of all levels of the method's dictionary.
    """
    from panfocus._threads import thread_count

    pixels = frame.shape[0] * frame.shape[1]
    # The program with its compiled code; the frames, one more that is decoded, and the fused image; per pixel
    # the maps; for each thread a tile, with a few numbers per pixel and frame: measured.
    fusing = 300_000_000 + (n_frames + 2) * frame.nbytes + 16 * pixels
    fusing += thread_count() * min(pixels, LARGEST_TILE) * 24 * n_frames
    gram_matrix = 4 * n_atoms**2
    # The solver's image, gradients, multipliers and their transforms, in float64: measured.
    refining = 136 * frame.size if refine else 0
    return int(fusing + gram_matrix + refining)
