"""How the C library hands out memory: for this program, better than by its defaults."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# Of glibc's malloc.h: names of options, and the largest threshold it takes.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGEST_THRESHOLD = 32 << 20


def keep_freed_memory() -> None:
    """Let large arrays take the place of those before them, instead of giving memory back in between.

    New memory is cleared by the system, page by page: a tenth of the time of a fusion. Nothing happens where
    the C library is another one.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    set_option(_M_ARENA_MAX, 1)  # threads share what is free
    set_option(_M_MMAP_THRESHOLD, _LARGEST_THRESHOLD)
    set_option(_M_TRIM_THRESHOLD, 2**30)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Do so while the block lasts, in a process that others use too: then what is free is given back.

    Dask has its workers give back whatever they can at once, by which a fusion takes half as long again.
    """
    keep_freed_memory()
    try:
        yield
    finally:
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (AttributeError, OSError, TypeError):
            return
