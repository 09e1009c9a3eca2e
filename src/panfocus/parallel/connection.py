"""The connection to the scheduler of a cluster, which is made again when it is lost."""

import logging
import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from panfocus._numba_messages import Relay
from panfocus.errors import InputError, PanfocusError, missing_extra
from panfocus.parallel.on_worker import MEMORY_SHARE, Needs, Unfit, work_and_tell
from panfocus.parallel.processes import Lost
from panfocus.parallel.task_queue import MOST_UNDER_WAY, Given
from panfocus.parallel.workers import SECONDS_TO_ANSWER, Crew

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

SECONDS_LOST = 300.0  # for which a scheduler that does not answer any more is tried again


@dataclass(frozen=True)
class WorkerMemory:
    """The bytes that a worker is limited to, and its threads, each of which has a task."""

    limit: int
    threads: int

    @property
    def of_task(self) -> int:
        """Bytes that a task may take."""
        return int(MEMORY_SHARE * self.limit / self.threads)


class Cluster:
    """A connection to the scheduler of a cluster, which is made again when it is lost; `say` is told so."""

    def __init__(self, address: str, say: Callable[[str], None]) -> None:
        self.address = address
        self._say = say
        self._compiling = Relay("on the workers: ")
        self._topic = f"panfocus-{secrets.token_hex(8)}"  # under which workers tell of their compiling
        self._client = self._connected()
        self.crew = Crew(address, say)
        try:
            self.crew.look(self._client)
        except PanfocusError:
            self.close()
            raise

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

        A worker that has no panfocus, or another one, or not the libraries that the work takes, or does not
        see the files and folders that it `needs`, would fail at every task at once, and so get most of them:
        it is left out. A task that takes more memory than a worker has goes to one that has more.
        """
        waiting = enumerate(tasks)
        suspects: dict[int, tuple[tuple[Any, ...], Lost]] = {}
        with closing(Given(self, work, needs)) as given:
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
        self, work: Callable[..., Any], task: tuple[Any, ...], needs: Needs, workers: Iterable[str] | None
    ) -> "Future[Any]":
        """Give a task to some workers, or to any, under a new key: it has not the result of before."""
        if self.is_lost:
            self.connect_again()
        key = f"{work.__name__}-{secrets.token_hex(16)}"  # dashboards show what stands before the dash
        only = None if workers is None else list(workers)
        return self._client.submit(work_and_tell, self._topic, needs, work, task, key=key, workers=only)

    def leave_out(self, unfit: Unfit) -> None:
        """Give nothing more to a worker; raise if there is no other, and never was."""
        self.crew.leave_out(unfit, self._client)

    def has_given(self, future: "Future[Any]") -> bool:
        """Whether a future is of this connection, and not of one that was lost."""
        return future.client is self._client

    def cancel(self, futures: "Iterable[Future[Any]]") -> None:
        """Give up what has not begun; what has ends by itself."""
        with suppress(Exception):  # a connection that is gone
            self._client.cancel(list(futures))

    def least_memory(self) -> "WorkerMemory | None":
        """Return what the smallest of the fit workers that are there now has; None if none has a limit."""
        told: dict[str, Any] = {}
        with suppress(Exception):  # a connection that is gone
            told = self._client.scheduler_info(n_workers=-1)["workers"]
        workers = [told[address] for address in self.crew.fit if address in told]
        limited = [WorkerMemory(w["memory_limit"], w["nthreads"]) for w in workers if w["memory_limit"]]
        return min(limited, key=lambda memory: memory.of_task, default=None)

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


def check_dask() -> None:
    """Refuse to work on a cluster where Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_extra("A cluster", "Dask", "dask") from error


def connect(address: str) -> "Client":
    """Return a connection to a scheduler, or say why there is none."""
    check_dask()
    from distributed import Client
    from distributed.comm.addressing import resolve_address

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
