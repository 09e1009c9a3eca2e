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
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.1  # at what the processes have finished
FINISHING = "finishing what is under way; another Ctrl-C stops at once"  # for whoever is told of leaving
# By which libraries are told, before they are loaded, how many threads to start.
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Lost:
    """What becomes of a task in place of a result, if the processes that were at it have died."""

    times: int


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
    crew: _Crew[Result] = _Crew(work, workers, threads)
    try:
        while True:
            crew.keep_busy(suspects, waiting)
            if not crew.under_way:
                return
            yield from crew.results(FIRST_COMPLETED)
            if crew.sound:
                continue
            yield from crew.results(ALL_COMPLETED)
            for task in crew.given_up():
                deaths[task[0]] += 1
                if deaths[task[0]] < attempts:
                    suspects.append(task)
                else:
                    yield task[0], Lost(attempts)
            crew.close()
            crew = _Crew(work, workers, threads)
    finally:
        try:
            if crew.under_way:
                on_leaving()
                _finished(crew.under_way, ALL_COMPLETED)
        except BaseException:
            for worker in set(multiprocessing.active_children()) - strangers:
                worker.terminate()
            raise
        finally:
            crew.close()


_Task = tuple[int, tuple[Any, ...]]


class _Crew(Generic[Result]):
    """Processes, and what they are at; `sound` until one of them dies."""

    def __init__(self, work: Callable[..., Result], workers: int, threads: int | None) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.sound = True
        self.under_way: dict[Future[Result], _Task] = {}
        self._on_trial = False  # a single task is, at which a process has died
        self._work = work
        self._workers = workers
        self._pool = ProcessPoolExecutor(
            workers, mp_context=spawn, initializer=_begin_worker, initargs=(threads,)
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
                future = self._pool.submit(self._work, *task[1])
            except BrokenProcessPool as error:
                future = Future()
                future.set_exception(error)
            self.under_way[future] = task

    def results(self, until: str) -> Iterator[tuple[int, Result]]:
        for future in _finished(self.under_way, until):
            if isinstance(future.exception(), BrokenProcessPool):
                self.sound = False
            else:
                yield self.under_way.pop(future)[0], future.result()

    def given_up(self) -> list[_Task]:
        """Return what was under way when a process died."""
        given_up = list(self.under_way.values())
        self.under_way.clear()
        return sorted(given_up, key=lambda task: task[0])

    def close(self) -> None:
        with _interrupts_held():
            self._pool.shutdown()


def _finished(under_way: Iterable[Future[Any]], until: str) -> set[Future[Any]]:
    """Wait for the first of some futures, or for all, or for Ctrl-C.

    Ctrl-C is taken between two looks. In the middle of one it could leave a future's lock held for ever, and
    the thread that is to end the pool would wait for it.
    """
    with _interrupts_noted() as noted:
        while True:
            done, pending = wait(under_way, timeout=SECONDS_BETWEEN_LOOKS, return_when=until)
            if noted or not pending or (done and until == FIRST_COMPLETED):
                return done


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


def _begin_worker(threads: int | None) -> None:
    """Leave Ctrl-C to the parent; but do not outlive a parent that was killed."""
    if threads is not None:
        os.environ.update(dict.fromkeys(_THREAD_LIMITS, str(threads)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
