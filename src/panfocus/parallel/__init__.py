"""Run many tasks in parallel: in processes of this machine, or on a Dask cluster."""

from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from panfocus.errors import PanfocusError
from panfocus.parallel.cluster import Cluster, check_dask, open_cluster, worker_task_memory
from panfocus.parallel.processes import STOPPING, LostTaskError, run_in_processes

__all__ = [
    "STOPPING",
    "Cluster",
    "LostTaskError",
    "check_dask",
    "open_cluster",
    "run_tasks",
    "worker_task_memory",
]

Result = TypeVar("Result")


def run_tasks(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    cluster: Cluster | None = None,
    processes: int = 1,
    threads: int | None = None,
    paths: Sequence[Path] = (),
    modules: Sequence[str] = (),
    on_stop: Callable[[], None] = lambda: None,
) -> Generator[tuple[int, Result | PanfocusError]]:
    """Yield the index and the result of `function(*task)` for each task, in the order they finish.

    A task that no worker could finish yields an error instead: `LostTaskError` if its workers died, or, on a
    cluster, the `NotEnoughMemoryError` of a task that is too large for all workers. Other exceptions of tasks
    are raised.

    A task may run twice at a time if a connection is lost. The function has to allow for that.

    Parameters
    ----------
    function : callable
        An importable function.
    tasks : iterable of tuple
        Its arguments, small and picklable: names and numbers, no pixels.
    cluster : Cluster, optional
        Where tasks run. Without one they run on this machine.
    processes : int
        Number of processes on this machine.
    threads : int, optional
        Maximum number of threads that libraries start in each of these processes.
    paths, modules : sequence
        Files and folders that a worker of a cluster must see, and modules that it must have, to be used.
    on_stop : callable
        Called if the generator is closed early and waits for running tasks; a second Ctrl-C ends them. A
        cluster is not waited for.
    """
    if cluster:
        return cluster.run_tasks(function, tasks, paths, modules)
    return run_in_processes(function, tasks, processes, threads=threads, on_stop=on_stop)
