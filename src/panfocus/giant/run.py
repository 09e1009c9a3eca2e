"""The whole run: look through the slices, measure, fuse tiles, make smaller levels; it can go on later."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._threads import available_cores
from panfocus.cluster import Cluster
from panfocus.errors import FileError
from panfocus.giant.folder import RunFolder, Task, taken
from panfocus.giant.outputs import create_stores
from panfocus.giant.placing import make_ready, put_in_place
from panfocus.giant.plan import HALVINGS, rectangles, searched_side, tile_side, tiles
from panfocus.giant.prepare import GiantJob
from panfocus.giant.stages import Stages, tasks_of
from panfocus.giant.work import halve_level
from panfocus.job.listener import Listener
from panfocus.perform import Workers

Counts = dict[Task, tuple[list[int], list[int]]]  # what was found in each part: of either kind, by slices

REPORTED = ("panfocus", "source", "method", "settings", "decisions", "hot_pixels", "exposure", "step", "unit")


def run(job: GiantJob, listener: Listener, *, force: bool, cluster: Cluster | None = None) -> dict[str, Any]:
    """Fuse a store, or go on with what an earlier run has left; return a report."""
    with taken(job.folder, job.plan, listener.say) as folder:
        if folder.kept("ready") is None:
            stages = Stages(listener, Workers(cluster, job.request.threads or available_cores()))
            _make(folder, job, stages, force=force)
        listener.finish()
        return put_in_place(folder, job.targets, force=force)


def _make(folder: RunFolder, job: GiantJob, stages: Stages, *, force: bool) -> None:
    """Make all outputs, ready to be put in place."""
    started = time.perf_counter()
    create_stores(folder)
    _survey(folder, stages)
    units = _fused(folder, job, stages)
    _halve(folder, stages)
    _check_unchanged(job)
    stages.listener.progress("write", 0.0)

    def report() -> dict[str, Any]:
        return {
            **{name: job.plan[name] for name in REPORTED},
            "shape": list(folder.image.shape),
            "axes": [axis.name for axis in folder.image.axes],
            "missing_chunks": job.missing,
            "warnings": job.notices,
            "units": units,
            "stages": stages.done,
            "seconds": round(time.perf_counter() - started, 3),
        }

    make_ready(folder, job.targets, force=force, report=report)


def _check_unchanged(job: GiantJob) -> None:
    """Refuse a result of two inputs: one whose files were changed meanwhile."""
    from panfocus.io.ome_zarr import store_state

    if store_state(job.image).digest != job.plan["state"]:
        raise FileError(f"{job.image.path}: was changed while it was fused; the same command begins anew")


def _fused(folder: RunFolder, job: GiantJob, stages: Stages) -> list[dict[str, Any]]:
    """Fuse all tiles of all units; return what there is to tell of each."""
    from panfocus.execute import Shares

    sides, tasks = [], []
    for unit in range(len(folder.units)):
        frames = folder.frames(unit)
        method, _ = folder.surveyed(unit)
        sides.append(tile_side(method, frames, folder.plan["chunk"], job.max_memory))
        regions = tiles((frames.shape[1], frames.shape[2]), sides[-1], folder.plan["chunk"])
        tasks += tasks_of(folder, "fuse", unit, regions)
    told = stages.do("fuse", tasks)
    reports = []
    for unit, side in enumerate(sides):
        method, corrections = folder.surveyed(unit)
        of_tiles = [each for task, each in zip(tasks, told, strict=True) if task.unit == unit]
        shares = Shares(folder.image.length("z"))
        for tile in of_tiles:
            shares.add_counts(tile["shares"])
        reports.append(
            {
                "time": folder.units[unit].time,
                "channels": list(folder.units[unit].channels),
                "tiles": len(of_tiles),
                "tile": side,
                "halo": method.halo,
                "measured": getattr(method, "measured", {}),
                **corrections.report(),
                **of_tiles[0]["report"],
                **shares.report(),
            }
        )
    return reports


def _survey(folder: RunFolder, stages: Stages) -> None:
    """Find out, of every unit, what a tile cannot know by itself."""
    from panfocus.defects import value_span
    from panfocus.execute import BlockFrames

    units = [unit for unit in range(len(folder.units)) if folder.kept(f"survey-{unit}") is None]
    parts: list[Task] = []
    if folder.plan["hot_pixels"] != "off" or folder.image.dtype.kind == "f":
        for unit in units:
            frames = folder.frames(unit)
            folder.keep(f"span-{unit}", {"span": value_span(BlockFrames(frames, sampled=True))})
            shape = (frames.shape[1], frames.shape[2])
            parts += tasks_of(folder, "look", unit, rectangles(shape, searched_side(folder.image)))
    told = stages.do("look", parts) if parts else []
    stages.listener.progress("measure", 0.0)
    for n, unit in enumerate(units, start=1):
        of_unit = [(part, each) for part, each in zip(parts, told, strict=True) if part.unit == unit]
        _check_values(folder.image.path, [each["largest"] for _, each in of_unit])
        _measure(folder, unit, {part: each["counts"] for part, each in of_unit})
        stages.listener.progress("measure", n / len(units))


def _measure(folder: RunFolder, unit: int, parts: Counts) -> None:
    """Measure the frames of a unit, by strips, and keep what the method knows of them then."""
    from panfocus.execute import BlockFrames, Corrections
    from panfocus.exposure import measure_exposure
    from panfocus.methods import Surveyor

    # Chunks are kept for a while: strips and blocks that are measured share them.
    frames, how = BlockFrames(folder.frames(unit), sampled=True), folder.plan["hot_pixels"]
    hot = _hot_pixels(folder, parts, frames.shape, in_pairs=how == "on") if how != "off" else None
    repaired = hot.repair(frames) if hot else frames
    exposure = measure_exposure(repaired) if folder.plan["exposure"] == "auto" else None
    corrections = Corrections(hot, exposure)
    method = folder.method
    if isinstance(method, Surveyor):
        method = method.survey(corrections.of(frames))
    folder.keep_survey(unit, method, corrections)


def _check_values(path: Path, of_parts: list[list[float]]) -> None:
    """Refuse floats that are no numbers, or far from 0 to 1."""
    from panfocus._checks import check_range

    for k, largest in enumerate(np.max(of_parts, axis=0)) if of_parts else ():
        check_range(f"{path}: slice {k + 1}", float(largest))


def _hot_pixels(folder: RunFolder, parts: Counts, shape: tuple[int, ...], *, in_pairs: bool) -> Any:
    """Decide on what was found in all parts, one slice after another: of a pattern that may be a lot."""
    from panfocus.defects import gather_hot_pixels, most_defects

    most = most_defects(shape)

    def found(kind: int) -> Iterator[NDArray[np.float64]]:
        for k in range(shape[0]):
            here = [part for part, counts in parts.items() if counts[kind][k]]
            if sum(parts[part][kind][k] for part in here) > most:
                here = []  # they are no defects
            rows = [np.empty((0, 6)), *(folder.kept_array(f"found-{part.name}") for part in here)]
            yield np.concatenate([each[(each[:, 0] == kind) & (each[:, 1] == k), 2:] for each in rows])

    return gather_hot_pixels(found(0), found(1), shape, in_pairs=in_pairs)


def _halve(folder: RunFolder, stages: Stages) -> None:
    """Make the smaller levels: the first by all workers, the last, which are small, here."""
    n_levels, shape = folder.plan["levels"], folder.plan["size"]
    if n_levels == 1:
        return
    side = folder.plan["chunk"] << HALVINGS
    parts = [
        task
        for name in folder.plan["outputs"]
        for task in tasks_of(folder, "halve", 0, rectangles(shape, side), name)
    ]
    stages.do("pyramid", parts)
    whole = (slice(0, shape[0]), slice(0, shape[1]))
    for output in folder.plan["outputs"]:
        for level in range(HALVINGS + 1, n_levels):
            halve_level(folder, output, level, whole)
