"""Work in several processes, which Ctrl-C ends in two steps."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from panfocus.errors import PanfocusError

Result = TypeVar("Result")

SECONDS_BETWEEN_LOOKS = 0.1  # at what the processes have finished


def in_processes(
    work: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    workers: int,
    *,
    on_leaving: Callable[[], None],
) -> Generator[tuple[int, Result]]:
    """Yield the place of a task and the result of `work(*task)`, as they come.

    Left early, by an error or Ctrl-C, it calls `on_leaving` and lets what has begun end; Ctrl-C while it
    waits for that ends the processes.
    """
    strangers = set(multiprocessing.active_children())
    spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin_worker)
    waiting = enumerate(tasks)
    under_way: dict[Future[Result], int] = {}
    try:
        while True:
            # A terminal sends Ctrl-C to every process; new ones inherit that it is kept from them.
            with _interrupts_held():
                # No more than are at work: leaving early waits for what has begun.
                for i, task in islice(waiting, workers - len(under_way)):
                    under_way[pool.submit(work, *task)] = i
            if not under_way:
                return
            for future in _finished(under_way, FIRST_COMPLETED):
                yield under_way.pop(future), future.result()
    except BrokenProcessPool as error:
        under_way.clear()
        raise PanfocusError(
            "a worker process was ended from outside, perhaps for lack of memory; "
            "start again with fewer --workers, finished results are kept"
        ) from error
    finally:
        try:
            if under_way:
                on_leaving()
                _finished(under_way, ALL_COMPLETED)
        except BaseException:
            for worker in set(multiprocessing.active_children()) - strangers:
                worker.terminate()
            raise
        finally:
            with _interrupts_held():
                pool.shutdown()


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
    """Let Ctrl-C wait until the block is done, and note meanwhile that it came."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted  # to others Python does not send it
        return
    handler = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, handler)
        if noted:
            signal.raise_signal(signal.SIGINT)


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


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent; but do not outlive a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
