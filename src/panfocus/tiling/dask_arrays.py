"""Dask and Zarr arrays: measured block by block, then fused when it is asked for, tile by tile by Dask."""

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
from panfocus.errors import InputError, missing_extra
from panfocus.methods import FusionMethod, Surveyor, Tile, cover
from panfocus.result import FusionResult
from panfocus.stack import SAMPLED, LazyFrames, in_native_order
from panfocus.tiling.tile_fusion import Corrections, fuse_part, read_for
from panfocus.tiling.tiled import layers_of, tile_side
from panfocus.tiling.zarr_paths import check_found, is_dask, named_in_full, within_reach

KEPT_BYTES = 1 << 28  # of blocks that were read last; one of them, if that is larger


class BlockFrames(LazyFrames):
    """Frames of a Dask or Zarr array, read in its own blocks, of which the last few are kept.

    Of frames that are only `sampled`, by the same few rectangles in one after another, these are kept where a
    block holds several frames and not all blocks fit: else each block would be read once a frame.
    `most`: bytes that are kept, where memory is scarce.
    """

    def __init__(self, array: Any, *, sampled: bool = False, most: int | None = None) -> None:
        if any(math.isnan(length) for length in array.shape):
            raise InputError("the size of the frames is not known; call compute_chunk_sizes() on them first")
        super().__init__(tuple(map(int, array.shape)), np.dtype(array.dtype))
        self.array = within_reach(array)
        self._starts = [_starts(of_axis, n) for of_axis, n in zip(array.chunks, self.shape, strict=True)]
        self._kept: OrderedDict[tuple[int, ...], NDArray[Any]] = OrderedDict()
        self._one_at_a_time = threading.Lock()
        self._most = KEPT_BYTES if most is None else min(KEPT_BYTES, most)
        is_deep = len(self._starts[0]) - 1 < len(self)
        self._reads_ahead = sampled and is_deep and math.prod(self.shape) * self.dtype.itemsize > self._most

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        keys = [slice(k, k + 1), *place, *(slice(None) for _ in self.shape[len(place) + 1 :])]
        spans = [range(n)[key] for key, n in zip(keys, self.shape, strict=True)]
        if self._reads_ahead:
            return self._with_next(k, spans[1:])
        part = np.empty([len(span) for span in spans], self.dtype)
        touched = [
            range(bisect_right(starts, span.start) - 1, bisect_right(starts, span.stop - 1))
            for starts, span in zip(self._starts, spans, strict=True)
        ]
        for block in product(*touched):
            firsts = [starts[i] for starts, i in zip(self._starts, block, strict=True)]
            values = self._block(block)
            common = [
                range(max(span.start, first), min(span.stop, first + length))
                for span, first, length in zip(spans, firsts, values.shape, strict=True)
            ]
            into = (_from(both, span.start) for both, span in zip(common, spans, strict=True))
            out_of = (_from(both, first) for both, first in zip(common, firsts, strict=True))
            part[tuple(into)] = values[tuple(out_of)]
        return np.asarray(part[0])

    def _block(self, block: tuple[int, ...]) -> NDArray[Any]:
        spans = [range(starts[i], starts[i + 1]) for starts, i in zip(self._starts, block, strict=True)]
        return self._read(spans)

    def _with_next(self, k: int, rectangle: list[range]) -> NDArray[Any]:
        """Return a rectangle of frame k, read together with those of others in the same block.

        They are so many that all samples of theirs take half of what may be kept: reading takes the other.
        """
        values = max(math.prod(map(len, rectangle)), SAMPLED * math.prod(self.shape[3:]))
        at_once = max(1, self._most // 2 // (values * self.dtype.itemsize))
        block = bisect_right(self._starts[0], k) - 1
        begin, end = self._starts[0][block : block + 2]
        first = k - (k - begin) % at_once
        several = self._read([range(first, min(first + at_once, end)), *rectangle])
        return np.array(several[k - first])  # the kept one is not to be changed

    def _read(self, spans: Sequence[range]) -> NDArray[Any]:
        """Return a part of the array, as it was kept or is read now."""
        key = tuple(edge for span in spans for edge in (span.start, span.stop))
        with self._one_at_a_time:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            needed = math.prod(map(len, spans)) * self.dtype.itemsize
            while self._kept and sum(kept.nbytes for kept in self._kept.values()) + needed > self._most:
                self._kept.popitem(last=False)
            values = np.asarray(self.array[tuple(slice(span.start, span.stop) for span in spans)])
            self._kept[key] = values
            return values


def stacked(frames: Sequence[Any]) -> Any:
    """Return one lazy array of a sequence of frames (h, w[, c]), all of one size and type."""
    da, _ = _import_dask()
    alike = [blank(tuple(frame.shape), np.dtype(frame.dtype)) for frame in frames]
    for i, frame in enumerate(alike):
        check_kind(frame, f"frame {i}", alike[0], "frame 0")
    return da.stack([da.asanyarray(named_in_full(frame)) for frame in frames])


def run_lazily(
    method: FusionMethod,
    frames: BlockFrames,
    corrections: Corrections,
    *,
    maps: Collection[str] | None,
    max_memory: int | None,
    threads: int | None,
) -> FusionResult:
    """Return a result of Dask arrays; only what the method has to know of all frames is computed now.

    `threads` and `max_memory` are those of a tile: how many are fused at once is up to Dask.
    """
    da, delayed = _import_dask()
    if isinstance(method, Surveyor):
        method = method.survey(corrections.of(frames))
    name = type(method).__name__
    if method.halo is None:
        raise InputError(
            f"{name} needs the whole image at once; give it an array in memory, such as np.asarray(frames)"
        )
    if maps is not None and (asked := set(maps) & set(layers_of(method))):
        raise InputError(f"{', '.join(sorted(asked))} of lazy arrays cannot be told; leave them out")
    threads = threads or 1  # Dask has one for each core, as a rule
    with limit_threads(threads):
        side = tile_side(method, frames, max_memory, halo=method.halo)
    height, width = frames.shape[1:3]
    tiles = cover((height, width), side, method.halo)
    the_method = delayed(method)
    computed = is_dask(frames.array)
    parts = {}
    for tile in tiles:
        rows, cols = read_for(tile)
        given = frames.array[:, rows, cols] if computed else delayed(_read)(frames.array, rows, cols)
        fused = delayed(_fused)(the_method, given, tile, corrections.within(rows, cols), threads)
        parts[tile.inner[0].start, tile.inner[1].start] = (tile, fused)

    def whole(name: str, dtype: np.dtype[Any], channels: tuple[int, ...] = ()) -> Any:
        rows: dict[int, list[Any]] = {}
        for (top, _), (tile, fused) in sorted(parts.items()):
            shape = (*(span.stop - span.start for span in tile.inner), *channels)
            rows.setdefault(top, []).append(da.from_delayed(getattr(fused, name), shape, dtype))
        return da.concatenate([da.concatenate(row, axis=1) for row in rows.values()], axis=0)

    kept = [name for name in method.maps if maps is None or name in maps]
    return FusionResult(
        image=whole("image", frames.dtype, frames.shape[3:]),
        **{name: whole(name, map_dtype(name, len(frames))) for name in kept},
        report={"threads": threads, "measured": getattr(method, "measured", {})},
    )


def map_dtype(name: str, n_frames: int) -> np.dtype[Any]:
    """Return the type of a map of so many frames, as all methods give it."""
    labels = np.uint8 if n_frames <= 256 else np.uint16
    types: dict[str, type[Any]] = {"labels": labels, "never_in_focus": np.bool_}
    found: np.dtype[Any] = np.dtype(types.get(name, np.float32))
    return found


def _fused(
    method: FusionMethod, pixels: NDArray[Any], tile: Tile, corrections: Corrections, threads: int
) -> FusionResult:
    with limit_threads(threads):
        return fuse_part(method, in_native_order(np.asarray(pixels)), tile, corrections)


def _read(array: Any, *place: slice) -> NDArray[Any]:
    check_found(array)
    return np.asarray(array[:, *place])


def _starts(chunks: Any, length: int) -> list[int]:
    """Return where blocks begin, and the end: Dask tells the length of each, Zarr that of all."""
    if isinstance(chunks, int):
        return [*range(0, length, chunks), length]
    return [0, *accumulate(map(int, chunks))]


def _from(span: range, first: int) -> slice:
    return slice(span.start - first, span.stop - first)


def _import_dask() -> tuple[Any, Any]:
    try:
        import dask.array
        from dask.delayed import delayed
    except ImportError as error:
        raise missing_extra("A lazy array", "Dask", "dask") from error
    return dask.array, delayed
