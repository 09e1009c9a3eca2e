"""Files that a result was made of: whether they are still what they were then."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from panfocus.io.atomic_files import digest

Stamp = list[int] | None


def file_stamp(path: Path) -> Stamp:
    """Return what tells a file from a later one of its name: when it was written, and its size."""
    try:
        found = path.stat()
    except OSError:  # it is gone
        return None
    return [found.st_mtime_ns, found.st_size]


def stamps_of(paths: Iterable[str]) -> dict[str, Stamp]:
    """Return the stamps of files, by path."""
    return {path: file_stamp(Path(path)) for path in paths}


def is_as_fused(entry: dict[str, Any], stamps: dict[str, Stamp]) -> bool:
    """Tell whether a file that a report tells of is as it was fused.

    `stamps` are those of then, None of a file that changed meanwhile: nobody knows what was read of it.
    """
    path = entry["path"]
    then, now = stamps.get(path, []), file_stamp(Path(path))
    if now is None or then is None:
        return False
    return now == then or digest(Path(path)) == entry["sha256"]  # all of a large stack takes its time
