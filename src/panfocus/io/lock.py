"""Locks: one panfocus process per folder, and temporary files whose owner is running."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from panfocus.errors import FileError

LOCK_NAME = ".panfocus.lock"


@contextmanager
def lock_folder(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Keep other panfocus processes out of a folder while the block lasts, or `wait` for one to leave.

    The system releases the lock when the process ends, even if it is killed.
    """
    from filelock import FileLock, Timeout

    path = folder / LOCK_NAME
    lock = FileLock(path)
    try:
        lock.acquire(blocking=wait)
    except Timeout as error:
        message = f"{folder}: Another panfocus process is using this folder. Wait, or choose another folder."
        raise FileError(message, file=str(folder), problem="locked") from error
    except OSError as error:
        raise FileError(f"{folder}: Cannot write here ({error.strerror}).", file=str(folder)) from error
    try:
        yield
    finally:
        # Removed while it is locked: a process that opened it before finds no link to it and tries again.
        with suppress(OSError):  # Windows does not remove open files
            path.unlink()
        lock.release()
        if sys.platform == "win32":
            with suppress(OSError):
                path.unlink()


def lock_file(file: BinaryIO) -> None:
    """Mark an open file as used until it is closed or the process ends.

    Windows needs no mark: it does not remove open files. filelock locks only files that it opens itself.
    """
    if sys.platform != "win32":
        import fcntl

        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)


def remove_unless_locked(path: Path) -> None:
    """Remove a file that no process uses; a file of unknown state stays."""
    with suppress(OSError):
        if sys.platform == "win32":
            path.unlink()  # fails for an open file
            return
        import fcntl

        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()  # while locked: a process that is about to lock it then notices that it is gone
