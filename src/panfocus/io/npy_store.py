"""Arrays that stay: .npy files in a folder, written part by part, of which any rectangle is read alone."""

import itertools
import math
import operator
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panfocus.errors import FileError, InputError
from panfocus.io._file_errors import errors_that_name
from panfocus.io.atomic_files import make_folder, new_temporary, remove_abandoned, settle

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MAKE_ROOM = "make room, or use another folder"


class KeptArray:
    """An array in a file that is indexed like one in memory: by numbers and by slices without a step.

    Every access reads what is asked for and no more, so that memory does not grow with use. Several threads
    may use one at once. What stands at a place may be assigned to if the array was made or opened for it.
    """

    def __init__(self, path: Path, file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self._path = path
        self._file = file
        self._start = file.tell()  # of the values, behind the header
        self._one_at_a_time = threading.Lock()  # the file has one position

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        spans, shape = self._place(key)
        part = np.empty([len(span) for span in spans], self.dtype)
        runs, length = self._runs(spans)
        with errors_that_name(self._path):
            for offset, run in zip(runs, _rows(part, length).view(np.uint8), strict=True):
                self._read(run, offset)
        return part.reshape(shape)

    def __setitem__(self, key: Any, values: ArrayLike, /) -> None:
        spans, shape = self._place(key)
        part = np.ascontiguousarray(np.broadcast_to(np.asarray(values, self.dtype), shape))
        runs, length = self._runs(spans)
        with _errors_of_writing(self._path), self._one_at_a_time:
            for offset, run in zip(runs, _rows(part, length), strict=True):
                self._file.seek(offset)
                self._file.write(run)
            self._file.flush()  # for those who read it

    def close(self) -> None:
        """Give the file back; nothing can be read any more."""
        with suppress(OSError):  # a full disk, which has been told of
            self._file.close()

    def __enter__(self) -> "KeptArray":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _place(self, key: Any) -> tuple[list[range], list[int]]:
        """Return the span that is asked for of each axis, and the shape of what is there."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at : at + 1] = [slice(None)] * (self.ndim + 1 - len(keys))
        keys += [slice(None)] * (self.ndim - len(keys))
        spans, shape = [], []
        for one, length in zip(keys, self.shape, strict=True):
            if isinstance(one, slice):
                spans.append(range(length)[one])
                if spans[-1].step != 1:
                    raise InputError("kept arrays are read without a step")
                shape.append(len(spans[-1]))
            else:
                place = range(length)[operator.index(one)]
                spans.append(range(place, place + 1))
        return spans, shape

    def _runs(self, spans: list[range]) -> tuple[Iterator[int], int]:
        """Return where in the file each run of neighbouring values begins, and how many values it has."""
        strides = [math.prod(self.shape[axis + 1 :]) for axis in range(self.ndim)]
        last = self.ndim - 1  # the axis along which a run goes; those behind it are whole
        while last > 0 and len(spans[last]) == self.shape[last]:
            last -= 1
        length = len(spans[last]) * strides[last] if all(map(len, spans)) else 0
        first = spans[last].start * strides[last]
        starts = (
            self._start + self.dtype.itemsize * (first + sum(map(operator.mul, at, strides)))
            for at in (itertools.product(*spans[:last]) if length else ())
        )
        return starts, length

    def _read(self, run: NDArray[np.uint8], offset: int) -> None:
        left = run.data
        while left:  # Linux reads no more than 2 GiB at once
            n_read = self._read_some(left, offset)
            if n_read == 0:
                raise FileError("cut off before its end")
            left, offset = left[n_read:], offset + n_read

    def _read_some(self, room: memoryview, offset: int) -> int:
        """Fill the room, or the first part of it, from a place in the file; return how many bytes came."""
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [room], offset)
        with self._one_at_a_time:
            self._file.seek(offset)
            return int(self._file.readinto(room))  # type: ignore[attr-defined]  # a buffered file has it


class KeptArrays:
    """A folder of arrays, each in a file `NAME.npy` that is there whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def create(self, name: str, shape: tuple[int, ...], dtype: Any) -> Iterator[KeptArray]:
        """Make an array while the block lasts: it has its name, in place of an older one, when that ends.

        If the block ends by an error there is nothing, or the older one.
        """
        path, kind = self._path(name), np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        self.check_room(size)
        remove_abandoned(self.folder)
        with _errors_of_writing(path):
            temporary, file = new_temporary(self.folder)
        try:
            with _errors_of_writing(path):
                header = {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(kind)}
                np.lib.format.write_array_header_1_0(file, header)
                file.truncate(file.tell() + size)
            yield KeptArray(path, file, shape, kind)
            with _errors_of_writing(path):
                settle(file)
                if sys.platform == "win32":  # where no open file is renamed
                    file.close()
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
            with suppress(OSError):
                file.close()

    def array(self, name: str, *, change: bool = False) -> KeptArray:
        """Open an array to read of it, or to `change` parts of it in place; to be closed, or in a `with`."""
        path = self._path(name)
        with errors_that_name(path):
            file = path.open("r+b" if change else "rb")
            try:
                if np.lib.format.read_magic(file) != (1, 0):
                    raise FileError("not written by panfocus")
                shape, turned, dtype = np.lib.format.read_array_header_1_0(file)
                if turned or dtype.hasobject:
                    raise FileError("not written by panfocus")
            except BaseException:
                file.close()
                raise
        return KeptArray(path, file, shape, dtype)

    def names(self) -> list[str]:
        """Name the arrays that are there."""
        return sorted(
            path.stem for path in self.folder.glob("*.npy") if _NAME.fullmatch(path.stem) and path.is_file()
        )

    def __contains__(self, name: str) -> bool:
        return _NAME.fullmatch(name) is not None and self._path(name).is_file()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name!r} is no name for an array; use letters, digits, dots and dashes")
        return self.folder / f"{name}.npy"

    def check_room(self, size: int, *, remedy: str = _MAKE_ROOM) -> None:
        """Refuse arrays of so many bytes if the disk has no room for them, and say what to do then."""
        make_folder(self.folder)
        free = shutil.disk_usage(self.folder).free
        if size > free:
            raise FileError(
                f"{self.folder}: {size / 1e6:,.0f} MB are needed there, "
                f"{free / 1e6:,.0f} MB are free; {remedy}"
            )


def _rows(part: NDArray[Any], length: int) -> NDArray[Any]:
    return part.reshape(-1, length) if length else part.reshape(0, 0)


@contextmanager
def _errors_of_writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot write there ({reason}); {_MAKE_ROOM}") from error
