"""Layers of a result that the page shows: fused image, frames and maps, each with its pyramid."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panfocus._threads import for_all
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.disk_array import ArrayFolder, DiskArray
from panfocus.io.encode import encode_json
from panfocus.job.serialization import from_plain, to_plain
from panfocus.show.pyramid import (
    How,
    halved_length,
    n_levels,
    strips,
    update_smaller_levels,
    write_smaller_levels,
)

if TYPE_CHECKING:
    from panfocus.stack import Frames

# How each layer is reduced in its pyramid. Votes have none: they are only read at single pixels.
PYRAMIDS: dict[str, How] = {
    "fused": "mean",
    "frames": "mean",
    "labels": "nearest",
    "depth": "mean",
    "confidence": "mean",
    "never_in_focus": "any",
    "retouched": "mean",
}
STACKED = ("frames", "votes")  # have a plane for each frame

_MAP_BYTES = 10  # of all maps together, per pixel
_VOTE_BYTES = 2  # per pixel and frame

_DISPLAY = "display.json"


@dataclass(frozen=True)
class Display:
    """How the images of a job are shown."""

    white: float  # pixel value shown as white
    n_frames: int
    icc_profile: bytes | None


def level_name(name: str, e: int) -> str:
    """Return the name of the array of a pyramid level."""
    return f"{name}.{e}" if e else name


def check_space(arrays: ArrayFolder, frames: "Frames") -> None:
    """Raise FileError if the disk has no space for the layers of these frames."""
    n, height, width = frames.shape[:3]
    frame = math.prod(frames.shape[1:]) * frames.dtype.itemsize
    # Frames, fused and retouched image; maps. A pyramid takes a third more.
    with_pyramids = (n + 2) * frame + _MAP_BYTES * height * width
    arrays.check_room(with_pyramids * 4 // 3 + n * _VOTE_BYTES * height * width)


def save_layer(arrays: ArrayFolder, name: str, values: "Frames") -> None:
    """Write an array (h, w, ...) or (n, h, w, ...) and its pyramid, strip by strip."""
    stacked = name in STACKED
    numbers = [(k,) for k in range(len(values))] if stacked else [()]
    before, (height, width, *channels) = values.shape[:stacked], values.shape[stacked:]
    n = n_levels(height, width) if name in PYRAMIDS else 1
    every_column = slice(0, width)
    with ExitStack() as files:
        levels: list[DiskArray] = []
        for e in range(n):
            shape = (*before, halved_length(height, e), halved_length(width, e), *channels)
            levels.append(files.enter_context(arrays.create(level_name(name, e), shape, values.dtype)))

        def save_strip(place: tuple[tuple[int, ...], slice]) -> None:
            frame, rows = place
            part = values[*frame, rows, every_column]
            levels[0][*frame, rows, every_column] = part
            how = PYRAMIDS.get(name, "nearest")
            write_smaller_levels(levels, rows, every_column, part, how, frame=frame)

        for_all(save_strip, [(frame, rows) for frame in numbers for rows in strips(height, n)])


@contextmanager
def edit_layer(arrays: ArrayFolder, name: str, rows: slice, cols: slice) -> Iterator[DiskArray]:
    """Yield a layer (h, w, ...) to change a rectangle of; update its pyramid at the end of the block.

    Threads may change several rectangles that share no pixel of the last level.
    """
    with ExitStack() as files:
        picture = files.enter_context(arrays.array(name, change=True))
        halves = (level_name(name, e) for e in range(1, n_levels(*picture.shape[:2])))
        levels = [picture, *(files.enter_context(arrays.array(half, change=True)) for half in halves)]
        yield picture
        update_smaller_levels(levels, rows, cols, PYRAMIDS[name])


def list_layers(arrays: ArrayFolder) -> tuple[list[str], int]:
    """Return the names of the layers in the order of the page, and the number of levels."""
    with arrays.array("fused") as fused:
        levels = n_levels(*fused.shape[:2])
    names: list[str] = []
    for name in PYRAMIDS:
        if name == "frames":
            with arrays.array(name) as frames:
                names += [f"frame-{k}" for k in range(len(frames))]
        elif name in arrays:
            names.append(name)
    return names, levels


def save_display(arrays: ArrayFolder, icc_profile: bytes | None) -> Display:
    """Decide how images are shown, after the fused image and the frames are saved."""
    from panfocus.show.colormap import white_of

    with arrays.array("frames") as frames:
        n_frames, (height, width) = len(frames), frames.shape[1:3]
    with arrays.array(level_name("fused", n_levels(height, width) - 1)) as small:
        display = Display(white_of(small[...]), n_frames, icc_profile)
    write_files({arrays.folder / _DISPLAY: encode_json(to_plain(display))}, force=True)
    return display


def read_display(arrays: ArrayFolder) -> Display:
    """Return what `save_display` decided."""
    display: Display = from_plain(read_json(arrays.folder / _DISPLAY), Display)
    return display
