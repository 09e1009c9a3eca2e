"""Uploads: files that the page sends, limited in number and size, each stored whole or not at all."""

import asyncio
import os
import re
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from panfocus.app.allowed_folders import is_image_name
from panfocus.app.responses import RequestError
from panfocus.app.stacks import MAX_FRAMES, Stacks, check_n_frames
from panfocus.app.state import PageStack
from panfocus.app.work_folder import Store
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import open_temporary
from panfocus.io.file_errors import add_path_to_errors
from panfocus.job.memory_plan import format_size

_MAX_RUNNING = 4
_TIMEOUT = 60.0  # seconds without data
_RESERVED_BYTES = 256 << 20  # stay free on the disk
_MAX_NAME_BYTES = 200  # file systems allow 255; a number may be added
_PATH_PART = re.compile(r"[/\\]|^\.")  # leads to another folder, or hides the file, on some system
_NOT_PORTABLE = re.compile(r'[:*?"<>|]')  # allowed in names on Linux and macOS, not on Windows


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
        self._promised: Counter[str] = Counter()  # bytes of running uploads, by stack

    def announce(self, stack: PageStack, names: object) -> None:
        """Note which files a page is about to send: it may be closed before all are sent."""
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise RequestError(400, "`names` must be a list of file names.", setting="names")
        check_n_frames(len(stack.frames) + len(names))
        self._stacks.set_unsent(stack, [name for name in stack.unsent if name not in names] + names)

    async def receive(self, stack: PageStack, announced_name: str, request: Request) -> None:
        """Store the body of a request as a file of a stack."""
        name = safe_name(announced_name)
        if stack.is_in_place:
            message = "This stack was opened in place. Create another one for uploads."
            raise RequestError(409, message, file=name)
        size = self._checked_size(stack, request)
        self._promised[stack.id] += size
        self._stacks.count_uploads(stack, +1)
        try:
            async with self._turns:
                if self._store.free_space() < size + _RESERVED_BYTES:
                    message = f"{name}: the disk is full."
                    raise RequestError(507, message, hint="free_space", file=name, needed=size)
                saved_name = await self._write(stack, name, request, size)
        finally:
            self._promised[stack.id] -= size
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
            raise RequestError(411, "An upload needs the header Content-Length.", got=header)
        size, limit = int(header), self._limits.file_bytes
        if size > limit:
            raise RequestError(
                413,
                f"The file has {format_size(size)}, more than the limit of {format_size(limit)}. Open its "
                "folder on this computer instead, or start panfocus app with --max-upload SIZE.",
                got=size,
                limit=limit,
            )
        total = sum(frame.bytes for frame in stack.frames) + self._promised[stack.id] + size
        limit = self._limits.stack_bytes
        if total > limit:
            message = f"The stack would have more than {format_size(limit)}."
            raise RequestError(413, message, got=total, limit=limit)
        return size

    async def _write(self, stack: PageStack, name: str, request: Request, size: int) -> str:
        """Store the body under a temporary name, then under its own; return the name."""
        folder = self._stacks.files_folder(stack)
        chunks, n_received = request.stream(), 0
        with add_path_to_errors(name), _temporary_file(folder) as (temporary, file):
            while (chunk := await _next_chunk(name, chunks)) is not None:
                n_received += len(chunk)
                await run_in_threadpool(file.write, chunk)
            if n_received != size:
                message = f"{name}: received {n_received:,} of {size:,} bytes."
                raise RequestError(400, message, file=name, got=n_received, needed=size)
            await run_in_threadpool(file.close)
            return await run_in_threadpool(_give_name, temporary, name)


async def _next_chunk(name: str, chunks: AsyncIterator[bytes]) -> bytes | None:
    try:
        return await asyncio.wait_for(anext(chunks, None), _TIMEOUT)
    except ClientDisconnect:
        raise RequestError(400, f"{name}: the upload was interrupted.", file=name) from None
    except TimeoutError:
        raise RequestError(408, f"{name}: no data for {_TIMEOUT:.0f} s.", file=name) from None


@contextmanager
def _temporary_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Open a new file, and remove its temporary name at the end."""
    temporary, file = open_temporary(folder)
    try:
        yield temporary, file
    finally:
        with suppress(OSError):  # a full disk, which was reported before
            file.close()
        temporary.unlink(missing_ok=True)


def _give_name(temporary: Path, name: str) -> str:
    """Give a file its name, or one like "a (2).png" if that is taken; return the name."""
    stem, suffix = Path(name).stem, Path(name).suffix
    for free in (name, *(f"{stem} ({number}){suffix}" for number in range(2, MAX_FRAMES + 2))):
        path = temporary.with_name(free)
        try:
            os.link(temporary, path)  # unlike a rename, never overwrites
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if path.exists():
                continue
            temporary.replace(path)
        return free
    raise RequestError(409, f"{name}: there are too many files of this name.", file=name)


def safe_name(name: str) -> str:
    """Return a file name that is valid on every system; refuse names that are not plain image names."""
    has_control = any(unicodedata.category(char) in ("Cc", "Cs") for char in name)
    if has_control or _PATH_PART.search(name) or len(name.encode(errors="replace")) > _MAX_NAME_BYTES:
        message = f"{name[:100]!r} cannot be used as a file name. Rename the file."
        raise RequestError(400, message, file=name)
    portable = _NOT_PORTABLE.sub("_", name)  # also the colon that Windows takes for a drive
    if not is_image_name(portable):
        message = f"{name}: unsupported format (needed: JPEG, PNG, TIFF, WebP or RAW)."
        raise RequestError(415, message, file=name)
    return portable
