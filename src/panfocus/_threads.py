"""Independent blocks of work on all cores, with results in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from panfocus._checks import check_integer

Block = TypeVar("Block")
Result = TypeVar("Result")

_limit: ContextVar[int | None] = ContextVar("panfocus_thread_limit", default=None)
_check: ContextVar[Callable[[], None] | None] = ContextVar("panfocus_check", default=None)


def available_cores() -> int:
    """Return the cores that this process may use; containers and taskset may limit them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Return the limit set by `limit_threads`, else the number of available cores."""
    return _limit.get() or available_cores()


@contextmanager
def limit_threads(n: int | None) -> Iterator[None]:
    """Use at most `n` threads inside the block; None keeps the current limit. Results do not depend on it."""
    if n is not None:
        check_integer("threads", n, at_least=1)
    token = _limit.set(n if n is not None else _limit.get())
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def cancellable(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` repeatedly inside the block, in any working thread; an exception from it ends the work.

    This cancels work without ending the process. Progress alone is too rare: a tile may take seconds.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_cancelled() -> None:
    """Call the check of `cancellable`; used between steps of well under a second."""
    if check := _check.get():
        check()


def map_blocks(
    work: Callable[[Block], Result], blocks: Iterable[Block], *, threads: int | None = None
) -> Iterator[Result]:
    """Yield `work(block)` for every block, in order. Threads help only if the work releases the GIL.

    As many blocks run at once as the limit or `threads` allows; each may start its own threads. At most two
    blocks per thread are queued, so that memory does not grow with the number of blocks. An exception or
    Ctrl-C drops the blocks that have not started.
    """

    def checked(block: Block) -> Result:
        check_cancelled()
        return work(block)

    threads = threads or thread_count()
    under_way: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for block in blocks:
                under_way.append(pool.submit(copy_context().run, checked, block))
                if len(under_way) >= 2 * threads:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def for_all(work: Callable[[Block], None], blocks: Iterable[Block]) -> None:
    """Call `work(block)` for every block on all cores, and wait for the last."""
    for _ in map_blocks(work, blocks):
        pass
