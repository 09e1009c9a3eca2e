"""Uploads: files that the page sends, limited in number and size, each stored whole or not at all."""

import asyncio
import os
import re
import secrets
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from panfocus.app.allowed_folders import is_image_name
from panfocus.app.responses import RequestError
from panfocus.app.stacks import MAX_FRAMES, Stacks
from panfocus.app.state import PageStack
from panfocus.app.work_folder import Store
from panfocus.errors import FileError, PanfocusError
from panfocus.job.memory_plan import format_size

_MAX_RUNNING = 4
_CHUNK_BYTES = 1 << 20  # collected before they are written
_TIMEOUT = 60.0  # seconds without data
_RESERVED_BYTES = 256 << 20  # stay free on the disk
_MAX_NAME_BYTES = 200  # file systems allow 255; a number may be added
_PATH_PART = re.compile(r"[/\\]|^\.")  # leads to another folder, or hides the file, on some system
_NOT_PORTABLE = re.compile(r'[:*?"<>|]')  # allowed in names on Linux and macOS, not on Windows
_TEMPORARY = ".panfocus-received-"  # prefix; `remove_temporaries` removes files that a kill leaves


@dataclass(frozen=True)
class UploadLimits:
    """How much may be uploaded."""

    file_bytes: int = 2_000_000_000
    stack_bytes: int = 64_000_000_000


class Uploads:
    """Receives files, a few at a time."""

    def __init__(self, store: Store, stacks: Stacks, limits: UploadLimits) -> None:
        self._store = store
        self._stacks = stacks
        self._limits = limits
        self._turns = asyncio.Semaphore(_MAX_RUNNING)
        self._promised: dict[str, int] = {}  # bytes of running uploads, by stack

    def announce(self, stack: PageStack, names: object) -> None:
        """Note which files a page is about to send: it may be closed before all are sent."""
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise RequestError(400, "`names` must be a list of file names.")
        n_frames = len(stack.frames) + len(names)
        if n_frames > MAX_FRAMES:
            raise RequestError(
                400, f"A stack has at most {MAX_FRAMES} frames, got {n_frames}. Choose fewer files."
            )
        self._stacks.set_unsent(stack, [name for name in stack.unsent if name not in names] + names)

    async def receive(self, stack: PageStack, announced_name: str, request: Request) -> None:
        """Store the body of a request as a file of a stack."""
        name = safe_name(announced_name)
        if stack.is_in_place:
            raise RequestError(409, "This stack was opened in place. Create another one for uploads.")
        size = self._checked_size(stack, request)
        self._promised[stack.id] = self._promised.get(stack.id, 0) + size
        self._stacks.count_uploads(stack, +1)
        try:
            async with self._turns:
                if self._store.free_space() < size + _RESERVED_BYTES:
                    raise RequestError(507, f"{name}: the disk is full.", hint="free_space")
                saved_name = await self._write(stack, name, request, size)
        finally:
            if left := self._promised.pop(stack.id, 0) - size:  # no entry: the others are empty
                self._promised[stack.id] = left
            self._stacks.count_uploads(stack, -1)
        if announced_name in stack.unsent:
            stack.unsent.remove(announced_name)  # saved together with the frame
        try:
            await self._stacks.add_upload(stack, saved_name, size)
        except PanfocusError:
            stack.unsent.append(announced_name)
            raise

    def _checked_size(self, stack: PageStack, request: Request) -> int:
        header = request.headers.get("content-length", "")
        if not header.isdecimal() or "transfer-encoding" in request.headers:
            raise RequestError(411, "An upload needs the header Content-Length.")
        size, limit = int(header), self._limits.file_bytes
        if size > limit:
            raise RequestError(
                413,
                f"The file has {format_size(size)}, more than the limit of {format_size(limit)}. Open its "
                "folder on this computer instead, or start panfocus app with --max-upload SIZE.",
            )
        total = sum(frame.bytes for frame in stack.frames) + self._promised.get(stack.id, 0) + size
        if total > self._limits.stack_bytes:
            raise RequestError(
                413, f"The stack would have more than {format_size(self._limits.stack_bytes)}."
            )
        return size

    async def _write(self, stack: PageStack, name: str, request: Request, size: int) -> str:
        chunks = request.stream()
        with UploadedFile(self._stacks.files_folder(stack)) as file:
            collected = bytearray()
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(chunks, None), _TIMEOUT)
                except ClientDisconnect:
                    raise RequestError(400, f"{name}: the upload was interrupted.") from None
                except TimeoutError:
                    raise RequestError(408, f"{name}: no data for {_TIMEOUT:.0f} s.") from None
                collected += chunk or b""
                if collected and (chunk is None or len(collected) >= _CHUNK_BYTES):
                    await run_in_threadpool(file.write, bytes(collected))
                    collected.clear()
                received = file.size + len(collected)
                if received > size:
                    raise RequestError(413, f"{name}: more data than announced ({size:,} bytes).")
                if chunk is None:
                    break
            if file.size != size:
                raise RequestError(400, f"{name}: received {file.size:,} of {size:,} bytes.")
            return await run_in_threadpool(file.keep, name)


class UploadedFile:
    """A file that is written in pieces under a temporary name; unless `keep` is called, it is removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temporary = folder / f"{_TEMPORARY}{secrets.token_hex(8)}"
        self.size = 0

    def __enter__(self) -> "UploadedFile":
        try:
            self._file = self._temporary.open("xb")
        except OSError as error:
            raise self._write_error(error) from error
        return self

    def write(self, data: bytes) -> None:
        """Append data."""
        try:
            self._file.write(data)
        except OSError as error:
            raise self._write_error(error) from error
        self.size += len(data)

    def _write_error(self, error: OSError) -> FileError:
        return FileError(f"{self._folder}: cannot write here ({error.strerror}).", file=self._folder)

    def keep(self, name: str) -> str:
        """Give the file its name, or one like "a (2).png" if that is taken; return the name."""
        try:
            self._file.close()
            stem, suffix = Path(name).stem, Path(name).suffix
            for number in range(1, 10_000):
                free = name if number == 1 else f"{stem} ({number}){suffix}"
                try:
                    os.link(self._temporary, self._folder / free)  # unlike a rename, never overwrites
                except FileExistsError:
                    continue
                except OSError:  # a file system without hard links
                    if (self._folder / free).exists():
                        continue
                    self._temporary.replace(self._folder / free)
                return free
        except OSError as error:
            raise FileError(f"{name}: cannot be saved ({error.strerror}).", file=name) from error
        raise FileError(f"{name}: there are too many files of this name.", file=name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)


def safe_name(name: str) -> str:
    """Return a file name that is valid on every system; refuse names that are not plain image names."""
    has_control = any(unicodedata.category(char) in ("Cc", "Cs") for char in name)
    if has_control or _PATH_PART.search(name) or len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
        raise RequestError(400, f"{name[:100]!r} cannot be used as a file name. Rename the file.")
    portable = _NOT_PORTABLE.sub("_", name)  # also the colon that Windows takes for a drive
    if not is_image_name(portable):
        raise RequestError(415, f"{name}: unsupported format (needed: JPEG, PNG, TIFF, WebP or RAW).")
    return portable
