"""Memory of the machine: how much is free, and how the C library reuses it."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

# Options of glibc's malloc.h, and the largest threshold that it accepts.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGEST_THRESHOLD = 32 << 20
_NO_GLIBC = (AttributeError, OSError, TypeError)


def keep_freed_memory() -> None:
    """Make the C library reuse freed memory for large arrays instead of returning it to the system.

    The system clears new memory page by page, which takes a tenth of the time of a fusion. This does nothing
    with C libraries other than glibc.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except _NO_GLIBC:
        return
    set_option(_M_ARENA_MAX, 1)  # threads share free memory
    set_option(_M_MMAP_THRESHOLD, _LARGEST_THRESHOLD)
    set_option(_M_TRIM_THRESHOLD, 2**30)


@contextmanager
def reuse_freed_memory() -> Iterator[None]:
    """Call `keep_freed_memory`, and return free memory at the end, for processes that others use too.

    Dask's workers return all memory at once, which makes a fusion take half as long again.
    """
    keep_freed_memory()
    try:
        yield
    finally:
        with suppress(*_NO_GLIBC):
            ctypes.CDLL(None).malloc_trim(0)


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the free bytes of memory, within the limits of a container; None if unknown."""
    known = [size for size in (_free_in_kernel(root), _free_in_cgroups(root)) if size is not None]
    if known:
        return min(known)
    with suppress(AttributeError, OSError, ValueError):  # no sysconf, or not these names
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_kernel(root: Path) -> int | None:
    """Return the memory that Linux can provide without swapping."""
    available = _read_fields(root / "proc/meminfo").get("MemAvailable:")
    return None if available is None else available * 1024


def _free_in_cgroups(root: Path) -> int | None:
    """Return the memory that the nested control groups of this process still allow, on Linux."""
    sizes = []
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            mount = root / "sys/fs/cgroup" / controllers
            # A container may see its own group at the root, under its name outside.
            nested = (PurePosixPath(group), *PurePosixPath(group).parents)
            sizes += [_free_in_group(mount / str(name).lstrip("/")) for name in nested]
    return min((size for size in sizes if size is not None), default=None)


def _free_in_group(group: Path) -> int | None:
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        with suppress(OSError, ValueError):  # no such file, or "max" instead of a number
            # Cached files count as used, but are evicted when memory is needed.
            cached = _read_fields(group / "memory.stat").get("inactive_file", 0)
            return int((group / limit).read_text()) - int((group / used).read_text()) + cached
    return None


def _read_fields(path: Path) -> dict[str, int]:
    with suppress(OSError):
        lines = (line.split() for line in path.read_text().splitlines())
        return {words[0]: int(words[1]) for words in lines if len(words) > 1}
    return {}
