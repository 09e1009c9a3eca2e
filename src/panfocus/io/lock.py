"""One program at a time in a folder."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from panfocus.errors import FileError

LOCK = ".panfocus.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs of panfocus out of a folder while the block lasts.

    The system gives the lock back however this process ends. On Windows, which has none of the kind, nothing
    is kept out.
    """
    if sys.platform == "win32":
        yield
        return
    file = _take(folder)
    try:
        yield
    finally:
        # In this order: once the file is closed, it may be another's.
        (folder / LOCK).unlink(missing_ok=True)
        file.close()


def _take(folder: Path) -> TextIO:
    import fcntl

    path = folder / LOCK
    while True:
        try:
            file = path.open("a")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
