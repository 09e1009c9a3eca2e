"""Work on the machines of a Dask cluster: the little that is needed of it, loaded when it is used."""

import logging
import os
import platform
import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from panfocus._compile_notes import Relay, hear_of_compiling
from panfocus._processes import Lost
from panfocus.errors import InputError, PanfocusError, needs_extra

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.05  # at what the workers have finished
SECONDS_BETWEEN_CALLS = 2.0  # in which the scheduler is asked which workers there are
SECONDS_TO_ANSWER = 10.0  # that a scheduler has
SECONDS_LOST = 300.0  # for which a scheduler that does not answer any more is tried again
MOST_UNDER_WAY = 1000  # tasks that the scheduler holds at once; it may ask for workers by their number
MEMORY_SHARE = 0.7  # of a worker's limit: from there on Dask moves what it holds to the disk


class Cluster:
    """A connection to the scheduler of a cluster, which is made again when it is lost; `say` is told so."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        self.address = address
        self._say = say
        self._compiling = Relay("on the workers: ")
        self._topic = f"panfocus-{secrets.token_hex(8)}"  # under which workers tell of their compiling
        self._client = self._connected()
        self.crew = _Crew(address, say)
        self.crew.look(self._client)

    def perform(
        self, work: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], needs: Sequence[Path] = ()
    ) -> Generator[tuple[int, Result | Lost]]:
        """Yield the place of a task and the result of `work(*task)`, as they come.

        Tasks are to be small, names and numbers: they go through the scheduler. One whose worker dies goes to
        another, as often as the scheduler allows (`allowed-failures`, 3 by default). It may only have waited
        on workers that others killed: at the end it is tried once more, alone, and is `Lost` if that fails
        too, with the deaths of both times. Those that somebody has cancelled are tried once more, too,
        together. If the connection to the scheduler is cut, what has no result yet is given to it again when
        it is back. A task may so be begun while it is still under way: the work has to see to that.

        A worker that has another panfocus, or does not see the files and folders that the work `needs`, would
        fail at every task at once, and so get most of them: it is left out.
        """
        waiting = enumerate(tasks)
        suspects: dict[int, tuple[tuple[Any, ...], Lost]] = {}
        with closing(_Given(self, work, needs)) as given:
            while True:
                for i, task in islice(waiting, MOST_UNDER_WAY - len(given.tasks)):
                    given.begin(i, task)
                if not given.tasks:
                    break
                for i, task, result in given.finished():
                    if isinstance(result, Lost):
                        suspects[i] = task, result
                    else:
                        yield i, result
            cancelled = [i for i, (_, lost) in suspects.items() if not lost.times]
            for group in [cancelled, *([i] for i in suspects if i not in cancelled)]:
                for i in group:
                    given.begin(i, suspects[i][0])
                while given.tasks:
                    for i, _, result in given.finished():
                        yield i, suspects[i][1] + result if isinstance(result, Lost) else result

    def submit(
        self, work: Callable[..., Any], task: tuple[Any, ...], needs: "_Needs", workers: Iterable[str] | None
    ) -> "Future[Any]":
        """Give a task to some workers, or to any, under a new key: it has not the result of before."""
        if self.is_lost:
            self.connect_again()
        key = f"{work.__name__}-{secrets.token_hex(16)}"  # dashboards show what stands before the dash
        only = None if workers is None else list(workers)
        return self._client.submit(_work_and_tell, self._topic, needs, work, task, key=key, workers=only)

    def leave_out(self, unfit: "_Unfit") -> None:
        """Give nothing more to a worker; raise if there is no other, and never was."""
        self.crew.leave_out(unfit, self._client)

    def has_given(self, future: "Future[Any]") -> bool:
        """Whether a future is of this connection, and not of one that was lost."""
        return future.client is self._client

    def cancel(self, futures: "Iterable[Future[Any]]") -> None:
        """Give up what has not begun; what has ends by itself."""
        with suppress(Exception):  # a connection that is gone
            self._client.cancel(list(futures))

    def look_at_workers(self) -> None:
        """See now and then which there are."""
        if not self.is_lost:
            self.crew.look_now_and_then(self._client)

    @property
    def is_lost(self) -> bool:
        """Whether the connection is."""
        return bool(self._client.status != "running")

    def connect_again(self) -> None:
        """Try to reach the scheduler until it answers, or too long."""
        self._say(f"lost the connection to the scheduler at {self.address}; trying again")
        deadline = time.monotonic() + SECONDS_LOST
        while True:
            self.close()
            try:
                self._client = self._connected()
                break
            except InputError as error:
                if time.monotonic() > deadline:
                    raise PanfocusError(
                        f"the scheduler at {self.address} has not answered for {SECONDS_LOST / 60:.0f} "
                        "minutes; what is finished is kept, the same command goes on from there"
                    ) from error
                time.sleep(1)
        self._say("connected again; the work goes on")
        self.crew.look(self._client)

    def close(self) -> None:
        """End the connection."""
        with suppress(Exception):
            self._client.close(timeout=1)

    def _connected(self) -> "Client":
        client = connect(self.address)
        client.subscribe_topic(self._topic, lambda event: self._compiling.tell(event[1]))
        return client


@contextmanager
def connected(address: str | None, say: Callable[[str], None]) -> Iterator[Cluster | None]:
    """Have a connection to a cluster while the block lasts, if an address is given."""
    if address is None:
        yield None
        return
    with closing(Cluster(address, say)) as cluster:
        yield cluster


def connect(address: str) -> "Client":
    """Return a connection to a scheduler, or say why there is none."""
    try:
        from distributed import Client
        from distributed.comm.addressing import resolve_address
    except ModuleNotFoundError as error:
        raise PanfocusError(needs_extra("--scheduler", "Dask", "dask")) from error
    # What it logs is for those who run clusters, and would stand between our lines.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        # A client that is made for what is no address complains once more when it is cleared away.
        resolve_address(address)
        return Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:  # nobody there, or no address at all
        raise InputError(
            f"--scheduler {address}: no Dask scheduler answers there; start one with `dask scheduler`, "
            "and give the address that it prints, such as tcp://10.0.0.5:8786"
        ) from error


_Needs = tuple[str, tuple[str, ...]]  # of a worker: the version of panfocus, what it has to see


@dataclass(frozen=True)
class _Unfit:
    """What a worker returns in place of a result that it cannot make, though others may."""

    address: str
    host: str
    fault: str


class _Crew:
    """The workers that a scheduler has; `say` is told who is left out, and when nobody is there."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        self._address = address
        self._say = say
        self._threads: dict[str, int] = {}  # of each worker, by its address
        self._unfit: dict[str, str] = {}  # what is wrong with a worker, by its address
        self._had_fit = False  # one that has made something
        self._had_some = False
        self._waits = False
        self._next_look = 0.0

    def look_now_and_then(self, client: "Client") -> None:
        if time.monotonic() > self._next_look:
            self.look(client)

    def look(self, client: "Client") -> None:
        self._ask(client)
        self._tell_if_none()

    def _ask(self, client: "Client") -> None:
        with suppress(Exception):  # a connection that is gone, of which the client will know soon
            self._threads = client.nthreads(callback_timeout=SECONDS_TO_ANSWER)
        self._next_look = time.monotonic() + SECONDS_BETWEEN_CALLS

    @property
    def fit(self) -> dict[str, int]:
        """How many threads workers have, by their addresses, but for those that are left out."""
        return {address: n for address, n in self._threads.items() if address not in self._unfit}

    @property
    def all_fit(self) -> bool:
        """Whether nobody is left out that is there."""
        return len(self.fit) == len(self._threads)

    def has_made_something(self) -> None:
        """Note that a worker is fit: should it go, others like it may come."""
        self._had_fit = True

    def leave_out(self, unfit: _Unfit, client: "Client") -> None:
        if unfit.address in self._unfit:
            return
        line = f"workers on {unfit.host} are left out: one {unfit.fault}"
        known = line in self._unfit.values()
        self._unfit[unfit.address] = line
        self._ask(client)
        if self._threads and not self.fit and not self._had_fit:
            raise PanfocusError(
                f"--scheduler {self._address}: no worker is fit for the work; "
                f"one on {unfit.host} {unfit.fault}"
            )
        if not known:
            self._say(line)

    def _tell_if_none(self) -> None:
        waited, self._waits = self._waits, not self.fit
        if self._waits and not waited:
            which = "workers" if self.all_fit else "fit workers"
            since = "any more" if self._had_some else "yet"
            self._say(f"the scheduler at {self._address} has no {which} {since}; waiting for them")
        elif waited and not self._waits:
            self._say("there are workers; the work goes on")
        self._had_some |= not self._waits


class _Given(Generic[Result]):
    """Tasks that were given to the workers and have no result yet."""

    def __init__(self, cluster: Cluster, work: Callable[..., Result], needs: Sequence[Path]) -> None:
        from panfocus import __version__

        self.tasks: dict[int, tuple[Any, ...]] = {}
        self._waiting: deque[int] = deque()  # to be given to workers
        self._futures: dict[int, Future[Any]] = {}
        self._chosen: dict[int, set[str]] = {}  # the only workers that a task may go to
        self._cluster = cluster
        self._work = work
        # What is not seen from here either is no fault of a worker.
        self._needs: _Needs = (__version__, tuple(str(path) for path in needs if _sees(str(path))))

    def begin(self, i: int, task: tuple[Any, ...]) -> None:
        self.tasks[i] = task
        self._waiting.append(i)
        self._give()

    def _give(self) -> None:
        """Give to workers what waits: all of it if all are fit, else what those that are will soon be at.

        What is given to some does not go to others that join later: so it is not to be much.
        """
        crew = self._cluster.crew
        workers = None if crew.all_fit else crew.fit
        room = MOST_UNDER_WAY if workers is None else 2 * sum(workers.values())
        while self._waiting and len(self._futures) < room:
            i = self._waiting.popleft()
            self._futures[i] = self._cluster.submit(self._work, self.tasks[i], self._needs, workers)
            if workers is not None:
                self._chosen[i] = set(workers)

    def _take_back(self, places: Iterable[int]) -> None:
        """Let tasks wait again."""
        for i in places:
            del self._futures[i]
            self._chosen.pop(i, None)
            self._waiting.append(i)

    def _take_back_stranded(self) -> None:
        """Let those wait again whose only workers have gone."""
        stranded = [i for i, chosen in self._chosen.items() if not chosen & self._cluster.crew.fit.keys()]
        if stranded:
            self._cluster.cancel([self._futures[i] for i in stranded])
            self._take_back(stranded)

    def finished(self) -> list[tuple[int, tuple[Any, ...], Result | Lost]]:
        """Wait for results; return what has come, with the places and tasks."""
        while not (found := self._look()):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        for i, _ in found:
            del self._futures[i]
            self._chosen.pop(i, None)
        return [(i, self.tasks.pop(i), result) for i, result in found]

    def close(self) -> None:
        self._cluster.cancel(self._futures.values())

    def _look(self) -> list[tuple[int, Result | Lost]]:
        self._cluster.look_at_workers()
        self._take_back_stranded()
        self._give()
        statuses = {i: future.status for i, future in self._futures.items()}
        # Dask cancels all that is under way when it loses the scheduler, though it may be back already.
        cancelled = [self._futures[i] for i, status in statuses.items() if status == "cancelled"]
        if self._cluster.is_lost or any(map(_is_lost, cancelled)):
            self._cluster.connect_again()
        if old := [i for i, future in self._futures.items() if not self._cluster.has_given(future)]:
            self._take_back(old)
            return []
        found: list[tuple[int, Result | Lost | _Unfit]] = []
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
        self, found: list[tuple[int, Result | Lost | _Unfit]]
    ) -> list[tuple[int, Result | Lost]]:
        """Return what there is of results; what came to a worker that is not fit waits for another."""
        results: list[tuple[int, Result | Lost]] = []
        for i, result in found:
            if isinstance(result, _Unfit):
                self._take_back([i])
                self._cluster.leave_out(result)
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


def _work_and_tell(
    topic: str, needs: _Needs, work: Callable[..., Result], task: tuple[Any, ...]
) -> Result | _Unfit:
    """Do a task on a worker that is fit for it, and tell those who listen of compiling."""
    worker = _this_worker()
    if fault := _fault(*needs):
        return _Unfit(worker.address, platform.node(), fault)
    stop = hear_of_compiling(lambda line: worker.log_event(topic, line))
    try:
        return work(*task)
    finally:
        stop()


def _fault(version: str, seen: Iterable[str]) -> str | None:
    """Return what is wrong with this worker, if anything is."""
    from panfocus import __version__

    if __version__ != version:
        return f"has panfocus {__version__}, needed is {version} as here"
    for path in seen:
        if not _sees(path):
            return f"does not see {path}; use folders that all machines have under the same name"
    return None


def _sees(path: str) -> bool:
    """Whether there is a file, or a folder with something in it: where nothing is mounted it is empty."""
    try:
        if not Path(path).is_dir():
            return Path(path).exists()
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


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
