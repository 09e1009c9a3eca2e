"""One program at a time in a folder; files whose owner is alive."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from panfocus.errors import FileError

LOCK_NAME = ".panfocus.lock"


@contextmanager
def lock_folder(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Keep other runs of panfocus out of a folder while the block lasts; `wait` for one that is there.

    The system gives the lock back however this process ends. On Windows, which has none of the kind, nothing
    is kept out.
    """
    if sys.platform == "win32":
        yield
        return
    file = _take(folder, wait=wait)
    try:
        yield
    finally:
        # In this order: once the file is closed, it may be another's.
        (folder / LOCK_NAME).unlink(missing_ok=True)
        file.close()


def hold(file: BinaryIO) -> None:
    """Mark an open file as in use, until it is closed or this process ends, however that happens."""
    if sys.platform != "win32":
        import fcntl

        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)


def remove_unless_held(path: Path) -> None:
    """Remove a file that nobody holds; where nothing tells, it counts as held."""
    if sys.platform == "win32":
        return
    import fcntl

    with suppress(OSError), path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Still locked: whoever has just made it, and waits to hold it, finds then that it is gone.
        path.unlink()


def _take(folder: Path, *, wait: bool) -> TextIO:
    import fcntl

    path = folder / LOCK_NAME
    while True:
        try:
            file = path.open("a")
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise FileError(
                f"{folder}: another panfocus is at work here; wait for its end, or choose another folder"
            ) from error
        except OSError as error:
            raise FileError(f"{folder}: cannot write here ({error.strerror})") from error
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()  # its last owner removed it after we had opened it: it keeps nobody out
