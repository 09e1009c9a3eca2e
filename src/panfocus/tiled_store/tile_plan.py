"""Divide a large image into independent units, chunks of the outputs, and tiles that fit into memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from panfocus._threads import limit_threads
from panfocus.errors import NotEnoughMemoryError
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.ome_xml import check_selection
from panfocus.job.memory_plan import PROGRAM, format_size
from panfocus.stack import are_colours

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod, Region

DEFAULT_MEMORY = 1_000_000_000  # bytes for each worker
CHUNK_SIDES = (512, 256)  # pixels, of the outputs; the first that memory allows is used
MAX_TILE_SIDE = 2048  # pixels: halos are then a quarter of the work, and there are tiles for all workers
SEARCH_SIDE = 2048  # pixels, about, of a part that is searched for hot pixels at once
LEVELS_PER_TASK = 3  # pyramid levels that one task makes; its part is one chunk of the last
DECODED_CHUNKS = 2  # a chunk in memory, as stored (at worst) and decoded
STORE_MEMORY = 100_000_000  # bytes for reading and writing stores; measured: 60 to 90 MB


@dataclass(frozen=True)
class FusionUnit:
    """Channels of one time point that are fused together. Both count from 0."""

    time: int
    channels: tuple[int, ...]


def list_units(
    image: "ZarrImage", channel: int | None, time: int | None, *, separate: bool
) -> list[FusionUnit]:
    """Return the units of an image; `channel` and `time`, counted from 1, select one each."""
    with add_path_to_errors(image.path):
        check_selection(channel, time, image.length("c"), image.length("t"))
    times = range(image.length("t")) if time is None else [time - 1]
    channels = range(image.length("c")) if channel is None else [channel - 1]
    groups = [(c,) for c in channels] if separate else [tuple(channels)]
    return [FusionUnit(t, group) for t, group in product(times, groups)]


def has_separate_channels(image: "ZarrImage", decide_channels: str, channel: int | None) -> bool:
    """Return whether several channels are fused separately.

    "auto" does so unless they are colours or the last one is alpha.
    """
    if image.length("c") == 1 or channel is not None:
        return False
    if decide_channels == "auto":
        return not (image.has_alpha or are_colours(image.channel_names))
    return decide_channels == "separate"


def axis_lengths(units: list[FusionUnit]) -> dict[str, int]:
    """Return the number of time points and channels of all units."""
    return {"t": len({unit.time for unit in units}), "c": len({c for unit in units for c in unit.channels})}


def unit_index(unit: FusionUnit, units: list[FusionUnit], axes: list[str]) -> tuple[Any, ...]:
    """Return the index of a unit in an output, along its leading axes."""
    times = sorted({each.time for each in units})
    channels = sorted({c for each in units for c in each.channels})
    index: dict[str, Any] = {
        "t": times.index(unit.time),
        "c": slice(0, len(channels)) if len(unit.channels) > 1 else channels.index(unit.channels[0]),
    }
    return tuple(index[axis] for axis in axes)


def choose_chunk_side(
    method: "FusionMethod", frames: "ZarrFrames", max_memory: int, limit: str = "`max_memory` allows"
) -> int:
    """Return the chunk side of the outputs, such that a tile of one chunk fits into memory.

    `limit` is a part of the error: "Each worker needs about 2 GB of memory, but {limit} 1 GB."
    """
    from panfocus.methods import Surveyor

    height, width = frames.shape[1:3]
    worst = method.plan_surveys((height, width))[1] if isinstance(method, Surveyor) else method
    for side in CHUNK_SIDES:
        needed = worker_memory(worst, frames, side, side)
        if needed <= max_memory:
            return side
    has_large_chunks = needed - DECODED_CHUNKS * frames.image.chunk_bytes <= max_memory
    remedy = "save the input in smaller chunks" if has_large_chunks else "fuse fewer slices at a time"
    raise NotEnoughMemoryError(
        f"Each worker needs about {format_size(needed)} of memory, but {limit} {format_size(max_memory)}. "
        f"Allow more, or {remedy}.",
        needed=needed,
        limit=max_memory,
        chunks_too_large=has_large_chunks,
    )


def choose_tile_side(method: "FusionMethod", frames: "ZarrFrames", chunk: int, max_memory: int) -> int:
    """Return the largest useful side of tiles, in whole chunks, that fits into memory."""
    sides = (chunk * n for n in range(MAX_TILE_SIDE // chunk, 1, -1))
    return next((side for side in sides if worker_memory(method, frames, side, chunk) <= max_memory), chunk)


def worker_memory(method: "FusionMethod", frames: "ZarrFrames", side: int, chunk: int) -> int:
    """Return the bytes of a worker that fuses tiles of at most this side, one at a time, on one thread."""
    from panfocus.methods import Tile
    from panfocus.tiling.tiled import tile_bytes

    assert method.halo is not None  # checked before
    shape = (frames.shape[1], frames.shape[2])
    tiles = (Tile.at(inner, shape, method.halo) for inner in tile_regions(shape, side, chunk))
    tile = max(tiles, key=lambda tile: tile.pixels)
    channels = frames.shape[3] if frames.ndim == 4 else 1
    pixels = 2 * tile.pixels * len(frames) * frames.dtype.itemsize * channels  # as read, and corrected
    with limit_threads(1):
        working = pixels + tile_bytes(method, frames, tile)
    return PROGRAM + STORE_MEMORY + DECODED_CHUNKS * frames.image.chunk_bytes + working


def squares(shape: tuple[int, int], side: int) -> "Iterator[Region]":
    """Divide an image into squares of one side, from its first pixel on; the last ones are smaller."""
    rows, cols = ([slice(at, min(at + side, length)) for at in range(0, length, side)] for length in shape)
    yield from product(rows, cols)


def tile_regions(shape: tuple[int, int], side: int, chunk: int) -> "list[Region]":
    """Divide an image into as few tiles of whole chunks as this side allows, of similar size."""
    from panfocus.methods import cover

    return [tile.inner for tile in cover(shape, side, 0, multiple=chunk)]


def planes_per_task(region: "Region", chunk: int) -> int:
    """Return the number of planes of a region that one pyramid task reduces.

    It is larger for small regions: many time points of a small image would be many tasks of milliseconds.
    """
    rows, cols = region
    return int((chunk << LEVELS_PER_TASK) ** 2 // ((rows.stop - rows.start) * (cols.stop - cols.start)))


def search_side(image: "ZarrImage") -> int:
    """Return the side of parts to search: whole chunks of the input, or equal parts of large chunks."""
    chunk = max(n for n, axis in zip(image.chunks, image.axes, strict=True) if axis.name in "yx")
    return SEARCH_SIDE // chunk * chunk if chunk <= SEARCH_SIDE else -(-chunk // -(-chunk // SEARCH_SIDE))
