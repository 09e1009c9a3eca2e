"""The whole run: look through the slices, measure, fuse tiles, make smaller levels; it can go on later."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._processes import Lost, in_processes
from panfocus._threads import available_cores
from panfocus.cluster import on_cluster
from panfocus.errors import PanfocusError
from panfocus.giant.folder import RunFolder, Task, taken
from panfocus.giant.outputs import create_stores, put_in_place
from panfocus.giant.plan import HALVINGS, rectangles, searched_side, tile_side
from panfocus.giant.prepare import GiantJob
from panfocus.giant.work import done_before, halve_level, work
from panfocus.job.listener import Listener

Counts = dict[Task, tuple[list[int], list[int]]]  # what was found in each part: of either kind, by slices

ATTEMPTS = 3  # for a tile at which processes die
REPORTED = ("panfocus", "source", "method", "settings", "decisions", "hot_pixels", "exposure", "step", "unit")
FINISHING = "finishing what is under way; another Ctrl-C stops at once"


@dataclass(frozen=True)
class Crew:
    """Who works: processes of this machine, or a cluster; and who hears of it."""

    listener: Listener
    scheduler: str | None
    n_processes: int
    stages: list[dict[str, Any]] = field(default_factory=list)  # what each took, as plain data

    def do(self, stage: str, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """Have tasks done that are not yet; return what each tells, in their order."""
        started = time.perf_counter()
        told = [done_before(task) for task in tasks]
        left = [i for i, before in enumerate(told) if before is None]
        seconds = 0.0
        self.listener.progress(stage, 1 - len(left) / len(tasks))
        with closing(self._finished([(tasks[i],) for i in left])) as finished:
            for n, (place, found) in enumerate(finished, start=1):
                if isinstance(found, Lost):
                    raise PanfocusError(
                        f"{tasks[left[place]].name}: {found.times} processes died at this part, perhaps "
                        "for lack of memory; allow less with --max-memory, the same command goes on from here"
                    )
                told[left[place]] = found
                seconds += found["seconds"]
                self.listener.progress(stage, 1 - (len(left) - n) / len(tasks))
        self.stages.append(
            {
                "stage": stage,
                "tasks": len(left),
                "seconds": round(time.perf_counter() - started, 3),
                "seconds_of_workers": round(seconds, 3),  # by their own clocks, reading and writing included
            }
        )
        return [each for each in told if each is not None]

    def _finished(self, tasks: Sequence[tuple[Task]]) -> Any:
        if len(tasks) < 2:  # no process is worth while
            return ((i, work(*task)) for i, task in enumerate(tasks))
        if self.scheduler:
            return on_cluster(work, tasks, self.scheduler, say=self.listener.say)
        return in_processes(
            work,
            tasks,
            self.n_processes,
            on_leaving=lambda: self.listener.progress(FINISHING, 0.0),
            attempts=ATTEMPTS,
            threads=1,
        )


def run(job: GiantJob, listener: Listener, *, force: bool, scheduler: str | None) -> dict[str, Any]:
    """Fuse a store, or go on with what an earlier run has left; return a report."""
    started = time.perf_counter()
    crew = Crew(listener, scheduler, job.request.threads or available_cores())
    with taken(job.folder, job.plan, listener.say) as folder:
        create_stores(folder, job.outputs)
        _survey(folder, crew)
        reports = _fused(folder, job, crew)
        _halve(folder, crew)
        listener.finish()
        put_in_place(folder, job.outputs, force=force)
    return {
        **{name: job.plan[name] for name in REPORTED},
        "shape": list(folder.image.shape),
        "axes": [axis.name for axis in folder.image.axes],
        "missing_chunks": job.missing,
        "units": reports,
        "stages": crew.stages,
        "seconds": round(time.perf_counter() - started, 3),
    }


def _fused(folder: RunFolder, job: GiantJob, crew: Crew) -> list[dict[str, Any]]:
    """Fuse all tiles of all units; return what there is to tell of each."""
    from panfocus.execute import Shares

    sides, tasks = [], []
    for unit in range(len(folder.units)):
        frames = folder.frames(unit)
        method, _ = folder.surveyed(unit)
        sides.append(tile_side(method, frames, folder.plan["chunk"], job.max_memory))
        tasks += _tasks(folder, "fuse", unit, rectangles((frames.shape[1], frames.shape[2]), sides[-1]))
    told = crew.do("fuse", tasks)
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


def _survey(folder: RunFolder, crew: Crew) -> None:
    """Find out, of every unit, what a tile cannot know by itself."""
    from panfocus.defects import value_span

    units = [unit for unit in range(len(folder.units)) if folder.kept(f"survey-{unit}") is None]
    parts: list[Task] = []
    if folder.plan["hot_pixels"] != "off" or folder.image.dtype.kind == "f":
        for unit in units:
            frames = folder.frames(unit)
            folder.keep(f"span-{unit}", {"span": value_span(frames)})
            shape = (frames.shape[1], frames.shape[2])
            parts += _tasks(folder, "look", unit, rectangles(shape, searched_side(folder.image)))
    told = crew.do("look", parts) if parts else []
    crew.listener.progress("measure", 0.0)
    for n, unit in enumerate(units, start=1):
        of_unit = [(part, each) for part, each in zip(parts, told, strict=True) if part.unit == unit]
        _check_values(folder.image.path, [each["largest"] for _, each in of_unit])
        _measure(folder, unit, {part: each["counts"] for part, each in of_unit})
        crew.listener.progress("measure", n / len(units))


def _measure(folder: RunFolder, unit: int, parts: Counts) -> None:
    """Measure the frames of a unit, by strips, and keep what the method knows of them then."""
    from panfocus.execute import Corrections
    from panfocus.exposure import measure_exposure
    from panfocus.methods import Surveyor

    frames, how = folder.frames(unit), folder.plan["hot_pixels"]
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


def _halve(folder: RunFolder, crew: Crew) -> None:
    """Make the smaller levels: the first by all workers, the last, which are small, here."""
    n_levels, shape = folder.plan["levels"], folder.plan["size"]
    if n_levels == 1:
        return
    side = folder.plan["chunk"] << HALVINGS
    parts = [
        task
        for name in folder.plan["outputs"]
        for task in _tasks(folder, "halve", 0, rectangles(shape, side), name)
    ]
    crew.do("pyramid", parts)
    whole = (slice(0, shape[0]), slice(0, shape[1]))
    for output in folder.plan["outputs"]:
        for level in range(HALVINGS + 1, n_levels):
            halve_level(folder, output, level, whole)


def _tasks(
    folder: RunFolder, stage: str, unit: int, regions: Iterable[tuple[slice, slice]], output: str = ""
) -> list[Task]:
    return [
        Task(str(folder.path), folder.run, stage, unit, (r.start, r.stop), (c.start, c.stop), output)
        for r, c in regions
    ]
