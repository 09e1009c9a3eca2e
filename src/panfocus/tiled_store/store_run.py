"""Run the fusion of a store in stages: search, measure, fuse tiles, reduce levels, commit. It can resume."""

import dataclasses
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from panfocus._checks import check_range
from panfocus._progress import Progress, silent
from panfocus._threads import available_cores, limit_threads
from panfocus.errors import FileError, PanfocusError
from panfocus.io.ome_zarr import one_chunk_at_a_time, store_state
from panfocus.parallel import STOPPING, Cluster, run_tasks
from panfocus.tiled_store.checkpoint import StoreCheckpoint, TileTask, resume_or_start
from panfocus.tiled_store.outputs import check_targets, commit, create_stores, prepare_commit
from panfocus.tiled_store.prepare import StoreJob
from panfocus.tiled_store.tasks import (
    read_task_note,
    reduce_level,
    run_in_worker,
    run_task,
    search_tasks,
)
from panfocus.tiled_store.tile_plan import LEVELS_PER_TASK, planes_per_task, squares, tile_regions

REPORTED = (
    *("panfocus", "source", "method", "settings", "decide_channels"),
    *("hot_pixels", "exposure", "step", "unit"),
)


def run(
    job: StoreJob,
    *,
    force: bool = False,
    cluster: Cluster | None = None,
    progress: Progress = silent,
    notify: Callable[[str], None] = lambda _: None,
    before_commit: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Fuse a store, or resume; return a report.

    `notify` gets sentences for users. `before_commit` is called before files replace anything.
    """
    with resume_or_start(job.folder, job.plan, notify) as checkpoint:
        check_targets(checkpoint, job.targets)
        try:
            if checkpoint.read_note("ready") is None:
                stages = StageRunner(
                    checkpoint, progress, cluster=cluster, processes=job.request.threads or available_cores()
                )
                _make_outputs(job, stages, force=force)
            before_commit()
            return commit(checkpoint, force=force)
        except PanfocusError as error:
            if not checkpoint.run_folder.exists():
                raise
            raise PanfocusError(
                f"{error.message} Finished tiles are kept in {checkpoint.path}; run the command again to "
                "resume.",
                hint=error.hint,
                **{**error.facts, "checkpoint": checkpoint.path},
            ) from error


@dataclass
class StageRunner:
    """Runs the tasks of one stage after another, and records the time of each."""

    checkpoint: StoreCheckpoint
    progress: Progress
    cluster: Cluster | None = None
    processes: int = 1
    finished: list[dict[str, Any]] = field(default_factory=list)  # figures of each stage, as plain data
    _ended: float = field(default_factory=time.perf_counter)

    def run(self, stage: str, tasks: Sequence[TileTask]) -> list[dict[str, Any]]:
        """Run the tasks that are not finished; return the notes of all, in order."""
        notes = [read_task_note(task) for task in tasks]
        left = [i for i, note in enumerate(notes) if note is None]
        seconds = 0.0
        self.progress(stage, 1 - len(left) / len(tasks))
        with closing(self._results([(tasks[i],) for i in left])) as results:
            for n, (index, result) in enumerate(results, start=1):
                if isinstance(result, PanfocusError):
                    raise result
                notes[left[index]] = result
                seconds += result["seconds"]
                self.progress(stage, 1 - (len(left) - n) / len(tasks))
        self.record(stage, len(left), seconds)
        return [note for note in notes if note is not None]

    def record(self, stage: str, n_tasks: int = 0, worker_seconds: float = 0.0) -> None:
        """Record the time since the end of the stage before."""
        now = time.perf_counter()
        self.finished.append(
            {
                "stage": stage,
                "tasks": n_tasks,
                "seconds": round(now - self._ended, 3),
                "seconds_of_workers": round(worker_seconds, 3),
            }
        )
        self._ended = now

    def _results(
        self, tasks: Sequence[tuple[TileTask]]
    ) -> Generator[tuple[int, dict[str, Any] | PanfocusError]]:
        if len(tasks) < 2 and not self.cluster:  # not worth a process
            return self._run_here(tasks)
        return run_tasks(
            run_in_worker,
            tasks,
            cluster=self.cluster,
            processes=self.processes,
            threads=1,
            paths=self.checkpoint.needed_paths,
            modules=("zarr",),
            on_stop=lambda: self.progress(STOPPING, 0.0),
        )

    @staticmethod
    def _run_here(tasks: Sequence[tuple[TileTask]]) -> Generator[tuple[int, dict[str, Any]]]:
        with one_chunk_at_a_time():
            for i, task in enumerate(tasks):
                yield i, run_task(*task)


def _make_outputs(job: StoreJob, stages: StageRunner, *, force: bool) -> None:
    """Make all outputs, ready to be committed."""
    started = time.perf_counter()
    checkpoint = stages.checkpoint
    create_stores(checkpoint)
    units = _fuse_units(stages, _survey_units(stages))
    _reduce_levels(stages)
    stages.progress("write", 0.0)
    _check_unchanged(checkpoint, job)

    def report() -> dict[str, Any]:
        stages.record("write")
        return {
            **{name: job.plan[name] for name in REPORTED},
            "shape": list(checkpoint.image.shape),
            "axes": [axis.name for axis in checkpoint.image.axes],
            "missing_chunks": job.missing,
            "warnings": job.notices,
            "units": units,
            "stages": stages.finished,
            "seconds": round(time.perf_counter() - started, 3),
        }

    with limit_threads(job.request.threads):
        prepare_commit(checkpoint, job.targets, force=force, report=report)


def _check_unchanged(checkpoint: StoreCheckpoint, job: StoreJob) -> None:
    """Raise if the input was changed during the run."""
    if store_state(job.image).digest != job.plan["state"]:
        checkpoint.remove()
        raise FileError(
            f"{job.image.path}: The input was changed during the run. Run the command again.",
            file=job.image.path,
        )


def _survey_units(stages: StageRunner) -> list[dict[str, Any]]:
    """Measure every unit as a whole; return the notes."""
    checkpoint = stages.checkpoint
    units = range(len(checkpoint.units))
    height, width = checkpoint.plan["size"]
    whole = [(slice(0, height), slice(0, width))]

    def run_for_units(stage: str) -> list[dict[str, Any]]:
        return stages.run(stage, [task for unit in units for task in checkpoint.tasks(stage, unit, whole)])

    if parts := [part for unit in units for part in search_tasks(checkpoint, unit)]:
        run_for_units("range")
        _check_values(checkpoint.image.path, [note["largest"] for note in stages.run("search", parts)])
    return run_for_units("measure")


def _check_values(path: Path, largest_of_parts: list[list[float]]) -> None:
    """Raise if floats are not finite, or far from the range 0 to 1."""
    for k, largest in enumerate(np.max(largest_of_parts, axis=0)):
        check_range(f"{path}, slice {k + 1}", float(largest))


def _fuse_units(stages: StageRunner, surveys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fuse all tiles of all units; return the report of each unit."""
    from panfocus.tiling.tiled import Shares

    checkpoint = stages.checkpoint
    size, chunk = checkpoint.plan["size"], checkpoint.plan["chunk"]
    tasks = [
        task
        for unit, survey in enumerate(surveys)
        for task in checkpoint.tasks("fuse", unit, tile_regions(size, survey["tile"], chunk))
    ]
    notes: list[list[dict[str, Any]]] = [[] for _ in surveys]
    for task, note in zip(tasks, stages.run("fuse", tasks), strict=True):
        notes[task.unit].append(note)
    reports = []
    for unit, survey, tiles in zip(checkpoint.units, surveys, notes, strict=True):
        shares = Shares(checkpoint.image.length("z"))
        for tile in tiles:
            shares.add_counts(tile["shares"])
        reports.append(
            {
                "time": unit.time,
                "channels": list(unit.channels),
                "tiles": len(tiles),
                "tile": survey["tile"],
                "halo": survey["halo"],
                "measured": survey["measured"],
                **survey["corrections"],
                **tiles[0]["report"],
                **shares.report(),
            }
        )
    return reports


def _reduce_levels(stages: StageRunner) -> None:
    """Make the reduced levels: the first ones in tasks, the last ones, which are small, here."""
    checkpoint = stages.checkpoint
    n_levels, shape, chunk = (checkpoint.plan[name] for name in ("levels", "size", "chunk"))
    if n_levels == 1:
        return
    planes = {output: checkpoint.planes(output) for output in checkpoint.plan["outputs"]}
    tasks = [
        dataclasses.replace(task, output=output, first_plane=first)
        for output, all_planes in planes.items()
        for task in checkpoint.tasks("pyramid", 0, squares(shape, chunk << LEVELS_PER_TASK))
        for first in range(0, len(all_planes), planes_per_task(task.region, chunk))
    ]
    stages.run("pyramid", tasks)
    whole = (slice(0, shape[0]), slice(0, shape[1]))
    for output, all_planes in planes.items():
        for level in range(LEVELS_PER_TASK + 1, n_levels):
            reduce_level(checkpoint, output, level, whole, all_planes)
