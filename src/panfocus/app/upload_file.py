"""A file that comes in pieces from elsewhere: under a temporary name until it is whole."""

import os
import secrets
from pathlib import Path
from types import TracebackType

from panfocus.errors import FileError

_TEMPORARY = ".panfocus-received-"  # removed by `remove_temporaries` where a kill has left it


class ReceivedFile:
    """A file to write piece by piece; unless it is kept, nothing of it stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temporary = folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
        self.size = 0

    def __enter__(self) -> "ReceivedFile":
        try:
            self._file = self._temporary.open("xb")
        except OSError as error:
            raise FileError(f"{self._folder}: cannot write here ({error.strerror})") from error
        return self

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        try:
            self._file.write(piece)
        except OSError as error:
            raise FileError(f"{self._folder}: cannot write here ({error.strerror})") from error
        self.size += len(piece)

    def keep(self, name: str) -> str:
        """Let the file appear, whole, and return its name: one like "a (2).png" if "a.png" is there."""
        try:
            self._file.close()
            stem, suffix = Path(name).stem, Path(name).suffix
            for number in range(1, 10_000):
                free = name if number == 1 else f"{stem} ({number}){suffix}"
                try:
                    os.link(self._temporary, self._folder / free)  # unlike a rename, never over another file
                except FileExistsError:
                    continue
                except OSError:  # a file system without links
                    if (self._folder / free).exists():
                        continue
                    self._temporary.replace(self._folder / free)
                return free
        except OSError as error:
            raise FileError(f"{name}: cannot be kept ({error.strerror})") from error
        raise FileError(f"{name}: there are too many files of this name")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)
