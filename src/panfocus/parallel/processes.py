"""Run tasks in several processes of this machine. Ctrl-C stops them in two steps."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from panfocus._numba import NoticeRelay, on_compile_notice
from panfocus.errors import PanfocusError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Result = TypeVar("Result")
IndexedTask = tuple[int, tuple[Any, ...]]

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

    When a process dies, all others of the pool end too. Their tasks are repeated at the end, one at a time,
    which shows the one that kills its process.
    """
    relay = NoticeRelay()

    def run(waiting: Iterator[IndexedTask]) -> Generator[tuple[int, Result], None, list[IndexedTask]]:
        return _run_pool(function, waiting, n_processes, threads, relay, on_stop)

    waiting = enumerate(tasks)
    suspects: list[IndexedTask] = []
    while unfinished := (yield from run(waiting)):
        suspects += unfinished
    for suspect in suspects:
        for _ in range(ATTEMPTS - 1):  # it has had one
            if not (yield from run(iter([suspect]))):
                break
        else:
            yield (
                suspect[0],
                LostTaskError(
                    f"{ATTEMPTS} worker processes died while running it, perhaps out of memory. Use fewer "
                    "`workers`, or a smaller `max_memory`.",
                    deaths=ATTEMPTS,
                ),
            )


def _run_pool(
    function: Callable[..., Result],
    waiting: Iterator[IndexedTask],
    n_processes: int,
    threads: int | None,
    relay: NoticeRelay,
    on_stop: Callable[[], None],
) -> Generator[tuple[int, Result], None, list[IndexedTask]]:
    """Yield the index and the result of each task until a process dies; return the unfinished tasks then."""
    _start_resource_tracker()
    others = {*multiprocessing.active_children()}
    spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    messages, sender = spawn.Pipe(duplex=False)  # of processes that compile
    executor = ProcessPoolExecutor(
        n_processes, mp_context=spawn, initializer=_start_worker, initargs=(threads, sender)
    )
    running: dict[Future[Result], IndexedTask] = {}
    unfinished: list[IndexedTask] = []

    def submit_waiting() -> None:
        # One task for each process: a queue would be worked off before the pool stops. A terminal sends
        # Ctrl-C to every process; new ones inherit that it is blocked.
        with _block_interrupts():
            while not unfinished and len(running) < n_processes and (task := next(waiting, None)):
                try:
                    running[executor.submit(function, *task[1])] = task
                except BrokenProcessPool:
                    unfinished.append(task)

    def wait_for_tasks(return_when: str) -> set[Future[Result]]:
        """Wait for running tasks, or for Ctrl-C; return those that have finished.

        Ctrl-C raises after a wait, not within it: there it could leave the lock of a future held, and closing
        the pool would wait for that lock forever.
        """
        with _defer_interrupts() as received:
            while True:
                done, pending = wait(running, timeout=POLL_INTERVAL, return_when=return_when)
                while messages.poll():
                    relay.tell(messages.recv())
                if received or not pending or (done and return_when == FIRST_COMPLETED):
                    return done

    try:
        submit_waiting()
        while running:
            for future in wait_for_tasks(FIRST_COMPLETED):
                task = running.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    unfinished.append(task)
                else:
                    yield task[0], future.result()
            submit_waiting()
        return sorted(unfinished)
    finally:
        try:
            if running:
                on_stop()
                wait_for_tasks(ALL_COMPLETED)
        except BaseException:
            for process in {*multiprocessing.active_children()} - others:
                process.terminate()
            raise
        finally:
            with _defer_interrupts():
                executor.shutdown()
            messages.close()
            sender.close()


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
