"""What a worker does with one task: it reads what it needs, writes what comes of it, and notes that."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus.tiled_store.checkpoint import RunFolder, Task, of_task
from panfocus.tiled_store.survey import look, measure, span
from panfocus.tiled_store.tile_plan import (
    HALVINGS,
    leading_axes,
    place_of,
    planes_at_once,
    rectangles,
    tile_at,
)

if TYPE_CHECKING:
    from panfocus.result import FusionResult
    from panfocus.show.pyramid import How

# How four pixels of an output become one; those that are not named are means.
HALVED: "dict[str, How]" = {"labels": "nearest", "never_in_focus": "any"}


def work(task: Task) -> dict[str, Any]:
    """Do a task, unless it is done; return what there is to tell of it, as plain data."""
    from panfocus._malloc import freed_memory_kept
    from panfocus._threads import limit_threads
    from panfocus.io.ome_zarr import use_one_thread

    if (before := done_before(task)) is not None:
        return before
    started = time.perf_counter()
    folder = of_task(task.folder, task.run)
    use_one_thread()
    with folder.unless_over(), limit_threads(1), freed_memory_kept():
        told = _STAGES[task.stage](folder, task)
        told["seconds"] = round(time.perf_counter() - started, 4)
        folder.keep(f"done-{task.name}", told)
    return told


def done_before(task: Task) -> dict[str, Any] | None:
    """Return what a task has told that is done."""
    told: dict[str, Any] | None = of_task(task.folder, task.run).kept(f"done-{task.name}")
    return told


def fuse(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Fuse a tile and write it into the stores; return what a report adds up."""
    from panfocus.io.ome_zarr_writer import write_part
    from panfocus.tiling import Shares, fuse_part, read_for

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
    """Make the first smaller levels of a part of an output; its corner is one of a chunk of the last.

    The task's unit is the first of the planes that it is at.
    """
    planes = planes_of(folder, task.output)
    end = task.unit + planes_at_once(task.region, folder.plan["chunk"])
    for level in range(1, min(HALVINGS, folder.plan["levels"] - 1) + 1):
        halve_level(folder, task.output, level, task.region, planes[task.unit : end])
    return {}


def planes_of(folder: RunFolder, output: str) -> list[tuple[int, ...]]:
    """Return the places of all planes of an output, on its axes before rows and columns."""
    from panfocus.io.ome_zarr_writer import open_level

    return list(np.ndindex(*open_level(folder.store(output), 0).shape[:-2]))


def halve_level(
    folder: RunFolder,
    output: str,
    level: int,
    region: tuple[slice, slice],
    planes: Sequence[tuple[int, ...]],
) -> None:
    """Make a part of a level, which is named by its pixels in the picture, from the one before."""
    from panfocus.io.ome_zarr_writer import open_level, write_part
    from panfocus.show.pyramid import halved

    store = folder.store(output)
    before = open_level(store, level - 1)
    rows, cols = (slice(each.start >> level, -(-each.stop >> level)) for each in region)
    for down, across in rectangles((rows.stop - rows.start, cols.stop - cols.start), folder.plan["chunk"]):
        to = [slice(s.start + o.start, s.stop + o.start) for s, o in ((down, rows), (across, cols))]
        of = [slice(2 * s.start, 2 * s.stop) for s in to]
        for at in planes:
            part = np.asarray(before[(*at, *of)])
            write_part(store, level, (*at, *to), halved(part, HALVED.get(output, "mean")))


_STAGES = {"span": span, "look": look, "measure": measure, "fuse": fuse, "halve": halve}


def _written(output: str, part: "FusionResult", n_channels: int, step: float) -> NDArray[Any]:
    """Return what is written of a part: channels first, depth as distances, truth as 0 and 255."""
    values: NDArray[Any] = getattr(part, output)
    if output == "image" and values.ndim == 3:
        return np.moveaxis(values[..., :n_channels], 2, 0)
    if output == "depth":
        return (values.astype(np.float64) * step).astype(np.float32)
    return values.astype(np.uint8) * np.uint8(255) if output == "never_in_focus" else values
