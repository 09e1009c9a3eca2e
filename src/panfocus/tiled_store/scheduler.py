"""The stages of a run: each has many tasks, done by whoever works, unless an earlier run has done them."""

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from panfocus.errors import PanfocusError
from panfocus.parallel import STOPPING, Cluster, run_tasks
from panfocus.tiled_store.checkpoint import Task, of_task
from panfocus.tiled_store.tasks import done_before, work


class Listener(Protocol):
    """Receives the progress and the results of a run."""

    def say(self, line: str) -> None:
        """Take a line of the result."""
        ...

    def warn(self, line: str) -> None:
        """Take a warning."""
        ...

    def progress(self, stage: str, done: float) -> None:
        """Take the stage and the fraction done, 0 to 1."""
        ...

    def finish(self) -> None:
        """Ignore interrupts from here on: files are about to appear."""
        ...


@dataclass
class Stages:
    """Has stages done, one after another, and notes what each took: from the end of the one before on."""

    listener: Listener
    cluster: Cluster | None = None
    processes: int = 1
    done: list[dict[str, Any]] = field(default_factory=list)  # what each took, as plain data
    _ended: float = field(default_factory=time.perf_counter)

    def do(self, stage: str, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """Have tasks done that are not yet; return what each tells, in their order."""
        told = [done_before(task) for task in tasks]
        left = [i for i, before in enumerate(told) if before is None]
        seconds = 0.0
        self.listener.progress(stage, 1 - len(left) / len(tasks))
        with closing(self._performed([(tasks[i],) for i in left])) as finished:
            for n, (place, found) in enumerate(finished, start=1):
                if isinstance(found, PanfocusError):
                    raise found
                told[left[place]] = found
                seconds += found["seconds"]
                self.listener.progress(stage, 1 - (len(left) - n) / len(tasks))
        self.note(stage, len(left), seconds)
        return [each for each in told if each is not None]

    def note(self, stage: str, n_tasks: int = 0, seconds_of_workers: float = 0.0) -> None:
        """Note that a stage has ended; the command does one without tasks itself."""
        now = time.perf_counter()
        self.done.append(
            {
                "stage": stage,
                "tasks": n_tasks,
                "seconds": round(now - self._ended, 3),
                "seconds_of_workers": round(seconds_of_workers, 3),  # by their own clocks, with files
            }
        )
        self._ended = now

    def _performed(
        self, tasks: Sequence[tuple[Task]]
    ) -> Generator[tuple[int, dict[str, Any] | PanfocusError]]:
        if len(tasks) < 2 and not self.cluster:  # no process is worth while
            return ((i, work(*task)) for i, task in enumerate(tasks))
        return run_tasks(
            work,
            tasks,
            cluster=self.cluster,
            processes=self.processes,
            threads=1,
            paths=of_task(tasks[0][0].folder, tasks[0][0].run).needs if tasks else (),
            modules=("zarr",),
            on_stop=lambda: self.listener.progress(STOPPING, 0.0),
        )
