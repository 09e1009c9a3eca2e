"""File stamps: whether the inputs of a result are still the same files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from panfocus.io.atomic_files import digest

FileStamp = list[int] | None  # a list, as JSON returns it


def file_stamp(path: Path) -> FileStamp:
    """Return a file's time of modification in ns and its size in bytes; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def file_stamps(paths: Iterable[str]) -> dict[str, FileStamp]:
    """Return the stamps of files by path."""
    return {path: file_stamp(Path(path)) for path in paths}


def is_unchanged(entry: dict[str, Any], stamps: dict[str, FileStamp]) -> bool:
    """Return whether the file of a report's entry is the one that was fused.

    `stamps` were taken then; None means that the file changed while it was read.
    """
    path = entry["path"]
    then, now = stamps.get(path, []), file_stamp(Path(path))
    if now is None or then is None:
        return False
    return now == then or digest(Path(path)) == entry["sha256"]  # the digest last: it reads the whole file
