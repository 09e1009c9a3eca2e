"""What a worker does with one task: it reads what it needs, writes what comes of it, and notes that."""

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus.giant.folder import RunFolder, Task, of_task
from panfocus.giant.plan import DECODED, HALVINGS, STORES, leading_axes, place_of, rectangles, tile_at
from panfocus.job.plan import PROGRAM

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames
    from panfocus.methods import FusionResult
    from panfocus.show.pyramid import How

# How four pixels of an output become one; those that are not named are means.
HALVED: "dict[str, How]" = {"labels": "nearest", "never_in_focus": "any"}


def work(task: Task) -> dict[str, Any]:
    """Do a task, unless it is done; return what there is to tell of it, as plain data."""
    from panfocus._threads import limit_threads
    from panfocus.io.ome_zarr import use_one_thread
    from panfocus.job.allocator import freed_memory_kept

    if (before := done_before(task)) is not None:
        return before
    started = time.perf_counter()
    folder = of_task(task.folder, task.run)
    use_one_thread()
    with folder.unless_over(), limit_threads(1), freed_memory_kept():
        told = {"look": look, "fuse": fuse, "halve": halve}[task.stage](folder, task)
        told["seconds"] = round(time.perf_counter() - started, 4)
        folder.keep(f"done-{task.name}", told)
    return told


def done_before(task: Task) -> dict[str, Any] | None:
    """Return what a task has told that is done."""
    told: dict[str, Any] | None = of_task(task.folder, task.run).kept(f"done-{task.name}")
    return told


def look(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Search a part of every frame for what may be hot pixels; of floats, find the largest value."""
    from panfocus._checks import largest_magnitude
    from panfocus.defects import SEARCH_REACH, most_defects, standing_alone, standing_out

    frames = folder.frames(task.unit)
    wide = tuple(
        slice(max(0, span.start - SEARCH_REACH), min(span.stop + SEARCH_REACH, length))
        for span, length in zip(task.region, frames.shape[1:3], strict=True)
    )
    most, span = most_defects(frames.shape), folder.kept(f"span-{task.unit}")["span"]
    found, largest = [np.empty((0, 6))], []
    counts: tuple[list[int], list[int]] = ([], [])  # of both kinds, in each frame
    for k, part in _one_after_another(frames, wide, folder.plan["max_memory"]):
        if frames.dtype.kind == "f":
            largest.append(largest_magnitude(part[None], 0))
        for kind, search in enumerate((standing_out, standing_alone)):
            here = search(part, most, span=span)
            here[:, 0] += wide[0].start
            here[:, 1] += wide[1].start
            counts[kind].append(len(here))
            found.append(np.column_stack([np.full((len(here), 2), (kind, k)), here]))
    folder.keep_array(f"found-{task.name}", np.concatenate(found))
    return {"largest": largest, "counts": counts}


def _one_after_another(
    frames: "ZarrFrames", wide: tuple[slice, ...], max_memory: int
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number and a rectangle of every frame; those in the same chunks are read together.

    They take at most half of the memory that is left beside what every worker needs.
    """
    depth = frames.chunks[0]
    left = max_memory - PROGRAM - STORES - DECODED * frames.image.chunk_bytes
    bytes_of_one = frames.dtype.itemsize * math.prod(
        (*(span.stop - span.start for span in wide), *frames.shape[3:])
    )
    at_once = max(1, min(depth, left // 2 // bytes_of_one))
    for first in range(0, len(frames), depth):
        end = min(first + depth, len(frames))
        for k in range(first, end, at_once):
            parts = frames[k : min(k + at_once, end), *wide]
            yield from enumerate(parts, start=k)


def fuse(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Fuse a tile and write it into the stores; return what a report adds up."""
    from panfocus.execute import Shares, fuse_part, read_for
    from panfocus.io.ome_zarr_writer import write_part

    frames = folder.frames(task.unit)
    method, corrections = folder.surveyed(task.unit)
    assert method.halo is not None  # others are refused
    tile = tile_at(task.region, (frames.shape[1], frames.shape[2]), method.halo)
    place = read_for(tile)
    part = fuse_part(method, frames[:, *place], tile, corrections.within(*place))
    shares = Shares(len(frames))
    shares.add(part)
    unit = folder.units[task.unit]
    for output in folder.plan["outputs"]:
        axes = leading_axes(folder.image, map_of=output != "image", decisions=folder.decisions)
        at = place_of(unit, folder.units, axes)
        values = _written(output, part, len(unit.channels), folder.plan["step"])
        write_part(folder.store(output), 0, (*at, *task.region), values)
    return {"shares": shares.counts(), "report": part.report}


def halve(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Make the first smaller levels of a part of an output; its corner is one of a chunk of the last."""
    for level in range(1, min(HALVINGS, folder.plan["levels"] - 1) + 1):
        halve_level(folder, task.output, level, task.region)
    return {}


def halve_level(folder: RunFolder, output: str, level: int, region: tuple[slice, slice]) -> None:
    """Make a part of a level, which is named by its pixels in the picture, from the one before."""
    from panfocus.io.ome_zarr_writer import open_level, write_part
    from panfocus.show.pyramid import halved

    store = folder.store(output)
    before = open_level(store, level - 1)
    rows, cols = (slice(span.start >> level, -(-span.stop >> level)) for span in region)
    for down, across in rectangles((rows.stop - rows.start, cols.stop - cols.start), folder.plan["chunk"]):
        to = [slice(s.start + o.start, s.stop + o.start) for s, o in ((down, rows), (across, cols))]
        of = [slice(2 * s.start, 2 * s.stop) for s in to]
        for at in np.ndindex(*before.shape[:-2]):
            part = np.asarray(before[(*at, *of)])
            write_part(store, level, (*at, *to), halved(part, HALVED.get(output, "mean")))


def _written(output: str, part: "FusionResult", n_channels: int, step: float) -> NDArray[Any]:
    """Return what is written of a part: channels first, depth as distances, truth as 0 and 255."""
    values: NDArray[Any] = getattr(part, output)
    if output == "image" and values.ndim == 3:
        return np.moveaxis(values[..., :n_channels], 2, 0)
    if output == "depth":
        return (values.astype(np.float64) * step).astype(np.float32)
    return values.astype(np.uint8) * np.uint8(255) if output == "never_in_focus" else values
