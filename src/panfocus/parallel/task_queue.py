"""Tasks that a cluster is at: given to fit workers, taken back, given again, until each has a result."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from panfocus.errors import PanfocusError
from panfocus.parallel.on_worker import Needs, TooSmall, Unfit, sees
from panfocus.parallel.processes import Lost
from panfocus.parallel.workers import SECONDS_TO_ANSWER

if TYPE_CHECKING:
    from distributed import Future

    from panfocus.parallel.connection import Cluster

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.05  # at what the workers have finished
MOST_UNDER_WAY = 1000  # tasks that the scheduler holds at once; it may ask for workers by their number


class Given(Generic[Result]):
    """Tasks that were given to the workers and have no result yet."""

    def __init__(self, cluster: "Cluster", work: Callable[..., Result], needs: Sequence[Path]) -> None:
        from panfocus import __version__

        self.tasks: dict[int, tuple[Any, ...]] = {}
        self._waiting: deque[int] = deque()  # to be given to workers
        self._futures: dict[int, Future[Any]] = {}
        self._chosen: dict[int, set[str]] = {}  # the only workers that a task may go to
        self._too_small: dict[int, TooSmall[Result]] = {}  # what the last worker without the memory said
        self._cluster = cluster
        self._work = work
        # What is not seen from here either is no fault of a worker.
        self._needs: Needs = (__version__, tuple(str(path) for path in needs if sees(str(path))))

    def begin(self, i: int, task: tuple[Any, ...]) -> None:
        """Take a task, and give it to a worker as soon as may be."""
        self.tasks[i] = task
        self._waiting.append(i)
        self._give()

    def _give(self) -> None:
        """Give to workers what waits: all of it if all are fit, else what those that are will soon be at.

        What is given to some does not go to others that join later: so it is not to be much.
        """
        crew = self._cluster.crew
        room = MOST_UNDER_WAY if crew.all_fit else 2 * sum(crew.fit.values())
        while self._waiting and len(self._futures) < room:
            i = self._waiting.popleft()
            workers = None if crew.all_fit and i not in self._too_small else self._able(i)
            self._futures[i] = self._cluster.submit(self._work, self.tasks[i], self._needs, workers)
            if workers is not None:
                self._chosen[i] = set(workers)

    def _able(self, i: int) -> dict[str, int]:
        """Return the workers that may do a task, with their threads."""
        crew = self._cluster.crew
        return crew.with_memory(self._too_small[i].needed) if i in self._too_small else crew.fit

    def _for_nobody(self) -> list[tuple[int, Result]]:
        """Return what came of tasks that no worker has the memory for, and let them wait no longer."""
        given_up = [i for i in self._waiting if i in self._too_small and not self._able(i)]
        for i in given_up:
            self._waiting.remove(i)
        return [(i, self._too_small[i].result) for i in given_up]

    def _take_back(self, places: Iterable[int]) -> None:
        """Let tasks wait again."""
        for i in places:
            del self._futures[i]
            self._chosen.pop(i, None)
            self._waiting.append(i)

    def _take_back_stranded(self) -> None:
        """Let those wait again whose only workers have gone."""
        stranded = [i for i, chosen in self._chosen.items() if not chosen & self._able(i).keys()]
        if stranded:
            self._cluster.cancel([self._futures[i] for i in stranded])
            self._take_back(stranded)

    def finished(self) -> list[tuple[int, tuple[Any, ...], Result | Lost]]:
        """Wait for results; return what has come, with the places and tasks."""
        while not (found := self._look()):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        for i, _ in found:
            for known in (self._futures, self._chosen, self._too_small):
                known.pop(i, None)
        return [(i, self.tasks.pop(i), result) for i, result in found]

    def close(self) -> None:
        """Give up what has no result."""
        self._cluster.cancel(self._futures.values())

    def _look(self) -> list[tuple[int, Result | Lost]]:
        self._cluster.look_at_workers()
        self._take_back_stranded()
        if given_up := self._for_nobody():
            return list(given_up)
        self._give()
        statuses = {i: future.status for i, future in self._futures.items()}
        # Dask cancels all that is under way when it loses the scheduler, though it may be back already.
        cancelled = [self._futures[i] for i, status in statuses.items() if status == "cancelled"]
        if self._cluster.is_lost or any(map(_is_lost, cancelled)):
            self._cluster.connect_again()
        if old := [i for i, future in self._futures.items() if not self._cluster.has_given(future)]:
            self._take_back(old)
            return []
        found: list[tuple[int, Result | Lost | Unfit | TooSmall[Result]]] = []
        for i, status in statuses.items():
            if status == "finished":
                # It is still fetched: should that fail, the next look finds out why.
                with suppress(OSError, TimeoutError, CancelledError):
                    found.append((i, self._futures[i].result(timeout=SECONDS_TO_ANSWER)))
            elif status == "cancelled":
                found.append((i, Lost(0)))
            elif status == "error":
                found.append((i, self._failed(self._futures[i].exception())))
        return self._of_fit_workers(found)

    def _of_fit_workers(
        self, found: list[tuple[int, Result | Lost | Unfit | TooSmall[Result]]]
    ) -> list[tuple[int, Result | Lost]]:
        """Return what there is of results; what came to a worker that could not do it waits for another."""
        results: list[tuple[int, Result | Lost]] = []
        for i, result in found:
            if isinstance(result, Unfit):
                self._take_back([i])
                self._cluster.leave_out(result)
            elif isinstance(result, TooSmall):
                self._take_back([i])
                self._cluster.crew.note_memory(result.address, result.has)
                self._too_small[i] = result
            else:
                results.append((i, result))
        if any(not isinstance(result, Lost) for _, result in results):
            self._cluster.crew.has_made_something()
        return results

    def _failed(self, error: Any) -> Lost:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return Lost(error.allowed_failures + 1)
        if isinstance(error, ImportError) or "deserializ" in str(error):
            raise PanfocusError(
                f"--scheduler {self._cluster.address}: the cluster cannot load the work ({error}); "
                "its scheduler and workers need the same panfocus as is installed here"
            ) from error
        raise error


def _is_lost(cancelled: "Future[Any]") -> bool:
    """Whether Dask has cancelled something because it lost the scheduler, or that all it knew."""
    try:
        cancelled.result(timeout=SECONDS_TO_ANSWER)
    except CancelledError as error:
        return getattr(error, "reason", None) in {"scheduler-connection-lost", "scheduler-restart"}
    return False
