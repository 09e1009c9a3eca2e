"""Arrays on disk that are read and written by parts: scratch files and folders of .npy files.

They are not memory-mapped. Writing to a map on a full disk kills the process, and mapped pages count as
memory that the process uses.
"""

import itertools
import math
import operator
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus._checks import blank
from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import flush_file, make_folder, open_temporary, remove_abandoned
from panfocus.io.file_errors import add_path_to_errors
from panfocus.stack import Allocate, LazyFrames

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class DiskArray(LazyFrames):
    """An array in a file that is indexed by integers and slices, like an array in memory.

    Every access reads or writes only the requested part. Several threads may use the array at once.

    Parameters
    ----------
    path : Path
        Named in errors: the file, or the folder of an unnamed scratch file.
    file : binary file
        Open file.
    shape, dtype
        Of the array.
    start : int, optional
        Offset of the values in the file. Default: the current position.
    """

    def __init__(
        self,
        path: Path,
        file: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        start: int | None = None,
    ) -> None:
        super().__init__(shape, dtype)
        self._path = path
        self._file = file
        self._start = file.tell() if start is None else start
        self._lock = threading.Lock()  # the file has one position

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        spans, shape = self._locate(key)
        axis = self._run_axis(spans)
        wanted = spans[axis]
        if wanted.step != 1:  # read the values between the wanted ones, too
            ends = (wanted[0], wanted[-1]) if wanted else (0, -1)
            spans[axis] = range(min(ends), max(ends) + 1)
        part = np.empty([len(span) for span in spans], self.dtype)
        offsets, length = self._runs(spans, axis)
        with add_path_to_errors(self._path):
            for offset, run in zip(offsets, _split(part, length).view(np.uint8), strict=True):
                self._read(run, offset)
        if wanted.step != 1:
            part = part.take(np.array(wanted, np.intp) - spans[axis].start, axis=axis)
        return part.reshape(shape)

    def __setitem__(self, key: Any, values: ArrayLike, /) -> None:
        spans, shape = self._locate(key)
        axis = self._run_axis(spans)
        if spans[axis].step != 1:
            raise InputError("Slices with a step cannot be assigned to an array on disk.")
        part = np.ascontiguousarray(np.broadcast_to(np.asarray(values, self.dtype), shape))
        offsets, length = self._runs(spans, axis)
        with _write_errors(self._path), self._lock:
            for offset, run in zip(offsets, _split(part, length), strict=True):
                self._file.seek(offset)
                self._file.write(run)
            self._file.flush()  # reads bypass the buffer

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        return self[k, *place]

    def first(self, n: int) -> "DiskArray":
        """Return the first n frames as an array in the same file."""
        return DiskArray(self._path, self._file, (n, *self.shape[1:]), self.dtype, start=self._start)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # a full disk, which was reported when it was written
            self._file.close()

    def __enter__(self) -> "DiskArray":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _locate(self, key: Any) -> tuple[list[range], list[int]]:
        """Return the span of each axis, and the shape of the result."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at : at + 1] = [slice(None)] * (self.ndim + 1 - len(keys))
        keys += [slice(None)] * (self.ndim - len(keys))
        spans, shape = [], []
        for one, length in zip(keys, self.shape, strict=True):
            if isinstance(one, slice):
                spans.append(range(length)[one])
                shape.append(len(spans[-1]))
            else:
                position = range(length)[operator.index(one)]
                spans.append(range(position, position + 1))
        return spans, shape

    def _run_axis(self, spans: list[range]) -> int:
        """Return the last axis that is not read whole: a run of consecutive values extends along it."""
        axis = self.ndim - 1
        while axis > 0 and spans[axis] == range(self.shape[axis]):
            axis -= 1
        return axis

    def _runs(self, spans: list[range], axis: int) -> tuple[Iterator[int], int]:
        """Return the file offset of each run of consecutive values, and the number of values in a run."""
        strides = [math.prod(self.shape[i + 1 :]) for i in range(self.ndim)]
        length = len(spans[axis]) * strides[axis] if all(map(len, spans)) else 0
        first = spans[axis].start * strides[axis]
        offsets = (
            self._start + self.dtype.itemsize * (first + sum(map(operator.mul, at, strides)))
            for at in (itertools.product(*spans[:axis]) if length else ())
        )
        return offsets, length

    def _read(self, run: NDArray[np.uint8], offset: int) -> None:
        rest = run.data
        while rest:  # Linux reads at most 2 GiB at once
            n_read = self._read_some(rest, offset)
            if n_read == 0:
                raise FileError("The file is truncated.", problem="truncated")
            rest, offset = rest[n_read:], offset + n_read

    def _read_some(self, buffer: memoryview, offset: int) -> int:
        """Fill the buffer, or its first part, from the file; return the number of bytes."""
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [buffer], offset)
        with self._lock:
            self._file.seek(offset)
            return int(self._file.readinto(buffer))


class ArrayFolder:
    """A folder of arrays, each in a file `NAME.npy` that appears when it is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def create(self, name: str, shape: tuple[int, ...], dtype: Any) -> Iterator[DiskArray]:
        """Create an array that appears under its name when the block ends, and replaces an older one.

        If the block raises, the older array remains.
        """
        path, kind = self._path(name), np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        self.check_room(size)
        remove_abandoned(self.folder)
        with _write_errors(path):
            temporary, file = open_temporary(self.folder)
        try:
            with _write_errors(path):
                header = {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(kind)}
                np.lib.format.write_array_header_1_0(file, header)
                file.truncate(file.tell() + size)
            yield DiskArray(path, file, shape, kind)
            with _write_errors(path):
                flush_file(file)
                if sys.platform == "win32":  # where open files cannot be renamed
                    file.close()
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
            with suppress(OSError):
                file.close()

    def array(self, name: str, *, change: bool = False) -> DiskArray:
        """Open an array for reading, or to `change` parts of it. The caller closes it."""
        path = self._path(name)
        with add_path_to_errors(path):
            file = path.open("r+b" if change else "rb")
            try:
                shape, dtype = _read_npy_header(file)
            except BaseException:
                file.close()
                raise
        return DiskArray(path, file, shape, dtype)

    def __contains__(self, name: str) -> bool:
        return _NAME.fullmatch(name) is not None and self._path(name).is_file()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is not a valid array name. Use letters, digits, dots and dashes.")
        return self.folder / f"{name}.npy"

    def check_room(self, size: int) -> None:
        """Raise if the disk has no room for `size` bytes."""
        make_folder(self.folder)
        check_room(size, self.folder)


def scratch_allocator(scratch: ExitStack) -> Allocate:
    """Return a function that allocates arrays in scratch files, which `scratch` closes."""
    return lambda shape, dtype: scratch.enter_context(scratch_frames(shape, np.dtype(dtype)))


@contextmanager
def scratch_frames(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[DiskArray]:
    """Provide an array in a temporary file while the block lasts.

    The file has no name on systems that allow this, so it disappears even if the process is killed.
    """
    check_room(blank(shape, dtype).nbytes)
    with DiskArray(scratch_folder(), tempfile.TemporaryFile(dir=scratch_folder()), shape, dtype) as frames:
        yield frames


def check_room(size: int, folder: Path | None = None) -> None:
    """Raise if a folder, by default the folder for scratch files, has no room for `size` bytes."""
    hint = "free_space" if folder else "free_scratch_space"
    folder = folder or scratch_folder()
    free = shutil.disk_usage(folder).free
    if size > free:
        message = f"{folder}: {size / 1e6:,.0f} MB of disk space are needed, {free / 1e6:,.0f} MB are free."
        raise FileError(message, hint=hint, file=str(folder), needed=size, free=free)


def scratch_folder() -> Path:
    """Return the folder for scratch files: TMPDIR, else /var/tmp, because /tmp may be in memory."""
    large = Path("/var/tmp")
    if "TMPDIR" not in os.environ and os.access(large, os.W_OK):
        return large
    return Path(tempfile.gettempdir())


def _read_npy_header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    if version != (1, 0) or fortran_order or dtype.hasobject:
        raise FileError("The file was not written by panfocus.", problem="format")
    return shape, dtype


def _split(part: NDArray[Any], length: int) -> NDArray[Any]:
    """Return the values of a part as rows of `length` values."""
    return part.reshape(-1, length) if length else part.reshape(0, 0)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path}: Cannot write ({error.strerror or error})."
        raise FileError(message, hint="free_space", file=str(path)) from error
