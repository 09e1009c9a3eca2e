"""Frame scanner: reads every new frame in the background, and checks whether frames fit together."""

import asyncio
import logging
import time
from pathlib import Path

from panfocus.app.responses import RequestError
from panfocus.app.stacks import Stacks
from panfocus.app.state import PageFrame, PageStack
from panfocus.app.tasks import FrameToCheck
from panfocus.app.wording import describe_error
from panfocus.app.worker_pool import TaskCancelled, WorkerPool
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import remove_temporaries
from panfocus.io.checkpoint import file_stamp

logger = logging.getLogger(__name__)

_SECONDS_BETWEEN_SAVES = 1.0  # frames whose results are lost are scanned again
# OSError: no process can be started for lack of memory; the next frame may find some.
_TASK_ERRORS = (PanfocusError, TaskCancelled, OSError)


class FrameScanner:
    """Scans waiting frames one after the other."""

    def __init__(self, stacks: Stacks, workers: WorkerPool) -> None:
        self._stacks = stacks
        self._workers = workers
        self._scanning: asyncio.Task[None] | None = None
        self._saved_at: dict[str, float] = {}  # last save, by stack

    def start(self) -> None:
        """Remove temporary files of the last server, and continue with frames that it did not scan."""
        for stack in self._stacks.shelf.all():
            remove_temporaries(self._stacks.files_folder(stack))
            for frame in stack.frames:
                if frame.state == "looking":
                    frame.state = "waiting"
        self._stacks.any_changed.set()
        self._scanning = asyncio.create_task(self._scan_all())

    def stop(self) -> None:
        """Stop scanning."""
        if self._scanning:
            self._scanning.cancel()

    async def make_preview(self, stack: PageStack, key: int) -> Path:
        """Return the path of a frame's large picture, which is made when it is first requested."""
        frame = next((frame for frame in stack.frames if frame.key == key), None)
        if frame is None or frame.state != "ready":
            raise RequestError(404, "There is no picture of this frame yet.", got=key)
        preview = self._stacks.preview(stack, key)
        if not await asyncio.to_thread(preview.is_file):
            path = self._stacks.path(stack, frame)
            task = {"task": "scan_frame.preview", "path": str(path), "picture": str(preview)}
            await self._workers.run_quick(task, urgent=True, seconds=_timeout(frame))
        return preview

    async def _scan_all(self) -> None:
        while True:
            await self._stacks.any_changed.wait()
            self._stacks.any_changed.clear()
            while waiting := self._next_waiting():
                await self._scan(*waiting)
            while self._stacks.unchecked and not self._next_waiting():
                await self._check(self._stacks.unchecked.pop())

    def _next_waiting(self) -> tuple[PageStack, PageFrame] | None:
        """Return a frame to scan; the newest stack comes first, as the user is probably looking at it."""
        for stack in reversed(self._stacks.shelf.all()):
            for frame in stack.frames:
                if frame.state == "waiting":
                    return stack, frame
        return None

    async def _scan(self, stack: PageStack, frame: PageFrame) -> None:
        frame.state = "looking"
        self._stacks.send_frame(stack, frame.key)
        stamp = None
        try:
            path = self._stacks.path(stack, frame)
            stamp = await asyncio.to_thread(file_stamp, path)  # before it is read, to notice later changes
            thumbnail = self._stacks.thumbnail(stack, frame.key)
            task = {"task": "scan_frame", "path": str(path), "thumbnail": str(thumbnail)}
            content = await self._workers.run_quick(task, seconds=_timeout(frame))
            found = PageFrame.from_json(frame.to_json() | content | {"state": "ready"})
        except _TASK_ERRORS as error:
            text = self._stacks.shorten_paths(stack.id, describe_error(error))
            found = frame.unscanned(frame.key)
            found.state = "bad"
            found.error = text if text.startswith(frame.name) else f"{frame.name}: {text}"
        found.stamp, found.bytes = stamp, stamp[0] if stamp else frame.bytes
        # The list may have changed meanwhile, and the user's choice of frames.
        for number, current in enumerate(stack.frames):
            if current.key == frame.key:
                found.excluded = current.excluded
                stack.frames[number] = found
        self._stacks.send_frame(stack, frame.key)
        await self._save(stack)

    async def _check(self, stack_id: str) -> None:
        if stack_id not in self._stacks.shelf:
            return
        stack = self._stacks.shelf.get(stack_id)
        try:
            frames: list[FrameToCheck] = [
                {
                    "name": frame.name,
                    "path": str(self._stacks.path(stack, frame)),
                    "thumbnail": str(self._stacks.thumbnail(stack, frame.key)),
                    "digest": frame.digest,
                }
                for frame in stack.used_frames
                if frame.state == "ready"
            ]
            checked = await self._workers.run_quick({"task": "check", "frames": frames})
            warnings: list[str] = checked["warnings"]
        except _TASK_ERRORS as error:
            warnings = [f"Cannot check whether these frames belong together. {describe_error(error)}"]
        warnings = [self._stacks.shorten_paths(stack_id, line) for line in warnings]
        if warnings != stack.warnings:
            stack.warnings = warnings
            await self._save(stack)
        # Always: an answer that is older than the last scan may have reached a page after it.
        self._stacks.send(stack)

    async def _save(self, stack: PageStack) -> None:
        """Save scan results from time to time; after the last frame, save and send all of them."""
        is_waiting = any(frame.state == "waiting" for frame in stack.frames)
        if is_waiting and time.monotonic() - self._saved_at.get(stack.id, 0.0) < _SECONDS_BETWEEN_SAVES:
            return
        if not is_waiting:
            self._stacks.send(stack)
        self._saved_at[stack.id] = time.monotonic()
        try:
            await self._stacks.shelf.save_soon(stack)
        except PanfocusError as error:  # a full disk: the results stay in memory
            logger.warning("%s", error)


def _timeout(frame: PageFrame) -> float:
    """Return how many seconds a file may take: 60, and 1 more for every 10 MB."""
    return 60.0 + frame.bytes / 10e6
