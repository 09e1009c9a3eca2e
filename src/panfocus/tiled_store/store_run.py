"""The whole run: look through the slices, measure, fuse tiles, make smaller levels; it can go on later."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from panfocus._threads import available_cores, limit_threads
from panfocus.errors import FileError, PanfocusError
from panfocus.parallel import Cluster
from panfocus.tiled_store.checkpoint import RunFolder, taken
from panfocus.tiled_store.commit import check_places, make_ready, put_in_place
from panfocus.tiled_store.outputs import create_stores
from panfocus.tiled_store.prepare import GiantJob
from panfocus.tiled_store.scheduler import Listener, Stages
from panfocus.tiled_store.survey import parts_to_look_at
from panfocus.tiled_store.tasks import halve_level, planes_of
from panfocus.tiled_store.tile_plan import HALVINGS, planes_at_once, rectangles, tiles

REPORTED = ("panfocus", "source", "method", "settings", "decisions", "hot_pixels", "exposure", "step", "unit")


def run(job: GiantJob, listener: Listener, *, force: bool, cluster: Cluster | None = None) -> dict[str, Any]:
    """Fuse a store, or go on with what an earlier run has left; return a report."""
    with taken(job.folder, job.plan, listener.say) as folder:
        check_places(folder, job.targets)
        try:
            if folder.kept("ready") is None:
                stages = Stages(listener, cluster, job.request.threads or available_cores())
                _make(folder, job, stages, force=force)
            listener.finish()
            return put_in_place(folder, job.targets, force=force)
        except PanfocusError as error:
            if not folder.room.exists():
                raise
            raise PanfocusError(
                f"{error}; {folder.said_kept}, or begins anew if the input was changed"
            ) from error


def _make(folder: RunFolder, job: GiantJob, stages: Stages, *, force: bool) -> None:
    """Make all outputs, ready to be put in place."""
    started = time.perf_counter()
    create_stores(folder)
    units = _fused(folder, stages, _surveyed(folder, stages))
    _halve(folder, stages)
    stages.listener.progress("write", 0.0)
    _check_unchanged(folder, job)

    def report() -> dict[str, Any]:
        stages.note("write")
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

    with limit_threads(job.request.threads):
        make_ready(folder, job.targets, force=force, report=report)


def _check_unchanged(folder: RunFolder, job: GiantJob) -> None:
    """Refuse a result of two inputs: one whose files were changed meanwhile."""
    from panfocus.io.ome_zarr import description_digest, store_state

    now = (store_state(job.image).digest, description_digest(job.image))
    if now != (job.plan["state"], job.plan["description"]):
        folder.remove()  # it is of no use to any run
        raise FileError(f"{job.image.path}: was changed while it was fused; the same command begins anew")


def _surveyed(folder: RunFolder, stages: Stages) -> list[dict[str, Any]]:
    """Find out, of every unit, what a tile cannot know by itself; return what there is to tell of each."""
    units = range(len(folder.units))
    whole = [(slice(0, folder.plan["size"][0]), slice(0, folder.plan["size"][1]))]

    def of_each_unit(stage: str) -> list[dict[str, Any]]:
        return stages.do(stage, [task for unit in units for task in folder.tasks(stage, unit, whole)])

    if parts := [part for unit in units for part in parts_to_look_at(folder, unit)]:
        of_each_unit("span")
        _check_values(folder.image.path, [each["largest"] for each in stages.do("look", parts)])
    return of_each_unit("measure")


def _check_values(path: Path, of_parts: list[list[float]]) -> None:
    """Refuse floats that are no numbers, or far from 0 to 1."""
    from panfocus._checks import check_range

    for k, largest in enumerate(np.max(of_parts, axis=0)):
        check_range(f"{path}: slice {k + 1}", float(largest))


def _fused(folder: RunFolder, stages: Stages, surveys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fuse all tiles of all units; return what there is to tell of each."""
    from panfocus.tiling import Shares

    tasks = [
        task
        for unit, survey in enumerate(surveys)
        for task in folder.tasks(
            "fuse", unit, tiles(folder.plan["size"], survey["tile"], folder.plan["chunk"])
        )
    ]
    of_units: list[list[dict[str, Any]]] = [[] for _ in surveys]
    for task, told in zip(tasks, stages.do("fuse", tasks), strict=True):
        of_units[task.unit].append(told)
    reports = []
    for unit, survey, of_tiles in zip(folder.units, surveys, of_units, strict=True):
        shares = Shares(folder.image.length("z"))
        for tile in of_tiles:
            shares.add_counts(tile["shares"])
        reports.append(
            {
                "time": unit.time,
                "channels": list(unit.channels),
                "tiles": len(of_tiles),
                "tile": survey["tile"],
                "halo": survey["halo"],
                "measured": survey["measured"],
                **survey["corrections"],
                **of_tiles[0]["report"],
                **shares.report(),
            }
        )
    return reports


def _halve(folder: RunFolder, stages: Stages) -> None:
    """Make the smaller levels: the first by all workers, the last, which are small, here."""
    n_levels, shape, chunk = (folder.plan[name] for name in ("levels", "size", "chunk"))
    if n_levels == 1:
        return
    planes = {output: planes_of(folder, output) for output in folder.plan["outputs"]}
    parts = [
        task
        for output, of_output in planes.items()
        for region in rectangles(shape, chunk << HALVINGS)
        for first in range(0, len(of_output), planes_at_once(region, chunk))
        for task in folder.tasks("halve", first, [region], output)
    ]
    stages.do("pyramid", parts)
    whole = (slice(0, shape[0]), slice(0, shape[1]))
    for output, of_output in planes.items():
        for level in range(HALVINGS + 1, n_levels):
            halve_level(folder, output, level, whole, of_output)
