"""Stacks of frames: files sent by the page or opened in place, their order, and which of them count."""

import asyncio
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from panfocus.app.allowed_folders import Folders
from panfocus.app.events import Events, numbered
from panfocus.app.file_stamps import Stamp, file_stamp
from panfocus.app.frame_choice import chosen, ordered
from panfocus.app.responses import Refusal
from panfocus.app.stack_view import frame_view, stack_view
from panfocus.app.work_folder import Store, now
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder
from panfocus.io.input_files import sort_naturally

MOST_FRAMES = 2000  # of a stack
_SECONDS_BETWEEN_SAVES = 1.0  # of what a look has told: after a kill it is looked again

# Of a frame that is to be looked at.
_UNSEEN = {"state": "waiting"} | dict.fromkeys(
    ("width", "height", "pages", "dtype", "channels", "error", "sharpness", "digest")
)

Stack = dict[str, Any]


class Stacks:
    """All stacks; `looking.Looker` waits for those that have changed."""

    def __init__(self, store: Store, events: Events, folders: Folders) -> None:
        self._store = store
        self._events = events
        self._folders = folders
        self._receiving: dict[str, int] = {}  # files under way, by stack
        self._saved_at: dict[str, float] = {}  # what looks have told, by stack
        self.unchecked = {stack["id"] for stack in self.all()}
        self.any_changed = asyncio.Event()

    def all(self) -> list[Stack]:
        """Return the stacks, oldest first."""
        return self._store.stacks.all()

    def public(self, stack: Stack) -> dict[str, Any]:
        """Return a stack as pages see it."""
        return numbered(stack_view(stack, receiving=self._receiving.get(stack["id"], 0)))

    def paths(self, name: str) -> list[Path]:
        """Return the files of a stack in their order, without those left out by the user or unreadable."""
        stack = self._store.stacks.get(name)
        return [self.path(stack, frame) for frame in used_frames(stack)]

    def thumbnail(self, name: str, key: int) -> Path:
        """Return where the small picture of a frame is, or will be."""
        return self._store.stacks.folder(name) / "thumbnails" / f"{key}.jpg"

    def picture(self, name: str, key: int) -> Path:
        """Return where the larger picture of a frame is, once somebody has asked for it."""
        return self._store.stacks.folder(name) / "thumbnails" / f"{key}-large.jpg"

    def make(self, name: str) -> Stack:
        """Make a stack for files that the page sends."""
        return self._new(name or "Stack", None, [])

    def open_in_place(
        self, paths: Iterable[Path], folder: Path | None, left_out: Sequence[str] = ()
    ) -> Stack:
        """Make a stack of files on this computer, which stay where they are.

        `left_out`: lines on pictures in the folder that are not read.
        """
        files = list(paths)
        if not files:
            raise Refusal(400, "no image there (JPEG, PNG, TIFF, WebP or RAW)")
        return self._new((folder or files[0].parent).name or str(folder), folder, files, left_out)

    def _new(self, name: str, folder: Path | None, files: list[Path], left_out: Sequence[str] = ()) -> Stack:
        if len(files) > MOST_FRAMES:
            raise Refusal(400, f"{len(files)} files are too many for a stack; at most {MOST_FRAMES}")
        stack: Stack = {
            "name": name,
            "folder": None if folder is None else str(folder),
            "created": now(),
            "frames": [],
            "left_out": list(left_out),
            "warnings": [],
            "sort_naturally": True,  # until the user orders them
            "next_key": 0,
        }
        for path in files:
            _add(stack, path.name, path.stat().st_size, str(path))
        stack["id"] = self._store.stacks.new_id()
        root = self._store.stacks.folder(stack["id"])
        try:
            make_folder(root / "files")
            make_folder(root / "thumbnails")
            self.changed(stack)
        except PanfocusError:  # a full disk
            shutil.rmtree(root, ignore_errors=True)
            raise
        return stack

    def files_folder(self, name: str) -> Path:
        """Return the folder of the files that were sent."""
        return self._store.stacks.folder(name) / "files"

    def receiving(self, stack: Stack, change: int) -> None:
        """Count the files that are under way."""
        self._receiving[stack["id"]] = self._receiving.get(stack["id"], 0) + change
        self.tell(stack)

    async def received(self, stack: Stack, name: str, size: int) -> None:
        """Add a file that has come, and return when that is kept."""
        key = stack["next_key"]
        _add(stack, name, size, None)
        if stack["sort_naturally"]:
            names = sort_naturally(Path(frame["name"]) for frame in stack["frames"])
            place = {path.name: number for number, path in enumerate(names)}
            stack["frames"].sort(key=lambda frame: place[frame["name"]])
        try:
            await self._store.stacks.save_soon(stack)
        except PanfocusError:  # a full disk
            stack["frames"] = [frame for frame in stack["frames"] if frame["key"] != key]
            raise
        finally:
            self._look_soon(stack)

    def change(self, stack: Stack, wanted: dict[str, Any]) -> None:
        """Give a stack another name, order, or choice of frames."""
        changes: dict[str, Any] = {}
        match wanted:
            case {"name": str(name)} if name.strip():
                changes["name"] = name.strip()[:200]
            case {"name": _}:
                raise Refusal(400, "name: needed is a text")
        frames = chosen(stack["frames"], wanted)
        if "order" in wanted:
            frames = ordered(frames, wanted["order"])
            changes["sort_naturally"] = False
        self.changed(stack, frames=frames, **changes)

    async def look_again(self, stack: Stack) -> None:
        """Have files that are read in place looked at again where others have taken their place."""
        seen = [each for each in stack["frames"] if each["path"] and each["state"] in ("ready", "bad")]
        stamps = await asyncio.to_thread(lambda: [self._stamp(stack, each) for each in seen])
        renewed = {
            each["key"] for each, stamp in zip(seen, stamps, strict=True) if stamp != each.get("stamp")
        }
        frames, key = [], stack["next_key"]
        for frame in stack["frames"]:
            if frame["key"] in renewed:
                for made in (self.thumbnail, self.picture):
                    made(stack["id"], frame["key"]).unlink(missing_ok=True)
                # By another key: browsers keep pictures by it.
                frames.append(frame | _UNSEEN | {"key": key})
                key += 1
            else:
                frames.append(frame)
        if key > stack["next_key"] and stack["id"] in self._store.stacks:
            self.changed(stack, frames=frames, next_key=key)

    async def remove(self, name: str) -> None:
        """Remove a stack; files that were opened in place stay."""
        await self._store.stacks.remove(name)
        self._events.tell({"kind": "gone", "id": name})

    def changed(self, stack: Stack, **changes: Any) -> None:
        """Keep a stack with these changes, tell the pages, and have it looked at again."""
        self._store.stacks.save(stack, **changes)
        self._look_soon(stack)

    def _look_soon(self, stack: Stack) -> None:
        self.tell(stack)
        self.unchecked.add(stack["id"])
        self.any_changed.set()

    async def seen(self, stack: Stack) -> None:
        """Keep what a look has told now and then; when all was looked at, keep and tell all."""
        waiting = any(frame["state"] == "waiting" for frame in stack["frames"])
        if not waiting:
            self.tell(stack)
        since = time.monotonic() - self._saved_at.get(stack["id"], 0.0)
        if not waiting or since >= _SECONDS_BETWEEN_SAVES:
            self._saved_at[stack["id"]] = time.monotonic()
            await self._store.stacks.save_soon(stack)

    def tell(self, stack: Stack) -> None:
        """Tell the pages of a stack, unless it was removed meanwhile."""

        def latest() -> dict[str, Any] | None:
            return self.public(stack) if stack["id"] in self._store.stacks else None

        self._events.tell_latest("stack", stack["id"], latest)

    def tell_frame(self, stack: Stack, key: int) -> None:
        """Tell the pages of a frame alone: all of a large stack for every look would be too much."""

        def latest(keys: set[int]) -> dict[str, Any] | None:
            if stack["id"] not in self._store.stacks:
                return None
            frames = [frame_view(frame) for frame in stack["frames"] if frame["key"] in keys]
            return numbered({"kind": "frames", "stack": stack["id"], "frames": frames})

        self._events.tell_part("stack", stack["id"], key, latest)

    def path(self, stack: Stack, frame: dict[str, Any]) -> Path:
        """Return where the file of a frame is, to be read now; refuse one that leads elsewhere by now."""
        if frame["path"]:
            self._folders.check_again(frame["path"])
        return Path(frame["path"]) if frame["path"] else self.files_folder(stack["id"]) / frame["name"]

    def _stamp(self, stack: Stack, frame: dict[str, Any]) -> Stamp:
        try:
            return file_stamp(self.path(stack, frame))
        except Refusal:  # the look at it says why
            return None

    def as_known(self, name: str, text: str) -> str:
        """Say a line on a stack as the user knows it: files that are read where they are by name, too."""
        frames = self._store.stacks.get(name)["frames"] if name in self._store.stacks else []
        for frame in frames:
            if frame["path"]:
                text = text.replace(frame["path"], frame["name"])
        return self._store.as_known(text)

    def room(self) -> int:
        """Bytes that are free on the disk of the work folder."""
        return shutil.disk_usage(self._store.work).free


def used_frames(stack: Stack) -> list[dict[str, Any]]:
    """Return the frames of a stack in their order, without those left out by the user or unreadable."""
    return [frame for frame in stack["frames"] if not frame["excluded"] and frame["state"] != "bad"]


def _add(stack: Stack, name: str, size: int, path: str | None) -> None:
    if len(stack["frames"]) >= MOST_FRAMES:
        raise Refusal(400, f"a stack has at most {MOST_FRAMES} frames")
    frame = {"key": stack["next_key"], "name": name, "path": path, "bytes": size, "excluded": False}
    stack["frames"].append(frame | _UNSEEN)
    stack["next_key"] += 1
