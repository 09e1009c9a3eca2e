"""Files that the page sends: so many at once, so large, of such names, and whole or not at all."""

import asyncio
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from panfocus.app.allowed_folders import is_image_name
from panfocus.app.responses import Refusal
from panfocus.app.stack_view import in_place
from panfocus.app.stacks import MOST_FRAMES, Stacks
from panfocus.app.upload_file import ReceivedFile
from panfocus.app.words import MAKE_ROOM
from panfocus.errors import PanfocusError
from panfocus.job.memory_plan import format_size

_AT_ONCE = 4
_PIECE = 1 << 20  # bytes that are gathered before they are written
_SECONDS_OF_SILENCE = 60.0
_LEFT_FREE = 256 << 20  # bytes of the disk
_LONGEST_NAME = 200  # bytes, of the 255 that file systems allow: a number may be added
_A_PATH = re.compile(r"[/\\]|^\.")  # leads elsewhere, or hides, on one system or another
_NOT_EVERYWHERE = re.compile(r'[:*?"<>|]')  # in names of Linux and macOS, not of Windows and its disks


@dataclass(frozen=True)
class Limits:
    """How much may be sent to the server."""

    file_bytes: int = 2_000_000_000
    stack_bytes: int = 64_000_000_000


class Uploads:
    """Takes files in, some at a time; others wait."""

    def __init__(self, stacks: Stacks, limits: Limits) -> None:
        self._stacks = stacks
        self._limits = limits
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._promised: dict[str, int] = {}  # bytes under way, by stack

    def announce(self, stack: dict[str, Any], names: object) -> None:
        """Note which files a page is about to send: it may go away before all have come."""
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise Refusal(400, "names: needed is a list of the names of files")
        if len(stack["frames"]) + len(names) > MOST_FRAMES:
            raise Refusal(400, f"a stack has at most {MOST_FRAMES} frames; choose fewer files")
        others = [name for name in stack.get("unsent", []) if name not in names]
        self._stacks.changed(stack, unsent=others + names)

    def give_up(self, stack: dict[str, Any]) -> None:
        """Forget the files that have not come."""
        self._stacks.changed(stack, unsent=[])

    async def receive(self, stack: dict[str, Any], name: str, request: Request) -> None:
        """Take in the file that is the body of a request."""
        announced, name = name, safe_name(name)
        if in_place(stack):
            raise Refusal(
                409, "this stack is of files on this computer; make another for files that are sent"
            )
        size = self._checked_size(stack, request)
        self._promised[stack["id"]] = self._promised.get(stack["id"], 0) + size
        self._stacks.receiving(stack, +1)
        try:
            async with self._turns:
                if self._stacks.room() < size + _LEFT_FREE:
                    raise Refusal(507, f"{name}: the disk has no room for it; {MAKE_ROOM}")
                kept = await self._write(stack, name, request, size)
        finally:
            if left := self._promised.pop(stack["id"], 0) - size:  # no entry: others were of no bytes
                self._promised[stack["id"]] = left
            self._stacks.receiving(stack, -1)
        unsent = stack.setdefault("unsent", [])
        if announced in unsent:
            unsent.remove(announced)  # before the frame is kept: a kill leaves both changes, or none
        try:
            await self._stacks.received(stack, kept, size)
        except (PanfocusError, Refusal):
            stack["unsent"].append(announced)
            raise

    def _checked_size(self, stack: dict[str, Any], request: Request) -> int:
        told = request.headers.get("content-length", "")
        if not told.isdecimal() or "transfer-encoding" in request.headers:
            raise Refusal(411, "the size of a file must be told before it (Content-Length)")
        size = int(told)
        most = self._limits.file_bytes
        if size > most:
            raise Refusal(
                413,
                f"the file has {format_size(size)}, more than the {format_size(most)} that are taken; "
                "open its folder on this computer instead, or start panfocus app --max-upload SIZE",
            )
        there = sum(frame["bytes"] for frame in stack["frames"]) + self._promised.get(stack["id"], 0)
        if there + size > self._limits.stack_bytes:
            raise Refusal(413, f"the stack would have more than {format_size(self._limits.stack_bytes)}")
        return size

    async def _write(self, stack: dict[str, Any], name: str, request: Request, size: int) -> str:
        pieces = request.stream()
        with ReceivedFile(self._stacks.files_folder(stack["id"])) as file:
            gathered = bytearray()
            while True:
                try:
                    piece = await asyncio.wait_for(anext(pieces, None), _SECONDS_OF_SILENCE)
                except ClientDisconnect:
                    raise Refusal(400, f"{name}: broken off before its end") from None
                except TimeoutError:
                    raise Refusal(408, f"{name}: nothing came for {_SECONDS_OF_SILENCE:.0f} s") from None
                gathered += piece or b""
                if gathered and (piece is None or len(gathered) >= _PIECE):
                    await run_in_threadpool(file.write, bytes(gathered))
                    gathered.clear()
                if file.size + len(gathered) > size:
                    raise Refusal(413, f"{name}: more came than was told")
                if piece is None:
                    break
            if file.size != size:
                raise Refusal(400, f"{name}: {file.size:,} bytes came, {size:,} were told")
            return await run_in_threadpool(file.keep, name)


def safe_name(name: str) -> str:
    """Return a name that a file may have on any system, or refuse what is no plain name of an image."""
    strange = any(unicodedata.category(char) in ("Cc", "Cs") for char in name)
    if strange or _A_PATH.search(name) or len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise Refusal(400, f"{name[:100]!r} cannot be the name of a file here; rename it")
    kept = _NOT_EVERYWHERE.sub("_", name)  # also the colon after a letter, which Windows takes for a drive's
    if not is_image_name(kept):
        raise Refusal(415, f"{name} is no image by its name (JPEG, PNG, TIFF, WebP or RAW)")
    return kept
