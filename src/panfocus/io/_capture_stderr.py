"""What libraries in C write to the standard error stream about a file, kept from the user's screen."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2
_one_at_a_time = threading.Lock()  # the process has one such stream


@contextmanager
def lines_about(name: str) -> Iterator[list[str]]:
    """Gather the lines that begin with a file's name, as they are when the block has ended.

    Other lines, as other threads may write them meanwhile, appear after it. One thread at a time has such a
    block; a process that is started by another within one would write into what is gathered here.
    """
    said: list[str] = []
    with _one_at_a_time, tempfile.TemporaryFile() as kept:
        try:
            screen = os.dup(_STDERR)
        except OSError:  # closed: nobody would see them
            yield said
            return
        os.dup2(kept.fileno(), _STDERR)
        try:
            yield said
        finally:
            os.dup2(screen, _STDERR)
            os.close(screen)
            kept.seek(0)
            for line in kept.read().splitlines(keepends=True):
                if line.startswith(os.fsencode(name)):
                    said.append(os.fsdecode(line).removeprefix(name).strip(": \n"))
                else:
                    os.write(_STDERR, line)
