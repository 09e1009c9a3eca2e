"""Seconds that a worker reads, computes and writes for a stack and for the tasks of a store.

Measured in a new process with one thread, like a worker, after a small run that compiles and loads modules.
"""

import dataclasses
import json
import multiprocessing
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.cluster_model import Stage


@dataclass(frozen=True)
class StackCost:
    """Seconds for a stack."""

    frames: int
    megapixels: float
    read: float
    compute: float
    write: float


@dataclass(frozen=True)
class StoreCost:
    """Seconds for a store."""

    slices: int
    megapixels: float
    tile: int  # side in pixels
    halo: int  # pixels around a tile
    megapixels_with_halo: float  # of all tiles together
    stages: tuple[Stage, ...]  # range, search, measure, fuse, pyramid
    client: float  # seconds of the client in which workers are idle


def stack_cost(folder: Path) -> StackCost:
    """Measure the fusion of a stack by a worker of a batch."""
    return _in_new_process(_stack_cost, folder)


def store_cost(store: Path, memory: int) -> StoreCost:
    """Measure the fusion of a store by a worker with this memory in bytes, and by the client."""
    return _in_new_process(_store_cost, store, memory)


def _in_new_process(measure: Callable[..., Any], *arguments: object) -> Any:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def _stack_cost(folder: Path) -> StackCost:
    from panfocus.batch.batch_run import name_outputs, plan_stacks
    from panfocus.batch.stack_task import SUMMARY, fuse_stack
    from panfocus.job.request import Outputs, Request

    like = Request(inputs=(), outputs=Outputs(), threads=1, max_memory=1_400_000_000)
    files = sorted(folder.iterdir())
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / SUMMARY).touch()
        stacks = {"first": files[:2], "second": files}
        for task in plan_stacks(stacks, Path(place), like, folder=folder, file_format="png", maps=()):
            outcome = fuse_stack(task)
            assert outcome.error is None, outcome.error
        report = json.loads(name_outputs(Path(place) / "second", "png", ()).report.read_text())
    times: dict[str, float] = defaultdict(float, report["times"])
    return StackCost(
        outcome.frames,
        outcome.width * outcome.height / 1e6,
        read=times["check"] + times["read"],
        compute=times["repair"] + times["align"] + times["fuse"],
        write=times["encode"] + times["write"],
    )


class Clock:
    """Sums of the seconds of a run by stage."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._stage, self._began = "begin", time.perf_counter()

    def progress(self, stage: str, done: float) -> None:
        """Start a new stage if its name differs."""
        if stage != self._stage:
            self.finish()
            self._stage = stage

    def finish(self) -> None:
        """Add the time since the start of the stage to it."""
        now = time.perf_counter()
        self.spent[self._stage]["all"] += now - self._began
        self._began = now

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its time counts as this part of the current stage."""

        @wraps(call)
        def measured(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            found = call(*arguments, **options)
            self.spent[self._stage][part] += time.perf_counter() - began
            return found

        return measured

    def run_tasks(
        self, work: Callable[..., Any], tasks: Any, *_: Any, **__: Any
    ) -> Iterator[tuple[int, Any]]:
        """Run tasks in this process; replaces `run_in_processes`."""
        for i, task in enumerate(tasks):
            yield i, work(*task)
            self.spent[self._stage]["tasks"] += 1

    def stage(self, name: str) -> Stage:
        """Return the mean times of the tasks of a stage."""
        spent = self.spent[name]
        n = max(1, int(spent["tasks"]))
        read, write = spent["read"] / n, spent["write"] / n
        return Stage(n, read, spent["all"] / n - read - write, write)


def _store_cost(store: Path, memory: int) -> StoreCost:
    from benchmarks.tiled_store import write_store
    from panfocus.io import ome_zarr_writer
    from panfocus.io.ome_zarr import ZarrFrames
    from panfocus.job.request import Outputs, Request
    from panfocus.tiled_store.prepare import prepare
    from panfocus.tiled_store.store_run import run
    from panfocus.tiling import tiled

    pixels = []

    def fuse_and_count(method: Any, frames: Any, tile: Any, *others: Any) -> Any:
        pixels.append(tile.pixels)
        return fuse_part(method, frames, tile, *others)

    fuse_part = tiled.fuse_part
    with tempfile.TemporaryDirectory(dir=store.parent) as place:
        small = Path(place) / "small.ome.zarr"
        write_store(small, 600, 2)
        for source in (small, store):
            clock = Clock()
            pixels.clear()
            outputs = Outputs(image=Path(place) / f"fused-{source.name}")
            job = prepare(
                Request(inputs=(str(source),), outputs=outputs, max_memory=memory),
                force=False,
            )
            with (
                patch.object(ZarrFrames, "_part", clock.timed("read", ZarrFrames._part)),
                patch.object(ome_zarr_writer, "write_part", clock.timed("write", ome_zarr_writer.write_part)),
                patch.object(tiled, "fuse_part", fuse_and_count),
                patch("panfocus.parallel.run_in_processes", clock.run_tasks),
            ):
                report = run(job, progress=clock.progress, before_commit=clock.finish)
    (unit,) = report["units"]
    slices, height, width = report["shape"]
    return StoreCost(
        slices,
        height * width / 1e6,
        unit["tile"],
        unit["halo"],
        sum(pixels) / 1e6,
        tuple(map(clock.stage, ("range", "search", "measure", "fuse", "pyramid"))),
        sum(clock.spent[name]["all"] for name in ("begin", "write")),
    )


def in_tasks(stage: Stage, n_tasks: int, times: float, **sizes: float) -> Stage:
    """Return a stage of `n_tasks` tasks, each `times` as long."""
    return dataclasses.replace(
        stage,
        tasks=n_tasks,
        read=stage.read * times,
        compute=stage.compute * times,
        write=stage.write * times,
        **sizes,
    )
