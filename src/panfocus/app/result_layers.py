"""What a job keeps to be looked at: the fused picture, the frames and the maps, each with its pyramid."""

import math
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from panfocus._threads import for_all
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.disk_array import ArrayFolder, DiskArray
from panfocus.io.encode import encode_json
from panfocus.show.pyramid import How, halved_length, n_levels, put, renew, strips

if TYPE_CHECKING:
    from panfocus.stack import Frames

# What four pixels of each become in its pyramid. Votes have none: they are read at one place only.
PYRAMIDS: dict[str, How] = {
    "fused": "mean",
    "frames": "mean",
    "labels": "nearest",
    "depth": "mean",
    "confidence": "mean",
    "never_in_focus": "any",
    "retouched": "mean",
}
STACKED = ("frames", "votes")  # with a plane for each frame

_MAP_BYTES = 10  # of all maps, for each pixel
_VOTE_BYTES = 2  # for each pixel of each frame

_DISPLAY = "display.json"


@dataclass(frozen=True)
class Display:
    """How all pictures of a job are shown."""

    white: float  # the value that is shown as white
    n_frames: int
    icc_profile: bytes | None


def level_name(name: str, e: int) -> str:
    """Name the array that is halved so often."""
    return f"{name}.{e}" if e else name


def check_room(kept: ArrayFolder, frames: "Frames") -> None:
    """Refuse, before any work is done, frames whose layers the disk has no room for."""
    n, height, width = frames.shape[:3]
    frame = math.prod(frames.shape[1:]) * frames.dtype.itemsize
    # The frames, fused, retouched; and the maps.
    with_pyramids = (n + 2) * frame + _MAP_BYTES * height * width
    kept.check_room(with_pyramids * 4 // 3 + n * _VOTE_BYTES * height * width)


def keep_layer(kept: ArrayFolder, name: str, values: "Frames") -> None:
    """Write an array and its pyramid, strip by strip: (h, w, ...), or of frames or votes (n, h, w, ...)."""
    stacked = name in STACKED
    numbers = [(k,) for k in range(len(values))] if stacked else [()]
    before, (height, width, *channels) = values.shape[:stacked], values.shape[stacked:]
    n = n_levels(height, width) if name in PYRAMIDS else 1
    every_column = slice(0, width)
    with ExitStack() as rooms:
        levels: list[DiskArray] = []
        for e in range(n):
            shape = (*before, halved_length(height, e), halved_length(width, e), *channels)
            levels.append(rooms.enter_context(kept.create(level_name(name, e), shape, values.dtype)))

        def keep(place: tuple[tuple[int, ...], slice]) -> None:
            frame, rows = place
            part = values[*frame, rows, every_column]
            put(levels, rows, every_column, part, PYRAMIDS.get(name, "nearest"), frame=frame)

        for_all(keep, [(frame, rows) for frame in numbers for rows in strips(height, n)])


@contextmanager
def changed_layer(kept: ArrayFolder, name: str, rows: slice, cols: slice) -> Iterator[DiskArray]:
    """Have a layer (h, w, ...) to change a rectangle of; its pyramid follows when the block ends.

    Several may be changed at once if no pixel of the last level is of two of them.
    """
    with ExitStack() as rooms:
        picture = rooms.enter_context(kept.array(name, change=True))
        halves = (level_name(name, e) for e in range(1, n_levels(*picture.shape[:2])))
        levels = [picture, *(rooms.enter_context(kept.array(half, change=True)) for half in halves)]
        yield picture
        renew(levels, rows, cols, PYRAMIDS[name])


def layers_of(kept: ArrayFolder) -> tuple[list[str], int]:
    """Name the layers that can be shown, in the order in which they are offered, and count the levels."""
    with kept.array("fused") as fused:
        levels = n_levels(*fused.shape[:2])
    names: list[str] = []
    for name in PYRAMIDS:
        if name == "frames":
            with kept.array(name) as frames:
                names += [f"frame-{k}" for k in range(len(frames))]
        elif name in kept:
            names.append(name)
    return names, levels


def keep_display(kept: ArrayFolder, icc_profile: bytes | None) -> Display:
    """Settle how pictures are shown, once the fused one and the frames are kept."""
    from panfocus.show.map_colors import white_of

    with kept.array("frames") as frames:
        n_frames, (height, width) = len(frames), frames.shape[1:3]
    with kept.array(level_name("fused", n_levels(height, width) - 1)) as small:
        display = Display(white_of(small[...]), n_frames, icc_profile)
    profile = b64encode(icc_profile).decode() if icc_profile else None
    content = {"white": display.white, "n_frames": n_frames, "icc_profile": profile}
    write_files({kept.folder / _DISPLAY: encode_json(content)}, force=True)
    return display


def display_of(kept: ArrayFolder) -> Display:
    """Read what `keep_display` settled."""
    content = read_json(kept.folder / _DISPLAY)
    profile = content["icc_profile"]
    return Display(content["white"], content["n_frames"], b64decode(profile) if profile else None)
