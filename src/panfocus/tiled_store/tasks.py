"""Tasks of the workers: measure frames, fuse tiles, reduce pyramid levels. Each leaves a note when done.

A tile alone does not show the range of values, hot pixels, exposure and noise. These are measured first, in
all frames of a unit.
"""

import math
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import largest_magnitude
from panfocus._memory import reuse_freed_memory
from panfocus._threads import limit_threads
from panfocus.io.ome_zarr import use_one_thread
from panfocus.job.memory_plan import PROGRAM
from panfocus.tiled_store.checkpoint import StoreCheckpoint, TileTask, open_checkpoint, read_survey
from panfocus.tiled_store.tile_plan import (
    DECODED_CHUNKS,
    LEVELS_PER_TASK,
    STORE_MEMORY,
    choose_tile_side,
    planes_per_task,
    squares,
    unit_index,
)

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames
    from panfocus.methods import Region
    from panfocus.preprocess.hot_pixels import HotPixels
    from panfocus.result import FusionResult
    from panfocus.show.pyramid import How

# How four pixels of an output become one; the default is their mean.
REDUCTIONS: "dict[str, How]" = {"labels": "nearest", "never_in_focus": "any"}


def run_in_worker(task: TileTask) -> dict[str, Any]:
    """Run a task in a worker process, in which Zarr then has one thread."""
    use_one_thread()
    return run_task(task)


def run_task(task: TileTask) -> dict[str, Any]:
    """Run a task, unless it is finished; return its note."""
    if (note := read_task_note(task)) is not None:
        return note
    started = time.perf_counter()
    checkpoint = open_checkpoint(task.folder, task.run)
    with checkpoint.while_owned(), limit_threads(1), reuse_freed_memory():
        note = _STAGES[task.stage](checkpoint, task)
        note["seconds"] = round(time.perf_counter() - started, 4)
        checkpoint.write_note(f"done-{task.name}", note)
    return note


def read_task_note(task: TileTask) -> dict[str, Any] | None:
    """Return the note of a finished task; None if it is not finished."""
    note: dict[str, Any] | None = open_checkpoint(task.folder, task.run).read_note(f"done-{task.name}")
    return note


def search_tasks(checkpoint: StoreCheckpoint, unit: int) -> list[TileTask]:
    """Return the tasks that search a unit; none if there is nothing to search for."""
    plan = checkpoint.plan
    if plan["hot_pixels"] == "off" and checkpoint.image.dtype.kind != "f":
        return []
    return checkpoint.tasks("search", unit, squares(plan["size"], plan["searched"]))


def measure_range(checkpoint: StoreCheckpoint, task: TileTask) -> dict[str, Any]:
    """Measure the range of values of a unit, from which hot pixels stand out."""
    from panfocus.preprocess.hot_pixels import value_span
    from panfocus.tiling.dask_arrays import BlockFrames

    frames = checkpoint.frames(task.unit)
    span = value_span(BlockFrames(frames, sampled=True, most=_half_of_free(frames, checkpoint)))
    checkpoint.write_note(f"range-{task.unit}", {"span": span})
    return {}


def search(checkpoint: StoreCheckpoint, task: TileTask) -> dict[str, Any]:
    """Search a part of every frame for candidates of hot pixels; in floats, also for the largest value."""
    from panfocus.methods import within
    from panfocus.preprocess.hot_clusters import SEARCH_MARGIN, ClusterSearch
    from panfocus.preprocess.hot_pixels import SEARCH_REACH, cluster_limit, defect_limit, find_candidates

    frames = checkpoint.frames(task.unit)
    most, span = defect_limit(frames.shape), checkpoint.read_note(f"range-{task.unit}")["span"]
    wide, near = (_widened(task.region, margin, frames.shape) for margin in (SEARCH_MARGIN, SEARCH_REACH))
    rows, cols = within(wide, near)
    clusters = ClusterSearch(span, within(wide, task.region), cluster_limit(frames.shape))
    candidates, largest = [np.empty((0, 6))], []
    counts: tuple[list[int], list[int]] = ([], [])  # of both kinds, by frame
    for k, part in _read_frames(frames, wide, _half_of_free(frames, checkpoint)):
        if frames.dtype.kind == "f":
            largest.append(largest_magnitude(part[None], 0))
        clusters.add(part)
        for kind, single in enumerate((False, True)):
            pixels = find_candidates(part[rows, cols], most, span=span, single=single)
            pixels[:, 0] += near[0].start
            pixels[:, 1] += near[1].start
            counts[kind].append(len(pixels))
            candidates.append(np.column_stack([np.full((len(pixels), 2), (kind, k)), pixels]))
    checkpoint.write_array(f"found-{task.name}", np.concatenate(candidates))
    corner = np.array([wide[0].start, wide[1].start, 0, 0, 0])
    checkpoint.write_array(f"clusters-{task.name}", clusters.found() + corner)
    return {"largest": largest, "counts": counts, "clusters": clusters.n_first}


def _widened(region: "Region", margin: int, shape: tuple[int, ...]) -> "Region":
    """Return a region with a margin that ends at the borders of frames (n, h, w, ...)."""
    rows, cols = (
        slice(max(0, part.start - margin), min(part.stop + margin, length))
        for part, length in zip(region, shape[1:3], strict=True)
    )
    return rows, cols


def _read_frames(
    frames: "ZarrFrames", region: tuple[slice, ...], max_bytes: int
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the index and a region of every frame. Frames in the same chunks are read together."""
    depth = frames.chunks[0]
    frame_bytes = frames.dtype.itemsize * math.prod(
        (*(part.stop - part.start for part in region), *frames.shape[3:])
    )
    at_once = max(1, min(depth, max_bytes // frame_bytes))
    for first in range(0, len(frames), depth):
        end = min(first + depth, len(frames))
        for k in range(first, end, at_once):
            parts = frames[k : min(k + at_once, end), *region]
            yield from enumerate(parts, start=k)


def _half_of_free(frames: "ZarrFrames", checkpoint: StoreCheckpoint) -> int:
    """Return half of the bytes that a worker may use beyond its fixed needs."""
    fixed = PROGRAM + STORE_MEMORY + DECODED_CHUNKS * frames.image.chunk_bytes
    free: int = checkpoint.plan["max_memory"] - fixed
    return free // 2


def measure(checkpoint: StoreCheckpoint, task: TileTask) -> dict[str, Any]:
    """Measure the frames of a unit; write the corrections, and what the method measures."""
    from panfocus.methods import Surveyor
    from panfocus.preprocess.corrections import Corrections
    from panfocus.preprocess.exposure import measure_exposure
    from panfocus.tiling.dask_arrays import BlockFrames

    plan = checkpoint.plan
    stored = checkpoint.frames(task.unit)
    # Chunks are cached: the strips and blocks that are measured share them.
    frames = BlockFrames(stored, sampled=True, most=_half_of_free(stored, checkpoint))
    hot = _find_hot_pixels(checkpoint, task.unit, frames.shape) if plan["hot_pixels"] != "off" else None
    repaired = hot.repair(frames) if hot else frames
    exposure = measure_exposure(repaired) if plan["exposure"] == "auto" else None
    corrections = Corrections(hot, exposure)
    method = checkpoint.method
    if isinstance(method, Surveyor):
        method = method.survey(corrections.of(frames))
    checkpoint.write_survey(task.unit, method, corrections)
    return {
        "tile": choose_tile_side(method, stored, plan["chunk"], plan["max_memory"]),
        "halo": method.halo,
        "measured": getattr(method, "measured", {}),
        "corrections": corrections.report(),
    }


def _find_hot_pixels(checkpoint: StoreCheckpoint, unit: int, shape: tuple[int, ...]) -> "HotPixels":
    """Decide on the candidates of all parts, slice by slice: a pattern may have very many."""
    from panfocus.preprocess.hot_pixels import cluster_limit, combine_candidates, defect_limit

    most, parts = defect_limit(shape), search_tasks(checkpoint, unit)
    notes = {part: checkpoint.read_note(f"done-{part.name}") for part in parts}
    counts = {part: note["counts"] for part, note in notes.items()}  # of both kinds, by slice
    clusters = [np.empty((0, 5))]
    if sum(note["clusters"] for note in notes.values()) <= cluster_limit(shape):
        clusters += (checkpoint.read_array(f"clusters-{part.name}") for part in parts)

    def candidates(kind: int) -> Iterator[NDArray[np.float64]]:
        for k in range(shape[0]):
            here = [part for part in parts if counts[part][kind][k]]
            if sum(counts[part][kind][k] for part in here) > most:
                here = []  # too many for defects
            rows = [np.empty((0, 6)), *(checkpoint.read_array(f"found-{part.name}") for part in here)]
            yield np.concatenate([each[(each[:, 0] == kind) & (each[:, 1] == k), 2:] for each in rows])

    return combine_candidates(
        candidates(0),
        candidates(1),
        np.concatenate(clusters),
        shape,
        in_pairs=checkpoint.plan["hot_pixels"] == "on",
    )


def fuse(checkpoint: StoreCheckpoint, task: TileTask) -> dict[str, Any]:
    """Fuse a tile and write it into the stores; return figures for the report."""
    from panfocus.io.ome_zarr_writer import write_part
    from panfocus.methods import Tile
    from panfocus.tiling.tiled import Shares, fuse_part, region_to_read

    frames = checkpoint.frames(task.unit)
    method, corrections = read_survey(checkpoint, task.unit)
    assert method.halo is not None  # checked before
    tile = Tile.at(task.region, (frames.shape[1], frames.shape[2]), method.halo)
    region = region_to_read(tile)
    part = fuse_part(method, frames[:, *region], tile, corrections.within(*region))
    shares = Shares(len(frames))
    shares.add(part)
    unit = checkpoint.units[task.unit]
    for output in checkpoint.plan["outputs"]:
        index = unit_index(unit, checkpoint.units, checkpoint.leading_axes(output))
        values = _stored_values(output, part, len(unit.channels), checkpoint.plan["step"])
        write_part(checkpoint.store(output), 0, (*index, *task.region), values)
    return {"shares": shares.counts(), "report": part.report}


def _stored_values(output: str, part: "FusionResult", n_channels: int, step: float) -> NDArray[Any]:
    """Return the values of an output as stored: channels first, depth as distance, masks as 0 and 255."""
    values: NDArray[Any] = getattr(part, output)
    if output == "image" and values.ndim == 3:
        return np.moveaxis(values[..., :n_channels], 2, 0)
    if output == "depth":
        return (values.astype(np.float64) * step).astype(np.float32)
    return values.astype(np.uint8) * np.uint8(255) if output == "never_in_focus" else values


def make_levels(checkpoint: StoreCheckpoint, task: TileTask) -> dict[str, Any]:
    """Make the first reduced levels of a part of an output, for several of its planes."""
    end = task.first_plane + planes_per_task(task.region, checkpoint.plan["chunk"])
    planes = checkpoint.planes(task.output)[task.first_plane : end]
    for level in range(1, min(LEVELS_PER_TASK, checkpoint.plan["levels"] - 1) + 1):
        reduce_level(checkpoint, task.output, level, task.region, planes)
    return {}


def reduce_level(
    checkpoint: StoreCheckpoint,
    output: str,
    level: int,
    region: tuple[slice, slice],
    planes: Sequence[tuple[int, ...]],
) -> None:
    """Make a part of a level from the level before; `region` is in pixels of the full image."""
    from panfocus.io.ome_zarr_writer import open_level, write_part
    from panfocus.show.pyramid import halve

    store = checkpoint.store(output)
    before = open_level(store, level - 1)
    rows, cols = (slice(each.start >> level, -(-each.stop >> level)) for each in region)
    shape = (rows.stop - rows.start, cols.stop - cols.start)
    for down, across in squares(shape, checkpoint.plan["chunk"]):
        target = [slice(s.start + o.start, s.stop + o.start) for s, o in ((down, rows), (across, cols))]
        source = [slice(2 * s.start, 2 * s.stop) for s in target]
        for plane in planes:
            part = np.asarray(before[(*plane, *source)])
            write_part(store, level, (*plane, *target), halve(part, REDUCTIONS.get(output, "mean")))


_STAGES = {
    "range": measure_range,
    "search": search,
    "measure": measure,
    "fuse": fuse,
    "pyramid": make_levels,
}
