"""Independent blocks of work on all cores, with results in a fixed order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from panfocus._checks import whole_number

Block = TypeVar("Block")
Result = TypeVar("Result")

_limit: ContextVar[int | None] = ContextVar("panfocus_thread_limit", default=None)
_check: ContextVar[Callable[[], None] | None] = ContextVar("panfocus_check", default=None)


def available_cores() -> int:
    """Cores this process may run on (fewer than the machine has, inside a container or under taskset)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Threads that work started here uses: the limit set by `limit_threads`, else every available core."""
    return _limit.get() or available_cores()


@contextmanager
def limit_threads(n: int | None) -> Iterator[None]:
    """Use at most `n` threads inside the block (None: no limit of its own). Results never depend on it."""
    if n is not None:
        whole_number("threads", n, at_least=1)
    token = _limit.set(n if n is not None else _limit.get())
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def ended_by(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` again and again inside the block, in whichever thread works; what it raises ends the work.

    For those who cannot end a process: progress is told tile by tile, and some methods take seconds for one.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def may_end_here() -> None:
    """End the work, if the check of `ended_by` says so: called between steps of well under a second."""
    if check := _check.get():
        check()


def map_blocks(
    work: Callable[[Block], Result], blocks: Iterable[Block], *, threads: int | None = None
) -> Iterator[Result]:
    """Yield `work(block)` for every block, in order. The work must release the GIL to gain from threads.

    So many blocks at once as there are threads, or `threads` of them; each may use threads of its own, within
    the limit. Only two blocks a thread are under way at once, so that memory does not grow with the number of
    blocks. Leaving early, by an exception or Ctrl-C, drops the blocks that have not begun.
    """

    def checked(block: Block) -> Result:
        may_end_here()
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
    """Do `work(block)` for every block, on all cores, and wait for the last."""
    for _ in map_blocks(work, blocks):
        pass
