"""What scheduler and client take for a task: with tasks that do nothing, by the ways of the package."""

import shutil
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

from benchmarks._costs import Clock
from benchmarks.local_cluster import local_cluster
from panfocus.job.request import Outputs, Request
from panfocus.parallel import Cluster
from panfocus.tiled_store.checkpoint import Task, of_task, taken
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.scheduler import Stages
from panfocus.tiled_store.tile_plan import rectangles


def nothing(number: int) -> int:
    """Be a task that costs nothing."""
    return number


def seconds_per_empty_task(n_tasks: int) -> float:
    """Return what scheduler and client take for a task, on a cluster of two workers."""
    with local_cluster(2) as started, closing(Cluster(started.scheduler_address, print)) as cluster:
        list(cluster.run_tasks(nothing, [(n,) for n in range(10)]))
        began = time.perf_counter()
        found = list(cluster.run_tasks(nothing, [(n,) for n in range(n_tasks)]))
        assert len(found) == n_tasks
        return (time.perf_counter() - began) / n_tasks


def note(task: Task) -> dict[str, float]:
    """Be a tile that costs nothing: it is only noted that it is done."""
    folder = of_task(task.folder, task.run)
    assert folder.kept(f"done-{task.name}") is None
    told = {"seconds": 0.0}
    folder.keep(f"done-{task.name}", told)
    return told


def seconds_per_empty_tile(store: Path, n_tasks: int) -> float:
    """Return the same for a tile of a store, with its record in the folder of the run."""
    output = store.with_name("empty.ome.zarr")
    request = Request(inputs=(str(store),), outputs=Outputs(image=output))
    job = prepare(request, decisions="shared", force=False)
    regions = list(rectangles((n_tasks, 1), 1))
    with (
        local_cluster(2) as started,
        closing(Cluster(started.scheduler_address, print)) as cluster,
        taken(job.folder, job.plan, print) as folder,
    ):
        stages = Stages(Clock(), cluster)
        with patch("panfocus.tiled_store.scheduler.work", note):
            stages.do("warm", folder.tasks("warm", 0, regions[:10]))
            began = time.perf_counter()
            stages.do("fuse", folder.tasks("fuse", 0, regions))
            seconds = time.perf_counter() - began
    shutil.rmtree(job.folder)
    return seconds / n_tasks
