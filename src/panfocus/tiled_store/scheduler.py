"""The stages of a run: each has many tasks, done by whoever works, unless an earlier run has done them."""

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol

from panfocus.errors import PanfocusError
from panfocus.parallel.processes import FINISHING, Lost
from panfocus.parallel.run_tasks import Workers, perform
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
    workers: Workers
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
                if isinstance(found, Lost):
                    raise _given_up(tasks[left[place]], found)
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

    def _performed(self, tasks: Sequence[tuple[Task]]) -> Generator[tuple[int, dict[str, Any] | Lost]]:
        if len(tasks) < 2 and not self.workers.cluster:  # no process is worth while
            return ((i, work(*task)) for i, task in enumerate(tasks))
        return perform(
            work,
            tasks,
            self.workers,
            needs=of_task(tasks[0][0].folder, tasks[0][0].run).needs if tasks else (),
            on_leaving=lambda: self.listener.progress(FINISHING, 0.0),
        )


def _given_up(task: Task, lost: Lost) -> PanfocusError:
    remedy = "; with less --max-memory it begins anew" if lost.times else ""
    return PanfocusError(f"{task.name}: {lost.reason}{remedy}")
