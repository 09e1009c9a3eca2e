"""Frames in a file of their own while they are worked on: for stacks that are larger than the memory."""

import mmap
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._checks import blank
from panfocus.errors import FileError
from panfocus.stack import LazyFrames


class ScratchFrames(LazyFrames):
    """Frames (n, h, w) or (n, h, w, c) on disk that are used like an array; made by `scratch_frames`.

    Every access reads what is asked for, so that memory does not grow with the number of frames. Several
    threads may read and write frames at once.
    """

    def __init__(self, file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        super().__init__(shape, dtype)
        self._file = file
        self._one_at_a_time = threading.Lock()  # the file has one position
        self._frame_bytes = blank(shape[1:], dtype).nbytes

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[k] for k in range(len(self)))

    def __setitem__(self, k: int | tuple[int, slice, slice], frame: NDArray[Any]) -> None:
        if isinstance(k, tuple):
            self._write_rectangle(*k, frame)
            return
        data = np.ascontiguousarray(frame, self.dtype)
        try:
            with self._one_at_a_time:
                self._file.seek(k * self._frame_bytes)
                self._file.write(data)
                self._file.flush()  # for those who map it
        except OSError as error:
            raise _no_room(error) from error

    def _write_rectangle(self, k: int, rows: slice, cols: slice, part: NDArray[Any]) -> None:
        """Write a part of a frame row by row, or at once if its rows are whole."""
        data = np.ascontiguousarray(part, self.dtype)
        row_bytes = self._frame_bytes // self.shape[1]
        start = k * self._frame_bytes + rows.start * row_bytes + cols.start * (row_bytes // self.shape[2])
        try:
            with self._one_at_a_time:
                for i, piece in enumerate([data] if data.shape[1] == self.shape[2] else data):
                    self._file.seek(start + i * row_bytes)
                    self._file.write(piece)
                self._file.flush()
        except OSError as error:
            raise _no_room(error) from error

    def first(self, n: int) -> "ScratchFrames":
        """Return the first frames alone, in the same file."""
        return ScratchFrames(self._file, (n, *self.shape[1:]), self.dtype)

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        if hasattr(os, "preadv") and len(place) == 2 and _is_rectangle(place):
            return self._read_rectangle(k, *place)
        if not place:  # by reading: a map would hold the whole frame once more
            frame = np.empty(self.shape[1:], self.dtype)
            with self._one_at_a_time:
                self._file.seek(k * self._frame_bytes)
                self._file.readinto(frame)
            return frame
        start = k * self._frame_bytes
        beyond = start % mmap.ALLOCATIONGRANULARITY
        with mmap.mmap(
            self._file.fileno(), self._frame_bytes + beyond, access=mmap.ACCESS_READ, offset=start - beyond
        ) as mapped:
            return np.array(np.ndarray(self.shape[1:], self.dtype, mapped, beyond)[place])

    def _read_rectangle(self, k: int, rows: slice, cols: slice) -> NDArray[Any]:
        """Read row by row: to map the frame for a few rows of it would take longer."""
        height, width, *channels = self.shape[1:]
        inside_rows, inside_cols = range(height)[rows], range(width)[cols]
        part = np.empty((len(inside_rows), len(inside_cols), *channels), self.dtype)
        row_bytes = self._frame_bytes // height
        start = (
            k * self._frame_bytes + inside_rows.start * row_bytes + inside_cols.start * (row_bytes // width)
        )
        for i, row in enumerate(part):
            os.preadv(self._file.fileno(), [row], start + i * row_bytes)
        return part


def _no_room(error: OSError) -> FileError:
    return FileError(
        f"{scratch_folder()}: cannot write a frame there ({error.strerror}); make room, "
        "or set TMPDIR to another folder"
    )


def _is_rectangle(part: tuple[Any, ...]) -> bool:
    return all(isinstance(span, slice) and span.step in (None, 1) for span in part)


@contextmanager
def scratch_frames(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[ScratchFrames]:
    """Have room on disk for frames while the block lasts.

    The file has no name, where the system knows such files: it is gone however this process ends.
    """
    check_room(blank(shape, dtype).nbytes)
    file = tempfile.TemporaryFile(dir=scratch_folder())  # noqa: SIM115  # closed below
    try:
        yield ScratchFrames(file, shape, dtype)
    finally:
        with suppress(OSError):  # what could not be written has been told, and is not needed any more
            file.close()


def check_room(size: int) -> None:
    """Refuse what the disk has no room for."""
    folder = scratch_folder()
    free = shutil.disk_usage(folder).free
    if size > free:
        raise FileError(
            f"{folder}: {size / 1e6:,.0f} MB are needed there for frames that do not fit into memory, "
            f"{free / 1e6:,.0f} MB are free; make room, set TMPDIR to another folder, or allow more memory"
        )


def scratch_folder() -> Path:
    """Return the folder for large temporary files: TMPDIR, else /var/tmp, as /tmp may lie in memory."""
    large = Path("/var/tmp")
    if "TMPDIR" not in os.environ and os.access(large, os.W_OK):
        return large
    return Path(tempfile.gettempdir())
