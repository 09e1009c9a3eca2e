"""What the machine has to spare, as its system tells."""

import os
from contextlib import suppress
from pathlib import Path, PurePosixPath


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes of memory that are free now, also within the limits of a container; None if nothing tells."""
    told = [size for size in (_by_kernel(root), _by_control_groups(root)) if size is not None]
    if told:
        return min(told)
    with suppress(AttributeError, OSError, ValueError):  # a system without it, or without that name
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _by_kernel(root: Path) -> int | None:
    """Linux: what programs can get without swapping."""
    available = _fields(root / "proc/meminfo").get("MemAvailable:")
    return None if available is None else available * 1024


def _by_control_groups(root: Path) -> int | None:
    """Linux: what the groups that this process is in, one inside the other, still allow."""
    left = []
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            mount = root / "sys/fs/cgroup" / controllers
            # A container may see its own group as the first, under the name that it has outside.
            nested = (PurePosixPath(group), *PurePosixPath(group).parents)
            left += [_left_in(mount / str(name).lstrip("/")) for name in nested]
    return min((size for size in left if size is not None), default=None)


def _left_in(group: Path) -> int | None:
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        with suppress(OSError, ValueError):  # no such file; "max", which is no number
            # Read files that nobody uses count as used, but make room for anyone.
            cached = _fields(group / "memory.stat").get("inactive_file", 0)
            return int((group / limit).read_text()) - int((group / used).read_text()) + cached
    return None


def _fields(path: Path) -> dict[str, int]:
    with suppress(OSError):
        lines = (line.split() for line in path.read_text().splitlines())
        return {words[0]: int(words[1]) for words in lines if len(words) > 1}
    return {}
