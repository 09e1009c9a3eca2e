"""Run tasks on a Dask cluster. Dask schedules them and repeats tasks of workers that died.

This module uses only suitable workers, reconnects to a lost scheduler, and submits tasks again that need a
larger worker.
"""

import logging
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from panfocus._numba import NoticeRelay, on_compile_notice
from panfocus.errors import InputError, NotEnoughMemoryError, PanfocusError, missing_extra
from panfocus.parallel.processes import LostTaskError

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

MEMORY_SHARE = 0.7  # of a worker's memory limit; above it Dask moves data to disk
UNLIMITED = 10**18  # bytes, for a task on a worker without a memory limit
TIMEOUT = 10.0  # seconds, for one answer of the scheduler
RECONNECT_TIMEOUT = 300.0  # seconds
POLL_INTERVAL = 0.01  # seconds between two looks for results
UPDATE_INTERVAL = 2.0  # seconds between two looks for new workers
TASKS_PER_THREAD = 4  # submitted at a time: no thread waits for the next, and new workers find some left
LIBRARIES = ("numpy", "numba", "llvmlite")  # other versions may change the last bits of a result


class WorkerMemory(NamedTuple):
    """Memory limit of a worker in bytes, 0 for none, and its number of threads. Each runs one task."""

    limit: int
    threads: int

    @property
    def task_bytes(self) -> int:
        """Number of bytes that one task may use."""
        return int(MEMORY_SHARE * self.limit / self.threads) if self.limit else UNLIMITED


class Cluster:
    """Connection to a Dask scheduler. It is opened again when it is lost."""

    def __init__(self, address: str, notify: Callable[[str], None]) -> None:
        self.address = address
        self.notify = notify
        self.topic = f"panfocus-{secrets.token_hex(8)}"  # of messages that workers send
        # By what the tasks need: whether a worker can be used, by its address.
        self.usable: defaultdict[Any, dict[str, bool]] = defaultdict(dict)
        self.notify_once = cache(notify)  # users hear each notice once
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
        for i, result in run.results(range(len(run.tasks))):
            if isinstance(result, LostTaskError):
                suspects.append(i)
            else:
                yield i, result
        # Dask suspects every task that was assigned to a worker that died, also tasks that had not started.
        # Alone, a task shows whether it is the cause.
        for i in suspects:
            yield from run.results([i])

    def smallest_worker(self) -> WorkerMemory | None:
        """Return the memory of the worker with the least for one task; None if none has a limit."""
        limited = [memory for memory in self.workers().values() if memory.limit]
        return min(limited, key=lambda memory: memory.task_bytes, default=None)

    def workers(self) -> dict[str, WorkerMemory]:
        """Return the memory of all workers by address; nothing if the scheduler does not answer."""
        with self.suppress_lost_connection():
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            return {a: WorkerMemory(info["memory_limit"], info["nthreads"]) for a, info in workers.items()}
        return {}

    @contextmanager
    def suppress_lost_connection(self) -> Iterator[None]:
        """Suppress errors of a lost connection, which is noticed where results are collected."""
        try:
            yield
        except OSError:  # also Dask's `CommClosedError`, and timeouts
            pass
        except Exception:  # of any class, from a client that is closing
            if self.client.status == "running":
                raise

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

    def close(self) -> None:
        """Close the connection. Dask then cancels tasks that have not started; others end by themselves."""
        with suppress(Exception):
            self.client.close(timeout=1)

    def _connect(self) -> "Client":
        check_dask()
        from distributed import Client
        from distributed.comm.addressing import resolve_address

        for name in ("distributed", "distributed.client"):  # their messages would appear between ours
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            resolve_address(self.address)  # a Client for an invalid address logs an error when it is deleted
            try:
                client = Client(self.address, timeout=TIMEOUT, set_as_default=False)
            except AssertionError:  # by a race in Dask, another message came with the scheduler's greeting
                client = Client(self.address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"No Dask scheduler answers at {self.address}. Start one with `dask scheduler`, and use the "
                "address that it prints, such as tcp://10.0.0.5:8786.",
                setting="scheduler",
                got=self.address,
            ) from error
        client.subscribe_topic(self.topic, lambda event: self._relay.tell(event[1]))
        return client


class _ClusterRun:
    """Tasks of one run that have no result yet, and the workers that may run them."""

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
        needs = tuple(str(path) for path in paths if path.exists()), tuple(modules)
        self._probe = _make_probe(__version__, *needs)
        self._is_usable = cluster.usable[needs]  # by address; runs of equal needs share the answers
        self._workers: dict[str, WorkerMemory] = {}  # usable ones that are connected
        self._waiting: deque[int] = deque()
        self._needed: dict[int, int] = {}  # bytes, of tasks that a worker was too small for
        self._submitted: dict[Future[Any], tuple[int, list[str]]] = {}  # with the workers that may run it
        self._is_waiting_for_workers = False
        self._next_update = 0.0

    def results(self, indices: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Run some of the tasks; yield the index and the result, or the error, of each."""
        self._waiting.extend(indices)
        while self._waiting or self._submitted:
            if self._cluster.client.status != "running":
                self._cluster.reconnect()
                self._take_back([*self._submitted])
                self._next_update = 0.0
            self._update_workers()
            self._submit()
            done = [future for future in self._submitted if future.status not in ("pending", "lost")]
            for future in done:
                yield from self._result(future)
            if not done:
                time.sleep(POLL_INTERVAL)

    def _submit(self) -> None:
        """Submit waiting tasks, as many as the workers soon need; Dask chooses the worker of each."""
        limit = TASKS_PER_THREAD * sum(memory.threads for memory in self._workers.values())
        while self._waiting and len(self._submitted) < limit:
            i = self._waiting.popleft()
            needed = self._needed.get(i, 0)
            fitting = [address for address, memory in self._workers.items() if memory.task_bytes >= needed]
            workers = fitting or [*self._workers]  # the large worker has gone: the task will fail again
            future = self._cluster.client.submit(
                run_on_worker,
                self._cluster.topic,
                self._function,
                self.tasks[i],
                key=f"{self._function.__name__}-{secrets.token_hex(16)}",  # dashboards show the first part
                workers=workers,
            )
            self._submitted[future] = i, workers

    def _take_back(self, futures: "Sequence[Future[Any]]") -> None:
        """Let tasks wait again. Dask cancels a future that nobody refers to."""
        self._waiting.extendleft(self._submitted.pop(future)[0] for future in futures)

    def _result(self, future: "Future[Any]") -> Iterator[tuple[int, Any]]:
        """Yield the result of a completed future, unless the task has to be submitted again."""
        from distributed import KilledWorker

        has_failed = future.status == "error"
        try:
            result = future.result(timeout=TIMEOUT)
        except KilledWorker as error:
            deaths = error.allowed_failures + 1
            result = LostTaskError(
                f"{deaths} workers died while running it, perhaps out of memory. Use workers with more "
                "memory, or a smaller `max_memory`.",
                deaths=deaths,
            )
        except (CancelledError, OSError):
            if has_failed:
                raise  # the task's own error
            self._take_back([future])  # the connection was lost, or somebody cancelled the task
            return
        except Exception as error:
            if isinstance(error, ImportError) or "deserializ" in str(error):
                raise PanfocusError(
                    f"The cluster at {self._cluster.address} cannot load the task ({error}). Its scheduler "
                    "and workers need the same version of panfocus as this machine.",
                    scheduler=self._cluster.address,
                ) from error
            raise
        i, _ = self._submitted[future]
        if isinstance(result, NotEnoughMemoryError):
            needed = result.facts["needed"]
            largest = max((memory.task_bytes for memory in self._workers.values()), default=UNLIMITED)
            if largest >= needed > self._needed.get(i, 0):
                self._needed[i] = needed
                self._take_back([future])
                return
        del self._submitted[future]
        yield i, result

    def _update_workers(self) -> None:
        """Update the usable workers; tell users when there are none, and when there are some again."""
        if time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + UPDATE_INTERVAL
        workers = self._cluster.workers()
        if not workers and self._cluster.client.status != "running":
            return
        new = [address for address in workers if address not in self._is_usable]
        faults = self._probe_workers(new) if new else []
        self._workers = {a: memory for a, memory in workers.items() if self._is_usable.get(a)}
        self._take_back([f for f, (_, named) in self._submitted.items() if not {*named} & {*self._workers}])
        if faults and not any(self._is_usable.values()) and not self._is_waiting_for_workers:
            raise PanfocusError(
                f"No worker of the scheduler at {self._cluster.address} can be used. {faults[0]}",
                scheduler=self._cluster.address,
            )
        has_none = not self._workers
        if has_none != self._is_waiting_for_workers:
            self._is_waiting_for_workers = has_none
            self._cluster.notify(
                f"The scheduler at {self._cluster.address} has no usable workers; waiting for some."
                if has_none
                else "Workers are available."
            )

    def _probe_workers(self, addresses: list[str]) -> list[str]:
        """Probe workers; return a sentence on each worker that cannot be used."""
        answers: dict[str, Any] = {}
        with self._cluster.suppress_lost_connection():
            answers = self._cluster.client.run(
                self._probe, workers=addresses, on_error="return", callback_timeout=TIMEOUT
            )
        faults = []
        for address, answer in answers.items():
            if isinstance(answer, Exception):  # the worker has gone
                continue
            host, fault, libraries = answer
            self._is_usable[address] = not fault
            if fault:
                faults.append(f"A worker on {host} {fault}")
                self._cluster.notify_once(f"{faults[-1]} It is not used.")
                continue
            versions = ", ".join(
                f"{name} {there} (here {here})"
                for name, there in libraries.items()
                if there != (here := version(name))
            )
            if versions:
                self._cluster.notify_once(
                    f"A worker on {host} has {versions}. Its results may differ in the last bits."
                )
        return faults


def _make_probe(needed_version: str, paths: Sequence[str], modules: Sequence[str]) -> Callable[..., Any]:
    """Return a function that returns the host of a worker, its fault if it has one, and library versions.

    It is nested, and refers to nothing of panfocus outside itself: Dask then sends it by value, and it runs
    on workers without panfocus.
    """
    names = LIBRARIES

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

    async def probe() -> tuple[str, str | None, dict[str, str]]:
        import asyncio
        import importlib.metadata
        import platform

        fault = await asyncio.to_thread(find_fault)
        libraries = {} if fault else {name: importlib.metadata.version(name) for name in names}
        return platform.node(), fault, libraries

    return probe


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


def open_cluster(
    address: str | None, notify: Callable[[str], None]
) -> AbstractContextManager[Cluster | None]:
    """Connect to the cluster at an address for the duration of a block; give None without an address."""
    return nullcontext() if address is None else closing(Cluster(address, notify))


def check_dask() -> None:
    """Raise if Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_extra("A cluster", "Dask", "dask") from error
