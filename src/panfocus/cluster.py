"""Work on the machines of a Dask cluster: the little that is needed of it, loaded when it is used."""

import logging
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from panfocus._processes import Lost
from panfocus.errors import InputError, PanfocusError

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.05  # at what the workers have finished
SECONDS_TO_ANSWER = 10.0  # that a scheduler has
SECONDS_LOST = 300.0  # for which a scheduler that does not answer any more is tried again
MOST_UNDER_WAY = 1000  # tasks that the scheduler holds at once; it may ask for workers by their number
MEMORY_SHARE = 0.7  # of a worker's limit: from there on Dask moves what it holds to the disk


def on_cluster(
    work: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], address: str, *, say: Callable[[str], None]
) -> Generator[tuple[int, Result | Lost]]:
    """Yield the place of a task and the result of `work(*task)` on a cluster, as they come.

    Tasks are to be small, names and numbers: they go through the scheduler. One whose worker dies goes to
    another, as often as the scheduler allows (`allowed-failures`, 3 by default). It may only have waited on
    workers that others killed: at the end it is tried once more, alone, and is `Lost` if that fails too.
    If the connection to the scheduler is cut, what has no result yet is given to it again when it is back;
    `say` is told so. A task may so be begun while it is still under way: the work has to see to that.
    """
    crew: _Crew[Result] = _Crew(work, address, say)
    waiting = enumerate(tasks)
    suspects: dict[int, tuple[Any, ...]] = {}
    try:
        while True:
            for i, task in islice(waiting, MOST_UNDER_WAY - len(crew.under_way)):
                crew.begin(i, task)
            if not crew.under_way:
                break
            given = {i: task for i, (_, task) in crew.under_way.items()}
            finished = crew.finished()
            for i, result in finished:
                if isinstance(result, Lost):
                    suspects[i] = given[i]
                else:
                    yield i, result
            if not finished:
                time.sleep(SECONDS_BETWEEN_LOOKS)
        for i, task in suspects.items():
            crew.begin(i, task)
            while not (finished := crew.finished()):
                time.sleep(SECONDS_BETWEEN_LOOKS)
            yield from finished
    finally:
        crew.close()


def memory_of_task() -> int | None:
    """Return the bytes that a task may take on the worker that it runs on, if that has a limit."""
    worker = _this_worker()
    limit = worker.memory_manager.memory_limit if worker else None
    return int(MEMORY_SHARE * limit / worker.state.nthreads) if worker and limit else None


def _this_worker() -> Any:
    try:
        from distributed import get_worker

        return get_worker()
    except (ModuleNotFoundError, ValueError):  # no Dask, or none of its workers
        return None


def connect(address: str) -> "Client":
    """Return a connection to a scheduler, or say why there is none."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise PanfocusError("--scheduler needs Dask; pip install 'panfocus[dask]'") from error
    # What it logs is for those who run clusters, and would stand between our lines.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:  # nobody there, or no address at all
        raise InputError(
            f"--scheduler {address}: no Dask scheduler answers there; start one with `dask scheduler`, "
            "and give the address that it prints, such as tcp://10.0.0.5:8786"
        ) from error


class _Crew(Generic[Result]):
    """What was given to the workers, over a connection that is made again when it is lost."""

    def __init__(self, work: Callable[..., Result], address: str, say: Callable[[str], None]) -> None:
        self.under_way: dict[int, tuple[Future[Any], tuple[Any, ...]]] = {}
        self._work = work
        self._address = address
        self._say = say
        self._client = connect(address)
        self._tell_if_no_workers()

    def begin(self, i: int, task: tuple[Any, ...]) -> None:
        # Not pure: equal tasks are not one, and what is begun again has not the result of before.
        self.under_way[i] = self._client.submit(self._work, *task, pure=False), task

    def finished(self) -> list[tuple[int, Result | Lost]]:
        """Return what has come since the last look."""
        found: list[tuple[int, Result | Lost]] = []
        statuses = {i: future.status for i, (future, _) in self.under_way.items()}
        if self._client.status != "running" or "cancelled" in statuses.values():
            self._connect_again()
            return found
        for i, status in statuses.items():
            future, _ = self.under_way[i]
            if status == "finished":
                # It is still fetched: should that fail, the next look finds out why.
                with suppress(OSError, TimeoutError, CancelledError):
                    found.append((i, future.result(timeout=SECONDS_TO_ANSWER)))
            elif status == "error":
                found.append((i, self._lost(future)))
        for i, _ in found:
            del self.under_way[i]
        return found

    def close(self) -> None:
        """Give up what has not begun; what has ends by itself."""
        with suppress(Exception):  # a connection that is gone
            self._client.cancel([future for future, _ in self.under_way.values()])
        with suppress(Exception):
            self._client.close(timeout=1)

    def _lost(self, future: "Future[Any]") -> Lost:
        from distributed import KilledWorker

        error = future.exception()
        if isinstance(error, KilledWorker):
            return Lost(error.allowed_failures + 1)
        if isinstance(error, ImportError) or "deserializ" in str(error):
            raise PanfocusError(
                f"--scheduler {self._address}: the cluster cannot load the work ({error}); "
                "its scheduler and workers need the same panfocus as is installed here"
            ) from error
        raise error

    def _connect_again(self) -> None:
        self._say(f"lost the connection to the scheduler at {self._address}; trying again")
        deadline = time.monotonic() + SECONDS_LOST
        while True:
            with suppress(Exception):
                self._client.close(timeout=1)
            try:
                self._client = connect(self._address)
                break
            except InputError as error:
                if time.monotonic() > deadline:
                    raise PanfocusError(
                        f"the scheduler at {self._address} has not answered for {SECONDS_LOST / 60:.0f} "
                        "minutes; what is finished is kept, the same command goes on from there"
                    ) from error
                time.sleep(1)
        for i, (_, task) in list(self.under_way.items()):
            self.begin(i, task)
        self._say(f"connected again; {len(self.under_way)} tasks go on")
        self._tell_if_no_workers()

    def _tell_if_no_workers(self) -> None:
        """Say why nothing happens: the workers of a scheduler that ended have ended with it."""
        if not self._client.scheduler_info()["workers"]:
            self._say(f"the scheduler at {self._address} has no workers yet; waiting for them")
