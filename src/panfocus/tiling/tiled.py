"""Fusion tile by tile on all cores, with the same bits as for the whole image."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import IntArray
from panfocus._progress import Progress, Watch, silent, unwatched
from panfocus._threads import map_blocks, thread_count
from panfocus.errors import NotEnoughMemoryError
from panfocus.methods import FusionMethod, Layered, Region, Surveyor, Tile, cover, largest_tile, within
from panfocus.preprocess.corrections import Corrections
from panfocus.preprocess.hot_pixels import REPAIR_REACH
from panfocus.result import FusionResult
from panfocus.stack import Allocate, Frames, part_of

MIN_SIDE = 320  # pixels: smaller tiles give more threads work, but cost more for their halos
HALOS_PER_SIDE = 16  # smallest ratio of side to halo, so that little work is done twice
MAX_SIDE = 2100  # pixels: every thread holds a tile
MIN_PLANNED_SIDE = 64  # pixels: smallest side in memory plans
MIN_POSSIBLE_SIDE = 48  # pixels: less than planned, because cropped frames give other tiles
LAYER_BYTES = 4  # largest size of a layer for each frame and pixel

CONFIDENCE_STEPS = 1 << 24  # confidence is summed in integer steps: the order does not matter


def region_to_read(tile: Tile) -> Region:
    """Return the region to read for a tile: its outer part and the pixels around it for repairs."""
    rows, cols = (
        slice(max(0, span.start - REPAIR_REACH), min(span.stop + REPAIR_REACH, length))
        for span, length in zip(tile.outer, tile.shape, strict=True)
    )
    return rows, cols


def fuse_part(
    method: FusionMethod, pixels: NDArray[Any], tile: Tile, corrections: Corrections
) -> FusionResult:
    """Fuse a tile from the pixels of its `region_to_read` region and the corrections within it."""
    outer = within(region_to_read(tile), tile.outer)
    return method.fuse(np.asarray(corrections.of(pixels)[:, *outer]), tile)


def run_method(
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

    `maps` selects maps, by default all, and layers, by default none. Layers are large; `allocate` provides
    their arrays. The report has statistics of all maps. Tiles have at most `side` pixels per side, by default
    as many as are useful and fit into `max_memory` bytes, besides the frames and the result. Neither tiles
    nor threads change the result. `watch` is called with each finished part, in no particular order.
    """
    height, width = frames.shape[1:3]
    progress("fuse", 0.0)  # before the first tile, which may compile code
    if isinstance(method, Surveyor):
        # In another thread: Ctrl-C in this thread is lost while the compiler calls back into Python.
        (method,) = map_blocks(method.survey, [frames])
    arrays: dict[str, Any]
    kept = [name for name in method.maps if maps is None or name in maps]
    layers = [name for name in layers_of(method) if maps is not None and name in maps]
    shares = Shares(len(frames))
    if method.halo is None:
        whole, tile = np.asarray(frames[:]), Tile.whole((height, width))
        if layers and isinstance(method, Layered):
            result = method.fuse(whole, tile, layers)
        else:
            result = method.fuse(whole, tile)
        shares.add(result)
        watch(slice(0, height), slice(0, width), result)
        progress("fuse", 1.0)
        arrays = {name: getattr(result, name) for name in (*kept, *layers)}
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
    """Return the names of the layers that a method provides."""
    return method.layers if isinstance(method, Layered) else ()


def tiles_at_once(method: FusionMethod) -> int:
    """Return the number of tiles that are fused at once."""
    return 1 if method.uses_all_threads else thread_count()


def tile_side(
    method: FusionMethod, frames: Frames, max_memory: int | None, *, halo: int, n_layers: int = 0
) -> int:
    """Return the side of tiles with this halo: as large as is useful and as memory allows."""
    useful = min(MAX_SIDE, max(MIN_SIDE, HALOS_PER_SIDE * halo))
    if max_memory is None:
        return useful
    for side in range(useful, MIN_POSSIBLE_SIDE - 1, -1):
        if working_memory(method, frames, side, halo=halo, n_layers=n_layers) <= max_memory:
            return side
    needed = working_memory(method, frames, MIN_POSSIBLE_SIDE, halo=halo, n_layers=n_layers)
    raise NotEnoughMemoryError(
        f"Even small tiles of these frames need {needed / 1e6:,.0f} MB of memory besides the frames and the "
        f"result, but {max_memory / 1e6:,.0f} MB are left. Fewer threads need less.",
        hint="more_memory",
        setting="max_memory",
        got=max_memory,
        needed=needed,
    )


def working_memory(method: FusionMethod, frames: Frames, side: int, *, halo: int, n_layers: int = 0) -> int:
    """Return the bytes of all tiles of this side that are fused at once."""
    height, width = frames.shape[1:3]
    n_tiles = math.prod(-(-length // side) for length in (height, width))
    tile = largest_tile((height, width), side, halo)
    layers = n_layers * LAYER_BYTES * len(frames) * tile.trimmed(0).pixels
    return min(n_tiles, tiles_at_once(method)) * (tile_bytes(method, frames, tile) + layers)


def tile_bytes(method: FusionMethod, frames: Frames, tile: Tile) -> int:
    """Return the bytes of a tile: its frames and the arrays made from them."""
    n_channels = frames.shape[3] if frames.ndim == 4 else 1
    working = method.working_bytes(len(frames), n_channels, tile)
    if frames.dtype == np.float64:
        working *= 2  # arrays are float64 too
    read_whole = 0 if method.uses_all_threads else len(frames) * n_channels * frames.dtype.itemsize
    return working + read_whole * tile.pixels


class Shares:
    """Share of the image taken from each frame, mean confidence, and share that is never in focus.

    Sums are exact, so the result does not depend on the tiles or their order.
    """

    def __init__(self, n_frames: int) -> None:
        self._n_frames = n_frames
        self._pixels = 0
        self._sums: dict[str, IntArray] = {}  # by their name in the report

    def add(self, part: FusionResult) -> None:
        """Count the pixels of a tile."""
        sums: dict[str, Any] = {}
        if part.labels is not None:
            sums["frame_shares"] = np.bincount(part.labels.ravel(), minlength=self._n_frames)
        if part.confidence is not None:
            steps = np.rint(part.confidence * np.float32(CONFIDENCE_STEPS))
            sums["mean_confidence"] = steps.sum(dtype=np.int64)
        if part.never_in_focus is not None:
            sums["never_in_focus_share"] = np.count_nonzero(part.never_in_focus)
        self.add_counts({"pixels": math.prod(part.image.shape[:2]), "sums": sums})

    def counts(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {"pixels": self._pixels, "sums": {name: total.tolist() for name, total in self._sums.items()}}

    def add_counts(self, counted: dict[str, Any]) -> None:
        """Add counts of another process."""
        self._pixels += counted["pixels"]
        for name, counts in counted["sums"].items():
            self._sums[name] = self._sums.get(name, 0) + np.asarray(counts, np.int64)

    def report(self) -> dict[str, Any]:
        """Return the statistics of the maps that the method provides."""
        report: dict[str, Any] = {}
        for name, total in self._sums.items():
            unit = CONFIDENCE_STEPS if name == "mean_confidence" else 1
            shares = (total / unit / self._pixels).tolist()
            report[name] = [round(share, 6) for share in shares] if total.ndim else round(shares, 6)
        return report
