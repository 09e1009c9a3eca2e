"""Run tasks in several processes of this machine. Ctrl-C stops them in two steps."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from panfocus._numba import NoticeRelay, on_compile_notice
from panfocus.errors import PanfocusError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Result = TypeVar("Result")

ATTEMPTS = 3  # processes that may die before a task is given up
POLL_INTERVAL = 0.1  # seconds
STOPPING = "finishing running tasks; press Ctrl-C again to stop at once"  # progress stage
# Environment variables from which libraries take their number of threads when they are loaded.
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class LostTaskError(PanfocusError):
    """No worker finished a task; the fact `deaths` counts those that died while running it."""


def run_in_processes(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    n_processes: int,
    *,
    threads: int | None = None,
    on_stop: Callable[[], None] = lambda: None,
) -> Generator[tuple[int, Result | PanfocusError]]:
    """Yield the index and the result of each task. See `panfocus.parallel.run_tasks`.

    When a process dies, all others of the pool end too. Their tasks are repeated one at a time, which shows
    the one that kills its process.
    """
    others = set(multiprocessing.active_children())
    waiting = enumerate(tasks)
    suspects: deque[_IndexedTask] = deque()
    deaths: Counter[int] = Counter()
    relay = NoticeRelay()
    pool: _Pool[Result] = _Pool(function, n_processes, threads, relay)
    try:
        while True:
            pool.fill(suspects, waiting)
            if not pool.running:
                return
            yield from pool.results(FIRST_COMPLETED)
            if not pool.is_broken:
                continue
            yield from pool.results(ALL_COMPLETED)
            for task in pool.take_unfinished():
                i = task[0]
                deaths[i] += 1
                if deaths[i] < ATTEMPTS:
                    suspects.append(task)
                else:
                    yield i, _lost_task(deaths[i])
            pool.close()
            pool = _Pool(function, n_processes, threads, relay)
    finally:
        try:
            if pool.running:
                on_stop()
                pool.wait(ALL_COMPLETED)
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
        finally:
            pool.close()


def _lost_task(deaths: int) -> LostTaskError:
    return LostTaskError(
        f"{deaths} worker processes died while running it, perhaps out of memory. Use fewer `workers`, or a "
        "smaller `max_memory`.",
        deaths=deaths,
    )


_IndexedTask = tuple[int, tuple[Any, ...]]


class _Pool(Generic[Result]):
    """Processes and the tasks that they run."""

    def __init__(
        self, function: Callable[..., Result], n_processes: int, threads: int | None, relay: NoticeRelay
    ) -> None:
        _start_resource_tracker()
        spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.is_broken = False
        self.running: dict[Future[Result], _IndexedTask] = {}
        self._runs_suspect = False
        self._function = function
        self._n_processes = n_processes
        self._relay = relay
        self._messages, sender = spawn.Pipe(duplex=False)  # of processes that compile
        self._sender = sender
        self._executor = ProcessPoolExecutor(
            n_processes, mp_context=spawn, initializer=_start_worker, initargs=(threads, sender)
        )

    def fill(self, suspects: deque[_IndexedTask], waiting: Iterator[_IndexedTask]) -> None:
        """Start one suspect alone, or as many waiting tasks as there are idle processes."""
        if self.running and (suspects or self._runs_suspect):
            return
        self._runs_suspect = bool(suspects)
        if suspects:
            self._start(suspects.popleft())
            return
        # A queue would be worked off before the pool stops.
        for task in islice(waiting, self._n_processes - len(self.running)):
            self._start(task)

    def _start(self, task: _IndexedTask) -> None:
        # A terminal sends Ctrl-C to every process. New ones inherit that it is blocked.
        with _block_interrupts():
            try:
                future = self._executor.submit(self._function, *task[1])
            except BrokenProcessPool as error:
                future = Future()
                future.set_exception(error)
            self.running[future] = task

    def results(self, return_when: str) -> Iterator[tuple[int, Result]]:
        """Wait, then yield the index and the result of finished tasks; note whether a process died."""
        for future in self.wait(return_when):
            if isinstance(future.exception(), BrokenProcessPool):
                self.is_broken = True
            else:
                yield self.running.pop(future)[0], future.result()

    def wait(self, return_when: str) -> set[Future[Result]]:
        """Wait for running tasks, or for Ctrl-C; return those that have finished.

        Ctrl-C raises after a wait, not within it: there it could leave the lock of a future held, and closing
        the pool would wait for that lock forever.
        """
        with _defer_interrupts() as received:
            while True:
                done, pending = wait(self.running, timeout=POLL_INTERVAL, return_when=return_when)
                while self._messages.poll():
                    self._relay.tell(self._messages.recv())
                if received or not pending or (done and return_when == FIRST_COMPLETED):
                    return done

    def take_unfinished(self) -> list[_IndexedTask]:
        """Return the tasks that were running when a process died, in order, and forget them."""
        unfinished = sorted(self.running.values(), key=lambda task: task[0])
        self.running.clear()
        return unfinished

    def close(self) -> None:
        """End the processes."""
        with _block_interrupts():
            self._executor.shutdown()
        self._messages.close()
        self._sender.close()


def _start_resource_tracker() -> None:
    """Start Python's process that cleans up after a killed run, without its warnings about that."""
    if sys.platform == "win32":  # which needs none
        return
    from multiprocessing import resource_tracker

    option = "ignore:resource_tracker:UserWarning"  # the tracker takes over the options of this process
    sys.warnoptions.append(option)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(option)


@contextmanager
def _defer_interrupts() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list during the block; raise the first one after it."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received  # Python handles signals in the main thread only
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    # An ignored signal stays ignored, as after `nohup panfocus ... &`.
    handlers = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in numbers
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Defer interrupts during the block, and block SIGINT in processes that start in it."""
    with _defer_interrupts():
        if sys.platform == "win32":  # which cannot block signals
            yield
            return
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start_worker(threads: int | None, sender: "Connection") -> None:
    """Prepare a new process: ignore Ctrl-C, report compiling, and exit when the parent is killed."""
    if threads is not None:
        os.environ.update(dict.fromkeys(_THREAD_LIMITS, str(threads)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def send(line: str) -> None:
        with suppress(OSError):  # the parent has ended
            sender.send(line)  # short enough to be written at once, also if others write

    on_compile_notice(send)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
