"""The one way to have many tasks performed: by processes of this machine, or on a cluster."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from panfocus.parallel import Cluster
from panfocus.parallel.processes import Lost, in_processes

Result = TypeVar("Result")

ATTEMPTS = 3  # for a task at which processes die


@dataclass(frozen=True)
class Workers:
    """Who performs tasks: a cluster if there is one, else so many processes."""

    cluster: Cluster | None = None
    processes: int = 1
    threads: int = 1  # of each process


def perform(
    work: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    workers: Workers,
    *,
    needs: Sequence[Path],
    on_leaving: Callable[[], None],
) -> Generator[tuple[int, Result | Lost]]:
    """Yield the place of a task and the result of `work(*task)`, as they come; a task is names and numbers.

    `needs`: files and folders that every worker has to see, or it is left out; processes of this machine do.
    Left early, a cluster is left at once; processes end what they are at, of which `on_leaving` is told.
    """
    if workers.cluster:
        finished = workers.cluster.perform(work, tasks, needs)
    else:
        finished = in_processes(
            work,
            tasks,
            workers.processes,
            on_leaving=on_leaving,
            attempts=ATTEMPTS,
            threads=workers.threads,
        )
    with closing(finished):
        yield from finished
