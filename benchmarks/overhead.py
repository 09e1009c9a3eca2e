"""Measure the time that scheduler and client take for a task, with tasks that do nothing."""

import shutil
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

from benchmarks.local_cluster import local_cluster
from panfocus._progress import silent
from panfocus.job.request import Outputs, Request
from panfocus.parallel import Cluster
from panfocus.tiled_store.checkpoint import TileTask, open_checkpoint, resume_or_start
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.store_run import StageRunner
from panfocus.tiled_store.tile_plan import squares


def do_nothing(number: int) -> int:
    """Return the number at once."""
    return number


def seconds_per_empty_task(n_tasks: int) -> float:
    """Return the time of an empty task on a cluster of two workers."""
    with local_cluster(2) as started, closing(Cluster(started.scheduler_address, print)) as cluster:
        list(cluster.run_tasks(do_nothing, [(n,) for n in range(10)]))
        began = time.perf_counter()
        found = list(cluster.run_tasks(do_nothing, [(n,) for n in range(n_tasks)]))
        assert len(found) == n_tasks
        return (time.perf_counter() - began) / n_tasks


def write_empty_note(task: TileTask) -> dict[str, float]:
    """Finish a tile without work: write only its note."""
    checkpoint = open_checkpoint(task.folder, task.run)
    assert checkpoint.read_note(f"done-{task.name}") is None
    note = {"seconds": 0.0}
    checkpoint.write_note(f"done-{task.name}", note)
    return note


def seconds_per_empty_tile(store: Path, n_tasks: int) -> float:
    """Return the time of an empty tile of a store, with its note in the checkpoint."""
    output = store.with_name("empty.ome.zarr")
    request = Request(inputs=(str(store),), outputs=Outputs(image=output))
    job = prepare(request, force=False)
    regions = list(squares((n_tasks, 1), 1))
    with (
        local_cluster(2) as started,
        closing(Cluster(started.scheduler_address, print)) as cluster,
        resume_or_start(job.folder, job.plan, print) as checkpoint,
    ):
        stages = StageRunner(checkpoint, silent, cluster)
        with patch("panfocus.tiled_store.store_run.run_in_worker", write_empty_note):
            stages.run("warm", checkpoint.tasks("warm", 0, regions[:10]))
            began = time.perf_counter()
            stages.run("fuse", checkpoint.tasks("fuse", 0, regions))
            seconds = time.perf_counter() - began
    shutil.rmtree(job.folder)
    return seconds / n_tasks
