"""Work in several processes, which Ctrl-C ends in two steps."""

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
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from panfocus._numba_messages import Relay, hear_of_compiling

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.1  # at what the processes have finished
FINISHING = "finishing what is under way; another Ctrl-C stops at once"  # for whoever is told of leaving
_UNSAID = "ignore:resource_tracker:UserWarning"  # as Python's option -W has it
# By which libraries are told, before they are loaded, how many threads to start.
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Lost:
    """What becomes of a task in place of a result, if the processes that were at it have died."""

    times: int  # that a process died; 0: somebody has cancelled it

    def __add__(self, other: "Lost") -> "Lost":
        return Lost(self.times + other.times)

    @property
    def reason(self) -> str:
        """Why there is no result."""
        if not self.times:
            return "it was cancelled on the cluster"
        return f"{self.times} worker processes died at it, perhaps for lack of memory"


def in_processes(
    work: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    workers: int,
    *,
    on_leaving: Callable[[], None],
    attempts: int = 1,
    threads: int | None = None,
) -> Generator[tuple[int, Result | Lost]]:
    """Yield the place of a task and the result of `work(*task)`, as they come.

    When a process dies, all others of the pool end with it. What they were at is begun again, one task at a
    time, so that it is known which of them kills its process: that is `Lost` after so many `attempts`.

    `threads`: most that libraries may start in each process. Left early, by an error or Ctrl-C, it calls
    `on_leaving` and lets what has begun end; Ctrl-C while it waits for that ends the processes.
    """
    strangers = set(multiprocessing.active_children())
    waiting = enumerate(tasks)
    suspects: deque[_Task] = deque()
    deaths: Counter[int] = Counter()
    compiling = Relay()
    pool: _Pool[Result] = _Pool(work, workers, threads, compiling)
    try:
        while True:
            pool.keep_busy(suspects, waiting)
            if not pool.under_way:
                return
            yield from pool.results(FIRST_COMPLETED)
            if pool.sound:
                continue
            yield from pool.results(ALL_COMPLETED)
            for task in pool.given_up():
                deaths[task[0]] += 1
                if deaths[task[0]] < attempts:
                    suspects.append(task)
                else:
                    yield task[0], Lost(attempts)
            pool.close()
            pool = _Pool(work, workers, threads, compiling)
    finally:
        try:
            if pool.under_way:
                on_leaving()
                pool.wait(ALL_COMPLETED)
        except BaseException:
            for worker in set(multiprocessing.active_children()) - strangers:
                worker.terminate()
            raise
        finally:
            pool.close()


_Task = tuple[int, tuple[Any, ...]]


class _Pool(Generic[Result]):
    """Processes, and what they are at; `sound` until one of them dies."""

    def __init__(
        self, work: Callable[..., Result], workers: int, threads: int | None, compiling: Relay
    ) -> None:
        _start_tracker()
        spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.sound = True
        self.under_way: dict[Future[Result], _Task] = {}
        self._on_trial = False  # a single task is, at which a process has died
        self._work = work
        self._workers = workers
        self._compiling = compiling
        self._heard, self._told = spawn.Pipe(duplex=False)  # what the processes say of their compiling
        self._executor = ProcessPoolExecutor(
            workers, mp_context=spawn, initializer=_begin_worker, initargs=(threads, self._told)
        )

    def keep_busy(self, suspects: deque[_Task], waiting: Iterator[_Task]) -> None:
        """Begin one of the suspects, alone, or as many others as there are processes."""
        if self.under_way and (suspects or self._on_trial):
            return
        self._on_trial = bool(suspects)
        if suspects:
            self._begin(suspects.popleft())
            return
        # No more than are at work: leaving early waits for what has begun.
        for task in islice(waiting, self._workers - len(self.under_way)):
            self._begin(task)

    def _begin(self, task: _Task) -> None:
        # A terminal sends Ctrl-C to every process; new ones inherit that it is kept from them.
        with _interrupts_held():
            try:
                future = self._executor.submit(self._work, *task[1])
            except BrokenProcessPool as error:
                future = Future()
                future.set_exception(error)
            self.under_way[future] = task

    def results(self, until: str) -> Iterator[tuple[int, Result]]:
        for future in self.wait(until):
            if isinstance(future.exception(), BrokenProcessPool):
                self.sound = False
            else:
                yield self.under_way.pop(future)[0], future.result()

    def wait(self, until: str) -> set[Future[Result]]:
        """Wait for the first of what is under way, or for all, or for Ctrl-C; tell meanwhile of compiling.

        Ctrl-C is taken between two looks. In the middle of one it could leave a future's lock held for ever,
        and the thread that is to end the pool would wait for it.
        """
        with _interrupts_noted() as noted:
            while True:
                done, pending = wait(self.under_way, timeout=SECONDS_BETWEEN_LOOKS, return_when=until)
                while self._heard.poll():
                    self._compiling.tell(self._heard.recv())
                if noted or not pending or (done and until == FIRST_COMPLETED):
                    return done

    def given_up(self) -> list[_Task]:
        """Return what was under way when a process died."""
        given_up = list(self.under_way.values())
        self.under_way.clear()
        return sorted(given_up, key=lambda task: task[0])

    def close(self) -> None:
        with _interrupts_held():
            self._executor.shutdown()
        self._heard.close()
        self._told.close()


def _start_tracker() -> None:
    """Have Python clear away after a run that was killed, and say nothing of it.

    It does so by a process that is started before the first lock is made, with our settings for warnings.
    """
    if sys.platform == "win32":  # whose locks go with their processes
        return
    from multiprocessing import resource_tracker

    sys.warnoptions.append(_UNSAID)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_UNSAID)


@contextmanager
def _interrupts_noted() -> Iterator[list[int]]:
    """Let Ctrl-C, or SIGTERM, wait until the block is done, and note meanwhile that it came."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted  # to others Python does not send it
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(number, lambda number, _: noted.append(number)) for number in numbers]
    try:
        yield noted
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
        if noted:
            signal.raise_signal(noted[0])


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done, and keep it from processes that begin in it."""
    with _interrupts_noted():
        # A handler is not inherited, but what is blocked is; Windows has nothing of the kind.
        if sys.platform == "win32":
            yield
            return
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin_worker(threads: int | None, told: "Connection") -> None:
    """Leave Ctrl-C to the parent, and tell it of compiling; but do not outlive a parent that was killed."""
    if threads is not None:
        os.environ.update(dict.fromkeys(_THREAD_LIMITS, str(threads)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hear_of_compiling(lambda line: _tell(told, line))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _tell(told: "Connection", line: str) -> None:
    with suppress(OSError):  # the parent has gone
        told.send(line)  # a line is short enough to be written at once, whoever else writes


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
