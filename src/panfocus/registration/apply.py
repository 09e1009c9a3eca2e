"""Frames moved to where they were found to lie."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus._progress import Progress, silent
from panfocus.errors import InputError
from panfocus.registration.common_area import is_worth_cropping, shown
from panfocus.registration.resample import resample
from panfocus.stack import Frames

if TYPE_CHECKING:
    from panfocus.registration.alignment import Alignment

BORDERS = ("full", "crop")


def aligned_shape(found: "Alignment", shape: tuple[int, ...], borders: str = "full") -> tuple[int, ...]:
    """Return the shape of frames (n, h, w, ...) once they are aligned; next to nothing is refused."""
    if borders == "crop" and not is_worth_cropping(found.area, shape[1:3]):
        raise InputError(
            "The aligned frames share hardly any area. Use fewer frames, or set `borders` to full.",
            setting="borders",
        )
    rows, cols = _area(found, shape, borders)
    return (shape[0], rows.stop - rows.start, cols.stop - cols.start, *shape[3:])


def _area(found: "Alignment", shape: tuple[int, ...], borders: str) -> tuple[slice, slice]:
    return found.area if borders == "crop" else (slice(0, shape[1]), slice(0, shape[2]))


def apply_alignment(
    found: "Alignment", frames: Frames, out: Any, *, borders: str = "full", progress: Progress = silent
) -> NDArray[np.bool_] | None:
    """Resample frames into `out`, one by one: an array, frames in a scratch file, or where they were.

    Returns, for borders="full", which pixels all frames have.
    """
    area = _area(found, frames.shape, borders)
    size = frames.shape[1:3]
    middle = found.reference
    # Away from the reference, so that what a frame lacks is there already in the one before. The reference
    # itself is written last: `out` may lie where the frames are, and both ways begin with it.
    ways = [range(middle - 1, -1, -1), range(middle + 1, len(frames))]
    done = 0
    for way in ways:
        nearer = np.array(frames[middle, area[0], area[1]])
        for k in way:
            nearer = resample(frames, k, found.transforms[k], area, onto=nearer)
            out[k] = nearer
            done += 1
            progress("resample", done / len(frames))
    out[middle] = np.array(frames[middle, area[0], area[1]])
    progress("resample", 1.0)
    if borders == "crop":
        return None
    valid = np.ones(size, np.bool_)
    for H in found.transforms:
        valid &= shown(H, size)
    return valid
