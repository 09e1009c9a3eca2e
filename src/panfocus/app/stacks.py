"""Stacks of frames: files sent by the page or opened in place, their order, and what a first look tells."""

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from panfocus.app.answers import Refusal
from panfocus.app.events import Events
from panfocus.app.store import Store, now
from panfocus.app.workers import TaskCancelled, TaskFailed, Workers
from panfocus.io.files import make_folder, remove_temporaries
from panfocus.io.read import in_natural_order

MOST_FRAMES = 2000  # of a stack
_LOOK_SECONDS, _LOOK_BYTES_PER_SECOND = 60.0, 10e6  # a file may take so long, and so much for its size

_PUBLIC = (
    "key",
    "name",
    "state",
    "width",
    "height",
    "pages",
    "dtype",
    "channels",
    "bytes",
    "error",
    "excluded",
)
_UNKNOWN = {"width": None, "height": None, "pages": None, "dtype": None, "channels": None, "error": None}

Stack = dict[str, Any]


class Stacks:
    """All stacks; a task in the background looks at their frames, one after the other."""

    def __init__(self, store: Store, events: Events, workers: Workers) -> None:
        self._store = store
        self._events = events
        self._workers = workers
        self._receiving: dict[str, int] = {}  # files under way, by stack
        self._unchecked: set[str] = set()
        self._work = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look at what was not looked at when the server last ended."""
        for stack in self._store.stacks.all():
            remove_temporaries(self._store.stacks.folder(stack["id"]), below=True)
            for frame in stack["frames"]:
                if frame["state"] == "looking":
                    frame["state"] = "waiting"
            self._unchecked.add(stack["id"])
        self._work.set()
        self._looking = asyncio.create_task(self._look_at_all())

    def stop(self) -> None:
        """Look no further."""
        if self._looking:
            self._looking.cancel()

    def public(self, stack: Stack) -> dict[str, Any]:
        """Return a stack as pages see it."""
        best = max((frame["sharpness"] or 0.0 for frame in stack["frames"]), default=0.0)
        frames = [
            {name: frame[name] for name in _PUBLIC}
            | {"score": frame["sharpness"] / best if best and frame["sharpness"] is not None else None}
            for frame in stack["frames"]
        ]
        told = {name: stack[name] for name in ("id", "name", "folder", "created", "warnings")}
        return told | {"frames": frames, "receiving": self._receiving.get(stack["id"], 0)}

    def paths(self, name: str) -> list[Path]:
        """Return the files of a stack in their order, without those that are excluded."""
        stack = self._store.stacks.get(name)
        return [self._path(stack, frame) for frame in stack["frames"] if not frame["excluded"]]

    def thumbnail(self, name: str, key: int) -> Path:
        """Return where the small picture of a frame is, or will be."""
        return self._store.stacks.folder(name) / "thumbnails" / f"{key}.jpg"

    def make(self, name: str) -> Stack:
        """Make a stack for files that the page sends."""
        return self._new(name or "Stack", None, [])

    def open_in_place(self, paths: Iterable[Path], folder: Path | None) -> Stack:
        """Make a stack of files on this computer, which stay where they are."""
        files = list(paths)
        if not files:
            raise Refusal(400, "no image there (JPEG, PNG, TIFF, WebP or RAW)")
        return self._new((folder or files[0].parent).name or str(folder), folder, files)

    def _new(self, name: str, folder: Path | None, files: list[Path]) -> Stack:
        if len(files) > MOST_FRAMES:
            raise Refusal(400, f"{len(files)} files are too many for a stack; at most {MOST_FRAMES}")
        stack: Stack = {
            "id": self._store.stacks.new_id(),
            "name": name,
            "folder": None if folder is None else str(folder),
            "created": now(),
            "frames": [],
            "warnings": [],
            "in_natural_order": True,  # until the user orders them
            "next_key": 0,
        }
        for path in files:
            _add(stack, path.name, path.stat().st_size, str(path))
        root = self._store.stacks.folder(stack["id"])
        make_folder(root / "files")
        make_folder(root / "thumbnails")
        self.changed(stack)
        return stack

    def files_folder(self, name: str) -> Path:
        """Return the folder of the files that were sent."""
        return self._store.stacks.folder(name) / "files"

    def receiving(self, stack: Stack, change: int) -> None:
        """Count the files that are under way."""
        self._receiving[stack["id"]] = self._receiving.get(stack["id"], 0) + change
        self._tell(stack)

    def received(self, stack: Stack, name: str, size: int) -> None:
        """Add a file that has come."""
        _add(stack, name, size, None)
        if stack["in_natural_order"]:
            names = in_natural_order(Path(frame["name"]) for frame in stack["frames"])
            place = {path.name: number for number, path in enumerate(names)}
            stack["frames"].sort(key=lambda frame: place[frame["name"]])
        self.changed(stack)

    def change(self, stack: Stack, wanted: dict[str, Any]) -> None:
        """Give a stack another name, order, or choice of frames."""
        n_frames = len(stack["frames"])
        match wanted:
            case {"name": str(name)} if name.strip():
                stack["name"] = name.strip()[:200]
            case {"name": _}:
                raise Refusal(400, "name: needed is a text")
        if "excluded" in wanted:
            excluded = _numbers("excluded", wanted["excluded"], n_frames)
            for number, frame in enumerate(stack["frames"]):
                frame["excluded"] = number in excluded
        if "order" in wanted:
            order = _numbers("order", wanted["order"], n_frames)
            if len(order) != n_frames:
                raise Refusal(400, f"order: needed are the numbers 0 to {n_frames - 1}, each once")
            stack["frames"] = [stack["frames"][number] for number in order]
            stack["in_natural_order"] = False
        self.changed(stack)

    async def remove(self, name: str) -> None:
        """Remove a stack; files that were opened in place stay."""
        await asyncio.to_thread(self._store.stacks.remove, name)  # gigabytes take their time
        self._events.tell({"kind": "gone", "id": name})

    def changed(self, stack: Stack) -> None:
        """Keep a stack as it is now, tell the pages, and look at it again."""
        self._keep(stack)
        self._unchecked.add(stack["id"])
        self._work.set()

    def _keep(self, stack: Stack) -> None:
        self._store.stacks.save(stack)
        self._tell(stack)

    def _tell(self, stack: Stack) -> None:
        if stack["id"] in self._store.stacks:  # it may have been removed while a file came
            self._events.tell({"kind": "stack", "stack": self.public(stack)})

    def _path(self, stack: Stack, frame: dict[str, Any]) -> Path:
        return Path(frame["path"]) if frame["path"] else self.files_folder(stack["id"]) / frame["name"]

    async def _look_at_all(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while waiting := self._next_waiting():
                await self._look(*waiting)
            while self._unchecked and not self._next_waiting():
                await self._check(self._unchecked.pop())

    def _next_waiting(self) -> tuple[Stack, dict[str, Any]] | None:
        """Find a frame to look at; the newest stack first, which somebody is looking at."""
        for stack in reversed(self._store.stacks.all()):
            for frame in stack["frames"]:
                if frame["state"] == "waiting":
                    return stack, frame
        return None

    async def _look(self, stack: Stack, frame: dict[str, Any]) -> None:
        path = self._path(stack, frame)
        frame["state"] = "looking"
        self._tell(stack)
        task = {
            "task": "look",
            "path": str(path),
            "thumbnail": str(self.thumbnail(stack["id"], frame["key"])),
        }
        seconds = _LOOK_SECONDS + frame["bytes"] / _LOOK_BYTES_PER_SECOND
        try:
            frame |= await self._workers.quick(task, seconds=seconds) | {"state": "ready"}
        except (TaskFailed, TaskCancelled) as error:
            text = str(error).replace(str(path), frame["name"])
            named = text if text.startswith(frame["name"]) else f"{frame['name']}: {text}"
            frame |= {"state": "bad", "error": named}
        if stack["id"] in self._store.stacks:  # it may have been removed meanwhile
            self._keep(stack)

    async def _check(self, name: str) -> None:
        if name not in self._store.stacks:
            return
        stack = self._store.stacks.get(name)
        frames = [
            {
                "name": frame["name"],
                "path": str(self._path(stack, frame)),
                "thumbnail": str(self.thumbnail(name, frame["key"])),
                "digest": frame["digest"],
            }
            for frame in stack["frames"]
            if frame["state"] == "ready" and not frame["excluded"]
        ]
        try:
            warnings = (await self._workers.quick({"task": "check", "frames": frames}))["warnings"]
        except (TaskFailed, TaskCancelled) as error:
            warnings = [f"Whether these frames belong together could not be checked: {error}"]
        if warnings != stack["warnings"] and name in self._store.stacks:
            stack["warnings"] = warnings
            self._keep(stack)

    def room(self) -> int:
        """Bytes that are free on the disk of the work folder."""
        return shutil.disk_usage(self._store.work).free


def _add(stack: Stack, name: str, size: int, path: str | None) -> None:
    if len(stack["frames"]) >= MOST_FRAMES:
        raise Refusal(400, f"a stack has at most {MOST_FRAMES} frames")
    frame = {"key": stack["next_key"], "name": name, "path": path, "bytes": size, "state": "waiting"}
    frame |= _UNKNOWN | {"excluded": False, "sharpness": None, "digest": None}
    stack["frames"].append(frame)
    stack["next_key"] += 1


def _numbers(what: str, given: object, n_frames: int) -> list[int]:
    numbers: list[int] = given if isinstance(given, list) else [-1]
    if any(type(number) is not int or not 0 <= number < n_frames for number in numbers):
        raise Refusal(400, f"{what}: needed is a list of whole numbers from 0 to {n_frames - 1}")
    if len(set(numbers)) != len(numbers):
        raise Refusal(400, f"{what}: a number is there twice")
    return numbers
