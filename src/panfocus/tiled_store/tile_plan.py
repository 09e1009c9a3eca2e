"""How a giant image is cut: what is decided together, chunks of the output, tiles that fit into memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from panfocus.errors import InputError
from panfocus.job.memory_plan import PROGRAM, format_size

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


def chunk_side(method: "FusionMethod", frames: "ZarrFrames", max_memory: int, whose: str) -> int:
    """Choose the side of the output's chunks: a tile of one fits into memory, whatever the frames are.

    `whose`: what a refusal says of the memory, and how there is more.
    """
    from panfocus.methods import Surveyor

    height, width = frames.shape[1:3]
    worst = method.foreseen((height, width))[1] if isinstance(method, Surveyor) else method
    for side in CHUNKS:
        needed = worker_memory(worst, frames, side, side)
        if needed <= max_memory:
            return side
    decoded = DECODED * frames.image.chunk_bytes
    small = needed - decoded <= max_memory
    instead = "save it in smaller chunks" if small else "fuse the slices in parts"
    raise InputError(
        f"about {format_size(needed)} of memory would be needed for each worker, more than the "
        f"{format_size(max_memory)} {whose}, or {instead}"
    )


def tile_side(method: "FusionMethod", frames: "ZarrFrames", chunk: int, max_memory: int) -> int:
    """Choose the most that tiles have a side: as many whole chunks as are useful and fit into memory."""
    sides = (chunk * n for n in range(LARGEST_SIDE // chunk, 1, -1))
    return next((side for side in sides if worker_memory(method, frames, side, chunk) <= max_memory), chunk)


def worker_memory(method: "FusionMethod", frames: "ZarrFrames", side: int, chunk: int) -> int:
    """Bytes of a worker that fuses tiles of at most this side, one at a time, on one thread."""
    from panfocus._threads import limit_threads
    from panfocus.tiling import tile_bytes

    assert method.halo is not None  # others are refused
    height, width = frames.shape[1:3]
    rows, cols = (_spans(length, even_side(length, side, chunk)) for length in (height, width))
    # One of the largest, in the middle if it can be: near the border a halo is cut off.
    inner = (rows[(len(rows) - 1) // 2], cols[(len(cols) - 1) // 2])
    tile = tile_at(inner, (height, width), method.halo)
    # The frames, as they are read and corrected.
    pixels = (
        2 * tile.pixels * len(frames) * frames.dtype.itemsize * (frames.shape[3] if frames.ndim == 4 else 1)
    )
    with limit_threads(1):
        working = pixels + tile_bytes(method, frames, tile)
    return PROGRAM + STORES + DECODED * frames.image.chunk_bytes + working


def rectangles(shape: tuple[int, int], side: int) -> "Iterator[Region]":
    """Cut an image into squares of one side, from its first pixel on; the last are smaller."""
    rows, cols = (_spans(length, side) for length in shape)
    yield from product(rows, cols)


def planes_at_once(region: "Region", chunk: int) -> int:
    """Return how many planes one task makes smaller: of a small region, as many as have a full one's pixels.

    Else small pictures of many times would be as many tasks, of some milliseconds each.
    """
    rows, cols = region
    return int((chunk << HALVINGS) ** 2 // ((rows.stop - rows.start) * (cols.stop - cols.start)))


def tiles(shape: tuple[int, int], side: int, chunk: int) -> "Iterator[Region]":
    """Cut an image into as few tiles of whole chunks as this side allows, of about equal size.

    Squares of the full side would leave slivers at the end, and workers that wait for the large ones.
    """
    rows, cols = (_spans(length, even_side(length, side, chunk)) for length in shape)
    yield from product(rows, cols)


def even_side(length: int, side: int, chunk: int) -> int:
    """Return the side of parts, in whole chunks: as many as there would be of the full side, but even."""
    n_chunks = -(-length // chunk)
    n_parts = -(-n_chunks * chunk // side)
    return -(-n_chunks // n_parts) * chunk


def _spans(length: int, side: int) -> list[slice]:
    return [slice(at, min(at + side, length)) for at in range(0, length, side)]


def tile_at(inner: "Region", shape: tuple[int, int], halo: int) -> "Tile":
    """Return the tile with this inner part."""
    from panfocus.methods import Tile

    return Tile(inner, Tile.whole(shape).outer, shape).trimmed(halo)


def searched_side(image: "ZarrImage") -> int:
    """Return the side of parts that are searched: whole chunks of the input, or even parts of large ones."""
    chunk = max(n for n, axis in zip(image.chunks, image.axes, strict=True) if axis.name in "yx")
    return LOOKED_AT // chunk * chunk if chunk <= LOOKED_AT else -(-chunk // -(-chunk // LOOKED_AT))
