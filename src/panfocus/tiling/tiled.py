"""Tiles on all cores: every pixel is what the method gives for the whole image, bit for bit."""

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from panfocus._progress import Progress, Watch, silent, unwatched
from panfocus._threads import map_blocks, thread_count
from panfocus.errors import InputError
from panfocus.methods import FusionMethod, Layered, Surveyor, Tile, cover, largest
from panfocus.result import FusionResult
from panfocus.stack import Frames, part_of
from panfocus.tiling.statistics import Shares

MIN_SIDE = 320  # two tiles a side, and work for four threads, in the 520 pixels of the usual test images
HALOS_PER_SIDE = 16  # a wide halo takes wide tiles, or most of the work would be done twice
MAX_SIDE = 2100  # but every thread holds one
LEAST_SIDE = 64  # what memory has to suffice for, in plans
SMALLEST_SIDE = 48  # less, as aligned frames are cropped, and cut into tiles otherwise than was planned
LAYER_BYTES = 4  # of a layer, for each frame and pixel, at most

Allocate = Callable[[tuple[int, ...], np.dtype[Any]], Any]  # what can be filled plane by plane, as an array


def run(
    method: FusionMethod,
    frames: Frames,
    progress: Progress = silent,
    *,
    maps: Collection[str] | None = None,
    max_memory: int | None = None,
    side: int | None = None,
    allocate: Allocate = np.empty,
    watch: Watch = unwatched,
) -> FusionResult:
    """Fuse frames (n, h, w) or (n, h, w, c) by a method, tile by tile if it has a halo.

    Of the method's maps those named are kept, by default all; the report has the shares of all. Of its
    layers, which are large, only those named are made, where `allocate` finds room for them. Tiles have at
    most `side` pixels, by default as many as are useful and as `max_memory` bytes allow, beside the frames
    and the result. Neither the tiles nor the number of threads change the result. `watch` is shown each part
    as it comes, in no particular order.
    """
    height, width = frames.shape[1:3]
    progress("fuse", 0.0)  # before the first tile, which may have to compile
    if isinstance(method, Surveyor):
        # In another thread: an interrupt of this one, where the compiler calls back into Python, is lost.
        (method,) = map_blocks(method.survey, [frames])
    arrays: dict[str, Any]
    kept = [name for name in method.maps if maps is None or name in maps]
    layers = [name for name in layers_of(method) if maps is not None and name in maps]
    shares = Shares(len(frames))
    if method.halo is None:
        result = method.fuse(np.asarray(frames[:]), Tile.whole((height, width)))
        shares.add(result)
        watch(slice(0, height), slice(0, width), result)
        progress("fuse", 1.0)
        arrays = {name: getattr(result, name) for name in kept}
        return FusionResult(image=result.image, report=result.report | shares.report(), **arrays)
    side = side or tile_side(method, frames, max_memory, halo=method.halo, n_layers=len(layers))
    tiles = cover((height, width), side, method.halo)
    image = np.empty(frames.shape[1:], frames.dtype)
    arrays = {}
    report: dict[str, Any] = {}

    def fuse(tile: Tile) -> tuple[Tile, FusionResult]:
        given: Any = part_of(frames, *tile.outer)
        if not method.uses_all_threads:
            given = np.asarray(frames[:, *tile.outer])
        if layers and isinstance(method, Layered):
            return tile, method.fuse(given, tile, layers)
        return tile, method.fuse(given, tile)

    for i, (tile, part) in enumerate(map_blocks(fuse, tiles, threads=tiles_at_once(method))):
        image[tile.inner] = part.image
        for name in kept:
            values = getattr(part, name)
            arrays.setdefault(name, np.empty((height, width), values.dtype))[tile.inner] = values
        for name in layers:
            planes = getattr(part, name)
            if name not in arrays:
                arrays[name] = allocate((len(planes), height, width), planes.dtype)
            for k, plane in enumerate(planes):
                arrays[name][k, *tile.inner] = plane
        shares.add(part)
        watch(*tile.inner, part)
        report = part.report
        progress("fuse", (i + 1) / len(tiles))
    return FusionResult(image=image, report=report | shares.report(), **arrays)


def layers_of(method: FusionMethod) -> tuple[str, ...]:
    """Name the layers that a method can tell."""
    return method.layers if isinstance(method, Layered) else ()


def tiles_at_once(method: FusionMethod) -> int:
    """Tiles that are fused beside each other."""
    return 1 if method.uses_all_threads else thread_count()


def tile_side(
    method: FusionMethod, frames: Frames, max_memory: int | None, *, halo: int, n_layers: int = 0
) -> int:
    """Choose the side of tiles with this halo: as large as is useful, and as memory allows."""
    useful = min(MAX_SIDE, max(MIN_SIDE, HALOS_PER_SIDE * halo))
    if max_memory is None:
        return useful
    for side in range(useful, SMALLEST_SIDE - 1, -1):
        if working_memory(method, frames, side, halo=halo, n_layers=n_layers) <= max_memory:
            return side
    needed = working_memory(method, frames, SMALLEST_SIDE, halo=halo, n_layers=n_layers)
    raise InputError(
        f"{max_memory / 1e6:,.0f} MB are too little memory to work on these frames even in small tiles; "
        f"needed: {needed / 1e6:,.0f} MB beside what the frames and the result take, or fewer threads"
    )


def working_memory(method: FusionMethod, frames: Frames, side: int, *, halo: int, n_layers: int = 0) -> int:
    """Bytes that tiles of one side take, so many as are fused at once."""
    height, width = frames.shape[1:3]
    n_tiles = math.prod(-(-length // side) for length in (height, width))
    tile = largest((height, width), side, halo)
    layers = n_layers * LAYER_BYTES * len(frames) * tile.trimmed(0).pixels
    return min(n_tiles, tiles_at_once(method)) * (tile_bytes(method, frames, tile) + layers)


def tile_bytes(method: FusionMethod, frames: Frames, tile: Tile) -> int:
    """Bytes that a tile takes: its frames, and what is made of them."""
    n_channels = frames.shape[3] if frames.ndim == 4 else 1
    working = method.working_bytes(len(frames), n_channels, tile)
    if frames.dtype == np.float64:
        working *= 2  # as are the planes that are made of them
    read_whole = 0 if method.uses_all_threads else len(frames) * n_channels * frames.dtype.itemsize
    return working + read_whole * tile.pixels
