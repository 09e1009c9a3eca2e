"""Run tasks on a Dask cluster: Dask schedules, repeats and reports; this module checks the workers."""

import logging
import secrets
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from panfocus._numba import NoticeRelay, on_compile_notice
from panfocus.errors import InputError, NotEnoughMemoryError, PanfocusError, missing_extra
from panfocus.parallel.processes import LostTaskError

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

MEMORY_SHARE = 0.7  # of a worker's memory limit; above it Dask moves data to disk
TIMEOUT = 10.0  # seconds, for one answer of the scheduler
RECONNECT_TIMEOUT = 300.0  # seconds
POLL_INTERVAL = 0.05  # seconds between two looks for results
CHECK_INTERVAL = 2.0  # seconds between two looks for new workers
UNLIMITED = 1e18  # bytes: the resource of a worker without a memory limit
UNUSABLE = -1.0  # less than any task needs
LIBRARIES = ("numpy", "numba", "llvmlite")  # other versions may change the last bits of a result


@dataclass(frozen=True)
class WorkerMemory:
    """Memory limit of a worker in bytes, and its number of threads. Each thread runs one task."""

    limit: int
    threads: int

    @property
    def task_bytes(self) -> int:
        """Number of bytes that one task may use."""
        return int(MEMORY_SHARE * self.limit / self.threads)


class Cluster:
    """Connection to a Dask scheduler. It is opened again when it is lost."""

    def __init__(self, address: str, notify: Callable[[str], None]) -> None:
        self.address = address
        self.notify = notify
        self.name = f"panfocus-{secrets.token_hex(8)}"  # of the topic of messages, and of resources
        self.has_results = False
        self._notices: set[str] = set()
        self._relay = NoticeRelay("on the workers: ")
        self.client = self._connect()

    def run_tasks(
        self,
        function: Callable[..., Result],
        tasks: Iterable[tuple[Any, ...]],
        paths: Sequence[Path] = (),
        modules: Sequence[str] = (),
    ) -> Generator[tuple[int, Result | PanfocusError]]:
        """Yield the index and the result of each task. See `panfocus.parallel.run_tasks`."""
        run = _ClusterRun(self, function, [*tasks], paths, modules)
        suspects = []
        try:
            run.submit(range(len(run.tasks)))
            for i, result in run.results():
                if isinstance(result, LostTaskError):
                    suspects.append(i)
                else:
                    yield i, result
            # Dask suspects every task that was assigned to a worker that died, also tasks that had not
            # started. Alone, a task shows whether it is the cause.
            for i in suspects:
                run.submit([i])
                yield from run.results()
        finally:
            run.cancel()

    def smallest_worker(self) -> WorkerMemory | None:
        """Return the memory of the worker with the least for one task; None if none has a limit."""
        workers = self.worker_info().values()
        limited = [WorkerMemory(w["memory_limit"], w["nthreads"]) for w in workers if w["memory_limit"]]
        return min(limited, key=lambda memory: memory.task_bytes, default=None)

    def worker_info(self) -> dict[str, Any]:
        """Return what the scheduler reports about its workers, by address; nothing if it does not answer."""
        with suppress(Exception):  # a lost connection is noticed where results are collected
            return dict(self.client.scheduler_info(n_workers=-1)["workers"])
        return {}

    def reconnect(self) -> None:
        """Connect to the scheduler again; give up after `RECONNECT_TIMEOUT` seconds."""
        self.notify(f"Lost the connection to the scheduler at {self.address}; reconnecting.")
        deadline = time.monotonic() + RECONNECT_TIMEOUT
        while True:
            self.close()
            try:
                self.client = self._connect()
                break
            except InputError as error:
                if time.monotonic() > deadline:
                    raise PanfocusError(
                        f"The scheduler at {self.address} has not answered for "
                        f"{RECONNECT_TIMEOUT / 60:.0f} minutes. Finished results are kept; run the command "
                        "again to resume.",
                        scheduler=self.address,
                    ) from error
                time.sleep(1)
        self.notify("Connected again.")

    def notify_once(self, notice: str) -> None:
        """Notify users, unless they know."""
        if notice not in self._notices:
            self._notices.add(notice)
            self.notify(notice)

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):
            self.client.close(timeout=1)

    def _connect(self) -> "Client":
        client = connect(self.address)
        client.subscribe_topic(self.name, lambda event: self._relay.tell(event[1]))
        return client


class _ClusterRun:
    """Tasks of one run that have no result yet, and the workers that may run them.

    Usable workers get a Dask resource: the bytes that one task may use there. A task asks for 0 of it, so any
    usable worker may run it, or for the bytes that it turned out to need. Other workers get less than 0.
    """

    def __init__(
        self,
        cluster: Cluster,
        function: Callable[..., Any],
        tasks: list[tuple[Any, ...]],
        paths: Sequence[Path],
        modules: Sequence[str],
    ) -> None:
        from panfocus import __version__

        self.tasks = tasks
        self._cluster = cluster
        self._function = function
        needs = [str(path) for path in paths if path.exists()], [*modules]
        self._resource = (
            f"{cluster.name}-{zlib.crc32(repr(needs).encode()):08x}"  # runs of equal needs share it
        )
        self._check = _worker_check(self._resource, __version__, *needs)
        self._needed: dict[int, int] = {}  # bytes, of tasks that a worker was too small for
        self._usable: dict[str, float] = {}  # bytes for a task, by the worker's address
        self._is_waiting = False
        self._next_check = 0.0
        self._track()

    def _track(self) -> None:
        """Start with no submitted task, on the present connection."""
        from distributed import as_completed

        self._futures: dict[Future[Any], int] = {}
        self._completed = as_completed(loop=self._cluster.client.loop)

    def submit(self, indices: Iterable[int]) -> None:
        """Submit tasks, each under a new key."""
        if self._cluster.client.status != "running":
            self._reconnect()
        self._check_workers()
        for i in indices:
            future = self._cluster.client.submit(
                run_on_worker,
                self._cluster.name,
                self._function,
                self.tasks[i],
                key=f"{self._function.__name__}-{secrets.token_hex(16)}",  # dashboards show the first part
                resources={self._resource: self._needed.get(i, 0)},
            )
            self._futures[future] = i
            self._completed.add(future)

    def cancel(self) -> None:
        """Cancel tasks that have not started; running ones end by themselves."""
        with suppress(Exception):  # the connection may be lost
            self._cluster.client.cancel(list(self._futures))

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yield the index and the result, or the error, of every submitted task."""
        while self._futures:
            self._check_workers()
            batch = self._completed.next_batch(block=False)
            for future in batch:
                if future in self._futures:  # else it was submitted again
                    yield from self._result(future)
            if not batch:
                time.sleep(POLL_INTERVAL)

    def _result(self, future: "Future[Any]") -> Iterator[tuple[int, Any]]:
        """Yield the result of a completed future, unless the task has to be submitted again."""
        from distributed import KilledWorker

        i = self._futures[future]
        try:
            result = future.result(timeout=TIMEOUT)
        except CancelledError as error:
            if getattr(error, "reason", None) in {"scheduler-connection-lost", "scheduler-restart"}:
                self._reconnect()
                return
            result = LostTaskError("The task was cancelled on the cluster.", deaths=0)
        except KilledWorker as error:
            deaths = error.allowed_failures + 1
            result = LostTaskError(
                f"{deaths} workers died while running it, perhaps out of memory. Use workers with more "
                "memory, or a smaller `max_memory`.",
                deaths=deaths,
            )
        except (OSError, TimeoutError):
            if self._cluster.client.status == "running" and future.status == "error":
                raise  # the task's own error
            self._resubmit([future])  # the connection was lost while the result was on its way
            return
        except Exception as error:
            if isinstance(error, ImportError) or "deserializ" in str(error):
                raise PanfocusError(
                    f"The cluster at {self._cluster.address} cannot load the task ({error}). Its scheduler "
                    "and workers need the same version of panfocus as this machine.",
                    scheduler=self._cluster.address,
                ) from error
            raise
        if isinstance(result, NotEnoughMemoryError):
            needed = result.facts["needed"]
            if max(self._usable.values(), default=UNLIMITED) >= needed > self._needed.get(i, 0):
                self._needed[i] = needed
                self._resubmit([future])
                return
        del self._futures[future]
        self._cluster.has_results = True
        yield i, result

    def _reconnect(self) -> None:
        """Connect again, and submit all tasks that have no result."""
        self._cluster.reconnect()
        left = [*self._futures.values()]
        self._track()
        self._next_check = 0.0
        self.submit(left)

    def _resubmit(self, futures: "Sequence[Future[Any]]") -> None:
        self._cluster.client.cancel(futures)
        self.submit([self._futures.pop(future) for future in futures])

    def _check_workers(self) -> None:
        """Check workers that are new; tell users when there are none, and when there are some again."""
        if time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + CHECK_INTERVAL
        workers = self._cluster.worker_info()
        if not workers and self._cluster.client.status != "running":
            return
        resources = {a: w["resources"].get(self._resource) for a, w in workers.items()}
        self._usable = {a: quantity for a, quantity in resources.items() if quantity and quantity > 0}
        new = [a for a, quantity in resources.items() if quantity is None]
        faults = self._admit(new)
        if any(a in self._usable for a in new):
            self._resubmit_stranded()
        if faults and not self._usable and not self._cluster.has_results and not self._is_waiting:
            raise PanfocusError(
                f"No worker of the scheduler at {self._cluster.address} can be used. {faults[0]}",
                scheduler=self._cluster.address,
            )
        if self._is_waiting != (not self._usable):
            self._is_waiting = not self._usable
            self._cluster.notify(
                f"The scheduler at {self._cluster.address} has no usable workers; waiting for some."
                if self._is_waiting
                else "Workers are available."
            )

    def _admit(self, addresses: list[str]) -> list[str]:
        """Check workers, and make those usable that pass; return what is wrong with the others."""
        if not addresses:
            return []
        answers: dict[str, Any] = {}
        with suppress(Exception):  # the connection is lost, which is noticed where results are collected
            answers = self._cluster.client.run(
                self._check, workers=addresses, on_error="return", callback_timeout=TIMEOUT
            )
        faults = []
        here = {name: version(name) for name in LIBRARIES}
        for address, answer in answers.items():
            if not isinstance(answer, dict):  # the worker has gone
                continue
            if answer["fault"]:
                faults.append(f"A worker on {answer['host']} {answer['fault']}")
                self._cluster.notify_once(f"{faults[-1]} It is not used.")
                continue
            self._usable[address] = answer["memory"]
            others = {name: found for name, found in answer["libraries"].items() if found != here[name]}
            if others:
                versions = ", ".join(f"{name} {found} (here {here[name]})" for name, found in others.items())
                self._cluster.notify_once(
                    f"A worker on {answer['host']} has {versions}. Its results may differ in the last bits."
                )
        return faults

    def _resubmit_stranded(self) -> None:
        """Submit tasks again that wait for a worker: Dask does not retry them when resources change."""
        try:
            assigned = self._cluster.client.processing()
        except Exception:  # the connection is lost, which is noticed where results are collected
            return
        keys = {key for address in self._usable for key in assigned.get(address, ())}
        self._resubmit([f for f in self._futures if f.status == "pending" and f.key not in keys])


def _worker_check(
    resource: str, needed_version: str, paths: list[str], modules: list[str]
) -> Callable[..., Any]:
    """Return a function that checks a worker and, if it can be used, gives it the resource.

    It is nested, and refers to nothing of panfocus outside itself: Dask then sends it by value, and it runs
    on workers without panfocus.
    """
    share, unlimited, unusable, libraries = MEMORY_SHARE, UNLIMITED, UNUSABLE, LIBRARIES

    def find_fault() -> str | None:
        import importlib

        for module in ["panfocus.parallel", *modules]:
            try:
                importlib.import_module(module)
            except ImportError as error:
                return f"cannot import {module.partition('.')[0]} ({error})."
        from panfocus import __version__

        if __version__ != needed_version:
            return f"has panfocus {__version__}, but this machine has {needed_version}."
        for path in paths:
            # The folder of a share that is not mounted is empty.
            if not Path(path).exists() or (Path(path).is_dir() and not any(Path(path).iterdir())):
                return f"cannot see {path}. Use folders with the same path on all machines."
        return None

    async def check(dask_worker: Any) -> dict[str, Any]:
        import asyncio
        import importlib.metadata
        import platform

        fault = await asyncio.to_thread(find_fault)
        limit = dask_worker.memory_manager.memory_limit
        memory = int(share * limit / dask_worker.state.nthreads) if limit else unlimited
        await dask_worker.set_resources(**{resource: unusable if fault else memory})
        versions = {} if fault else {name: importlib.metadata.version(name) for name in libraries}
        return {"host": platform.node(), "fault": fault, "memory": memory, "libraries": versions}

    return check


def run_on_worker(
    topic: str, function: Callable[..., Result], task: tuple[Any, ...]
) -> Result | NotEnoughMemoryError:
    """Run a task on a worker; publish messages about compiling under a topic."""
    worker = _this_worker()
    stop = on_compile_notice(lambda line: worker.log_event(topic, line))
    try:
        return function(*task)
    except NotEnoughMemoryError as error:
        return error  # if raised, Dask would log a failure
    finally:
        stop()


def worker_task_memory() -> int | None:
    """Return the bytes that a task may use on the Dask worker that runs it; None without a limit."""
    worker = _this_worker()
    limit = worker.memory_manager.memory_limit if worker else None
    return WorkerMemory(limit, worker.state.nthreads).task_bytes if limit else None


def _this_worker() -> Any:
    try:
        from distributed import get_worker

        return get_worker()
    except (ModuleNotFoundError, ValueError):  # Dask is not installed, or this is not a worker
        return None


@contextmanager
def open_cluster(address: str | None, notify: Callable[[str], None]) -> Iterator[Cluster | None]:
    """Connect to the cluster at an address for the duration of the block; give None without an address."""
    if address is None:
        yield None
        return
    with closing(Cluster(address, notify)) as cluster:
        yield cluster


def check_dask() -> None:
    """Raise if Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_extra("A cluster", "Dask", "dask") from error


def connect(address: str) -> "Client":
    """Return a Dask client of the scheduler at an address."""
    check_dask()
    from distributed import Client
    from distributed.comm.addressing import resolve_address

    # Dask's own log messages would appear between ours.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        resolve_address(address)  # a Client for an invalid address logs a second error when it is deleted
        return Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {address}. Start one with `dask scheduler`, and use the address "
            "that it prints, such as tcp://10.0.0.5:8786.",
            setting="scheduler",
            got=address,
        ) from error
