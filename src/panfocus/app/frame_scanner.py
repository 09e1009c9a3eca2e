"""A first look at every frame, and at whether those of a stack belong together, in the background."""

import asyncio
import logging
from pathlib import Path
from typing import Any

from panfocus.app.file_stamps import file_stamp
from panfocus.app.responses import Refusal
from panfocus.app.stacks import Stack, Stacks
from panfocus.app.workers import TaskCancelled, TaskFailed, Workers
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import remove_temporaries

logger = logging.getLogger(__name__)

_SECONDS, _BYTES_PER_SECOND = 60.0, 10e6  # a file may take so long, and so much more for its size


class Looker:
    """Looks at frames that wait for it, one after the other."""

    def __init__(self, stacks: Stacks, workers: Workers) -> None:
        self._stacks = stacks
        self._workers = workers
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what was not looked at when the server last ended, and tidy up what that has left."""
        for stack in self._stacks.all():
            remove_temporaries(self._stacks.files_folder(stack["id"]))
            for frame in stack["frames"]:
                if frame["state"] == "looking":
                    frame["state"] = "waiting"
        self._stacks.any_changed.set()
        self._looking = asyncio.create_task(self._look_at_all())

    def stop(self) -> None:
        """Look no further."""
        if self._looking:
            self._looking.cancel()

    async def picture(self, stack: Stack, key: int) -> Path:
        """Return where a larger picture of a frame is; it is made when it is first asked for."""
        frame = next((each for each in stack["frames"] if each["key"] == key), None)
        if frame is None or frame["state"] != "ready":
            raise Refusal(404, "there is no picture of this frame, or not yet")
        made = self._stacks.picture(stack["id"], key)
        if not await asyncio.to_thread(made.is_file):
            path = self._stacks.path(stack, frame)
            task = {"task": "preview", "path": str(path), "picture": str(made)}
            await self._workers.quick(task, urgent=True, seconds=_seconds(frame))
        return made

    async def _look_at_all(self) -> None:
        while True:
            await self._stacks.any_changed.wait()
            self._stacks.any_changed.clear()
            while waiting := self._next_waiting():
                await self._look(*waiting)
            while self._stacks.unchecked and not self._next_waiting():
                await self._check(self._stacks.unchecked.pop())

    def _next_waiting(self) -> tuple[Stack, dict[str, Any]] | None:
        """Find a frame to look at; the newest stack first, which somebody is looking at."""
        for stack in reversed(self._stacks.all()):
            for frame in stack["frames"]:
                if frame["state"] == "waiting":
                    return stack, frame
        return None

    async def _look(self, stack: Stack, frame: dict[str, Any]) -> None:
        frame["state"] = "looking"
        self._stacks.tell_frame(stack, frame["key"])
        thumbnail = self._stacks.thumbnail(stack["id"], frame["key"])
        stamp = None
        # OSError: no process can be started, for want of memory; the next frame may find some.
        try:
            path = self._stacks.path(stack, frame)
            stamp = await asyncio.to_thread(file_stamp, path)  # before it is read: a later change is seen
            task = {"task": "scan_frame", "path": str(path), "thumbnail": str(thumbnail)}
            seen = await self._workers.quick(task, seconds=_seconds(frame)) | {"state": "ready"}
        except (TaskFailed, TaskCancelled, Refusal, OSError) as error:
            text = self._stacks.as_known(stack["id"], str(error))
            named = text if text.startswith(frame["name"]) else f"{frame['name']}: {text}"
            seen = {"state": "bad", "error": named}
        seen |= {"stamp": stamp, "bytes": stamp[1] if stamp else frame["bytes"]}
        # Found anew: a change of the stack meanwhile has put another in its place.
        for each in stack["frames"]:
            if each["key"] == frame["key"]:
                each.update(seen)
        self._stacks.tell_frame(stack, frame["key"])
        await self._keep(stack)

    async def _check(self, name: str) -> None:
        stack = next((stack for stack in self._stacks.all() if stack["id"] == name), None)
        if stack is None:
            return
        try:
            frames = [
                {
                    "name": frame["name"],
                    "path": str(self._stacks.path(stack, frame)),
                    "thumbnail": str(self._stacks.thumbnail(name, frame["key"])),
                    "digest": frame["digest"],
                }
                for frame in stack["frames"]
                if frame["state"] == "ready" and not frame["excluded"]
            ]
            told = await self._workers.quick({"task": "check", "frames": frames})
            warnings = [self._stacks.as_known(name, line) for line in told["warnings"]]
        except (TaskFailed, TaskCancelled, Refusal, OSError) as error:
            line = f"Whether these frames belong together could not be checked: {error}"
            warnings = [self._stacks.as_known(name, line)]
        if warnings != stack["warnings"]:
            stack["warnings"] = warnings
            await self._keep(stack)
        # In any case: a page may have taken an answer that was older than the last look for the newest.
        self._stacks.tell(stack)

    async def _keep(self, stack: Stack) -> None:
        try:
            await self._stacks.seen(stack)
        except PanfocusError as error:  # a full disk: what was seen is known until the server ends
            logger.warning("%s", error)


def _seconds(frame: dict[str, Any]) -> float:
    """Return how long a file may take."""
    return _SECONDS + float(frame["bytes"]) / _BYTES_PER_SECOND
