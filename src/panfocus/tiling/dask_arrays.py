"""Lazy fusion of Dask and Zarr arrays: measured now, fused tile by tile when Dask computes the result."""

import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Sequence
from itertools import accumulate, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import blank, check_kind
from panfocus._threads import limit_threads
from panfocus.decide.labels import label_dtype
from panfocus.errors import InputError, missing_extra
from panfocus.methods import FusionMethod, Surveyor, Tile, cover
from panfocus.preprocess.corrections import Corrections
from panfocus.result import MAPS, FusionResult
from panfocus.stack import SAMPLED, LazyFrames, in_native_order
from panfocus.tiling.tiled import fuse_part, layers_of, region_to_read, tile_side
from panfocus.tiling.zarr_paths import check_found, is_dask, reachable_array, with_absolute_path

CACHE_BYTES = 1 << 28  # of the blocks read last; at least one block


class BlockFrames(LazyFrames):
    """Frames of a Dask or Zarr array, read in its own blocks; the last blocks are cached.

    With `sampled`, callers read the same few rectangles of one frame after another. If a block holds several
    frames and the cache is too small, these rectangles are read for several frames at once; otherwise each
    block would be read once per frame. `most` limits the bytes of the cache.
    """

    def __init__(self, array: Any, *, sampled: bool = False, most: int | None = None) -> None:
        if any(math.isnan(length) for length in array.shape):
            raise InputError(
                "The size of the frames is unknown. Call compute_chunk_sizes() on them first.",
                setting="frames",
            )
        super().__init__(tuple(map(int, array.shape)), np.dtype(array.dtype))
        self.array = reachable_array(array)
        self._starts = [_starts(of_axis, n) for of_axis, n in zip(array.chunks, self.shape, strict=True)]
        self._cache: OrderedDict[tuple[int, ...], NDArray[Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._most = CACHE_BYTES if most is None else min(CACHE_BYTES, most)
        is_deep = len(self._starts[0]) - 1 < len(self)
        self._reads_ahead = sampled and is_deep and math.prod(self.shape) * self.dtype.itemsize > self._most

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        keys = [slice(k, k + 1), *place, *(slice(None) for _ in self.shape[len(place) + 1 :])]
        spans = [range(n)[key] for key, n in zip(keys, self.shape, strict=True)]
        if self._reads_ahead:
            return self._read_ahead(k, spans[1:])
        part = np.empty([len(span) for span in spans], self.dtype)
        touched = [
            range(bisect_right(starts, span.start) - 1, bisect_right(starts, span.stop - 1))
            for starts, span in zip(self._starts, spans, strict=True)
        ]
        for block in product(*touched):
            edges = [range(starts[i], starts[i + 1]) for starts, i in zip(self._starts, block, strict=True)]
            common = [
                range(max(span.start, edge.start), min(span.stop, edge.stop))
                for span, edge in zip(spans, edges, strict=True)
            ]
            part[_relative(common, spans)] = self._read(edges)[_relative(common, edges)]
        return np.asarray(part[0])

    def _read_ahead(self, k: int, rectangle: list[range]) -> NDArray[Any]:
        """Return a rectangle of frame k, read together with other frames of the same block.

        Their samples take half of the cache; reading needs the other half.
        """
        values = max(math.prod(map(len, rectangle)), SAMPLED * math.prod(self.shape[3:]))
        at_once = max(1, self._most // 2 // (values * self.dtype.itemsize))
        block = bisect_right(self._starts[0], k) - 1
        begin, end = self._starts[0][block : block + 2]
        first = k - (k - begin) % at_once
        several = self._read([range(first, min(first + at_once, end)), *rectangle])
        return np.array(several[k - first])  # the cached array must not change

    def _read(self, spans: Sequence[range]) -> NDArray[Any]:
        """Return a part of the array from the cache, or read it."""
        key = tuple(edge for span in spans for edge in (span.start, span.stop))
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            needed = math.prod(map(len, spans)) * self.dtype.itemsize
            while self._cache and sum(block.nbytes for block in self._cache.values()) + needed > self._most:
                self._cache.popitem(last=False)
            values = np.asarray(self.array[tuple(slice(span.start, span.stop) for span in spans)])
            self._cache[key] = values
            return values


def stack_lazy_frames(frames: Sequence[Any]) -> Any:
    """Return one lazy array from a sequence of frames (h, w[, c]) of one size and dtype."""
    da, _ = _import_dask()
    alike = [blank(tuple(frame.shape), np.dtype(frame.dtype)) for frame in frames]
    for i, frame in enumerate(alike):
        check_kind(frame, f"frame {i}", alike[0], "frame 0")
    return da.stack([da.asanyarray(with_absolute_path(frame)) for frame in frames])


def run_lazily(
    method: FusionMethod,
    frames: BlockFrames,
    corrections: Corrections,
    *,
    maps: Collection[str] | None,
    max_memory: int | None,
    threads: int | None,
) -> FusionResult:
    """Return a result of Dask arrays; only measurements of the whole stack are computed now.

    `threads` and `max_memory` apply to one tile; Dask decides how many tiles run at once.
    """
    da, delayed = _import_dask()
    if isinstance(method, Surveyor):
        method = method.survey(corrections.of(frames))
    name = type(method).__name__
    if method.halo is None:
        raise InputError(
            f"The method {name} needs the whole image at once. Load the frames with np.asarray(frames).",
            setting="method",
            got=name,
        )
    if maps is not None and (layers := sorted(set(maps) & set(layers_of(method)))):
        raise InputError(
            f"`maps` of lazy arrays cannot include {', '.join(layers)}.", setting="maps", got=tuple(layers)
        )
    threads = threads or 1  # Dask usually runs one tile per core
    with limit_threads(threads):
        side = tile_side(method, frames, max_memory, halo=method.halo)
    height, width = frames.shape[1:3]
    tiles = cover((height, width), side, method.halo)
    delayed_method = delayed(method)
    has_dask = is_dask(frames.array)
    parts = {}
    for tile in tiles:
        rows, cols = region_to_read(tile)
        pixels = frames.array[:, rows, cols] if has_dask else delayed(_read)(frames.array, rows, cols)
        fused = delayed(_fuse)(delayed_method, pixels, tile, corrections.within(rows, cols), threads)
        parts[tile.inner[0].start, tile.inner[1].start] = (tile, fused)

    def whole(name: str, dtype: np.dtype[Any], channels: tuple[int, ...] = ()) -> Any:
        rows: dict[int, list[Any]] = {}
        for (top, _), (tile, fused) in sorted(parts.items()):
            shape = (*(span.stop - span.start for span in tile.inner), *channels)
            rows.setdefault(top, []).append(da.from_delayed(getattr(fused, name), shape, dtype))
        return da.concatenate([da.concatenate(row, axis=1) for row in rows.values()], axis=0)

    names = [name for name in method.maps if maps is None or name in maps]
    return FusionResult(
        image=whole("image", frames.dtype, frames.shape[3:]),
        **{name: whole(name, map_dtype(name, len(frames))) for name in names},
        report={"threads": threads, "measured": getattr(method, "measured", {})},
    )


def lazy_channels(frames: Any) -> list[Any]:
    """Return the channels of a Dask or Zarr array (n, h, w, c) as Dask arrays (n, h, w)."""
    da, _ = _import_dask()
    array = da.asanyarray(with_absolute_path(frames))
    return [array[..., c] for c in range(array.shape[3])]


def merge_lazily(parts: Sequence[FusionResult]) -> FusionResult:
    """Merge the results of channels as `fuse_separately` does; maps need confidence, which chooses them."""
    da, _ = _import_dask()
    maps = {name: plane for name in MAPS if (plane := getattr(parts[0], name)) is not None}
    if maps and "confidence" not in maps:
        raise InputError(
            "Channels of lazy arrays can be fused separately only by methods with confidence. Load the "
            "frames with np.asarray(frames).",
            setting="decide_channels",
        )
    for part in parts[1:] if maps else ():
        better = part.confidence > maps["confidence"]
        maps = {name: da.where(better, getattr(part, name), plane) for name, plane in maps.items()}
    report = {"decide_channels": "separate", "separate_channels": [part.report for part in parts]}
    return FusionResult(da.stack([part.image for part in parts], axis=-1), **maps, report=report)


def map_dtype(name: str, n_frames: int) -> np.dtype[Any]:
    """Return the dtype of a map of a stack of `n_frames` frames."""
    types: dict[str, type[Any]] = {"labels": label_dtype(n_frames), "never_in_focus": np.bool_}
    return np.dtype(types.get(name, np.float32))


def _fuse(
    method: FusionMethod, pixels: NDArray[Any], tile: Tile, corrections: Corrections, threads: int
) -> FusionResult:
    with limit_threads(threads):
        return fuse_part(method, in_native_order(np.asarray(pixels)), tile, corrections)


def _read(array: Any, *place: slice) -> NDArray[Any]:
    check_found(array)
    return np.asarray(array[:, *place])


def _starts(chunks: Any, length: int) -> list[int]:
    """Return the starts of blocks, and the end. Dask lists the length of each block, Zarr one length."""
    if isinstance(chunks, int):
        return [*range(0, length, chunks), length]
    return [0, *accumulate(map(int, chunks))]


def _relative(place: Sequence[range], whole: Sequence[range]) -> tuple[slice, ...]:
    """Return the index of a place in an array that holds `whole`."""
    return tuple(
        slice(span.start - outer.start, span.stop - outer.start)
        for span, outer in zip(place, whole, strict=True)
    )


def _import_dask() -> tuple[Any, Any]:
    try:
        import dask.array
        from dask.delayed import delayed
    except ImportError as error:
        raise missing_extra("A lazy array", "Dask", "dask") from error
    return dask.array, delayed
