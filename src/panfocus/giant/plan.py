"""How a giant image is cut: what is decided together, chunks of the output, tiles that fit into memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError
from panfocus.job.plan import PROGRAM
from panfocus.job.sizes import format_size

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod, Region, Tile

DECISIONS = ("shared", "each")
DEFAULT_MEMORY = 1_000_000_000  # bytes of a worker
CHUNKS = (512, 256)  # pixels a side of what is written at once; the largest that memory allows
LARGEST_SIDE = 2048  # of tiles: then halos are a quarter of the work, and there is enough for all workers
LOOKED_AT = 2048  # pixels a side, about, that are searched for hot pixels at once
HALVINGS = 3  # levels that one task makes: its part has one chunk of the last
DECODED = 2  # times a chunk: as it is stored, at worst, and decoded
STORES = 100_000_000  # bytes that reading and writing stores take beside the program: measured 60 to 90 MB


@dataclass(frozen=True)
class Unit:
    """What is decided at once: some channels at one time point, counted from 0."""

    time: int
    channels: tuple[int, ...]


def units_of(image: "ZarrImage", decisions: str, channel: int | None, time: int | None) -> list[Unit]:
    """List what there is to decide; `channel` and `time`, counted from 1, choose one of each."""
    for option, number, axis, what in (
        ("--channel", channel, "c", "channels"),
        ("--time", time, "t", "time points"),
    ):
        if number is not None and not 1 <= number <= image.length(axis):
            raise InputError(
                f"{image.path}: it has {image.length(axis)} {what}; {option} {number} is none of them"
            )
    times = range(image.length("t")) if time is None else [time - 1]
    channels = range(image.length("c")) if channel is None else [channel - 1]
    groups = [tuple(channels)] if decisions == "shared" else [(c,) for c in channels]
    return [Unit(t, group) for t, group in product(times, groups)]


def leading_axes(image: "ZarrImage", *, map_of: bool, decisions: str) -> list[str]:
    """Name the axes of an output before rows and columns; maps of a shared decision have no channels."""
    return [
        axis.name
        for axis in image.axes
        if axis.name == "t" or (axis.name == "c" and not (map_of and decisions == "shared"))
    ]


def lengths(units: list[Unit]) -> dict[str, int]:
    """Return how many time points and channels the units have together."""
    return {"t": len({unit.time for unit in units}), "c": len({c for unit in units for c in unit.channels})}


def place_of(unit: Unit, units: list[Unit], axes: list[str]) -> tuple[Any, ...]:
    """Return where a unit lies in an output, on these axes before rows and columns."""
    times = sorted({each.time for each in units})
    channels = sorted({c for each in units for c in each.channels})
    at: dict[str, Any] = {
        "t": times.index(unit.time),
        "c": slice(0, len(channels)) if len(unit.channels) > 1 else channels.index(unit.channels[0]),
    }
    return tuple(at[axis] for axis in axes)


def chunk_side(method: "FusionMethod", frames: "ZarrFrames", max_memory: int) -> int:
    """Choose the side of the output's chunks: a tile of one fits into memory, whatever the frames are."""
    from panfocus.methods import Surveyor

    height, width = frames.shape[1:3]
    worst = method.foreseen((height, width))[1] if isinstance(method, Surveyor) else method
    for side in CHUNKS:
        needed = worker_memory(worst, frames, side)
        if needed <= max_memory:
            return side
    decoded = DECODED * frames.image.chunk_bytes
    small = needed - decoded <= max_memory
    instead = "save it in smaller chunks" if small else "fuse the slices in parts"
    raise InputError(
        f"about {format_size(needed)} of memory would be needed for each worker, more than the "
        f"{format_size(max_memory)} of --max-memory; allow more, or {instead}"
    )


def tile_side(method: "FusionMethod", frames: "ZarrFrames", chunk: int, max_memory: int) -> int:
    """Choose the side of tiles: as many whole chunks as are useful and fit into memory."""
    sides = (chunk * n for n in range(LARGEST_SIDE // chunk, 1, -1))
    return next((side for side in sides if worker_memory(method, frames, side) <= max_memory), chunk)


def worker_memory(method: "FusionMethod", frames: "ZarrFrames", side: int) -> int:
    """Bytes of a worker that fuses tiles of this side, one at a time, on one thread."""
    from panfocus._threads import limit_threads
    from panfocus.execute import tile_bytes
    from panfocus.methods import largest

    assert method.halo is not None  # others are refused
    height, width = frames.shape[1:3]
    tile = largest((height, width), min(side, max(height, width)), method.halo)
    # The frames, as they are read and corrected.
    pixels = (
        2 * tile.pixels * len(frames) * frames.dtype.itemsize * (frames.shape[3] if frames.ndim == 4 else 1)
    )
    with limit_threads(1):
        working = pixels + tile_bytes(method, frames, tile)
    return PROGRAM + STORES + DECODED * frames.image.chunk_bytes + working


def rectangles(shape: tuple[int, int], side: int) -> "Iterator[Region]":
    """Cut an image into squares of one side, from its first pixel on; the last are smaller."""
    spans = ([slice(at, min(at + side, n)) for at in range(0, n, side)] for n in shape)
    rows, cols = spans
    yield from product(rows, cols)


def tile_at(inner: "Region", shape: tuple[int, int], halo: int) -> "Tile":
    """Return the tile with this inner part."""
    from panfocus.methods import Tile

    return Tile(inner, Tile.whole(shape).outer, shape).trimmed(halo)


def searched_side(image: "ZarrImage") -> int:
    """Return the side of parts that are searched: whole chunks of the input, or even parts of large ones."""
    chunk = max(n for n, axis in zip(image.chunks, image.axes, strict=True) if axis.name in "yx")
    return LOOKED_AT // chunk * chunk if chunk <= LOOKED_AT else -(-chunk // -(-chunk // LOOKED_AT))
