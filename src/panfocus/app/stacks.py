"""Stacks of frames: files that were uploaded or opened in place, their order and the user's choice."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from panfocus.app.allowed_folders import AllowedFolders
from panfocus.app.events import Events, with_revision
from panfocus.app.responses import RequestError
from panfocus.app.state import PageFrame, PageStack
from panfocus.app.work_folder import Store, now
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder
from panfocus.io.checkpoint import FileStamp, file_stamp
from panfocus.io.input_files import sort_naturally

MAX_FRAMES = 2000  # of a stack
_MAX_NAME_LENGTH = 200


class Stacks:
    """All stacks; `frame_scanner.FrameScanner` scans those that change."""

    def __init__(self, store: Store, events: Events, folders: AllowedFolders) -> None:
        self._store = store
        self.shelf = store.stacks
        self._events = events
        self._folders = folders
        self._receiving: Counter[str] = Counter()  # running uploads, by stack
        self.unchecked = {stack.id for stack in self.shelf.all()}
        self.any_changed = asyncio.Event()

    def view(self, stack: PageStack) -> dict[str, Any]:
        """Return what pages see of a stack."""
        return with_revision(stack.view(receiving=self._receiving[stack.id]))

    def paths(self, stack: PageStack) -> list[Path]:
        """Return the files of the frames in use, in their order."""
        return [self.path(stack, frame) for frame in stack.used_frames]

    def path(self, stack: PageStack, frame: PageFrame) -> Path:
        """Return the file of a frame, to be read now; refuse one that a link has moved elsewhere."""
        if not frame.path:
            return self.files_folder(stack) / frame.name
        self._folders.check_opened(frame.path)
        return Path(frame.path)

    def thumbnail(self, stack: PageStack, key: int) -> Path:
        """Return the path of a frame's thumbnail."""
        return self.shelf.folder(stack.id) / "thumbnails" / f"{key}.jpg"

    def preview(self, stack: PageStack, key: int) -> Path:
        """Return the path of a frame's large picture, which is made on request."""
        return self.shelf.folder(stack.id) / "thumbnails" / f"{key}-large.jpg"

    def files_folder(self, stack: PageStack) -> Path:
        """Return the folder of uploaded files."""
        return self.shelf.folder(stack.id) / "files"

    def create(self, name: str) -> PageStack:
        """Create a stack for files that the page uploads."""
        return self._create(name.strip()[:_MAX_NAME_LENGTH] or "Stack", None, [])

    def open_in_place(
        self, paths: Iterable[Path], folder: Path | None, skipped: Sequence[str] = ()
    ) -> PageStack:
        """Create a stack of files that stay where they are; `skipped` are lines on other files there."""
        files = list(paths)
        if not files:
            message = "There are no images here (JPEG, PNG, TIFF, WebP or RAW)."
            raise RequestError(400, message, file=None if folder is None else str(folder))
        return self._create((folder or files[0].parent).name or str(folder), folder, files, skipped)

    def _create(
        self, name: str, folder: Path | None, files: list[Path], skipped: Sequence[str] = ()
    ) -> PageStack:
        check_n_frames(len(files))
        with self.shelf.new_folder() as root:
            stack = PageStack(
                id=root.name,
                created=now(),
                name=name,
                folder=None if folder is None else str(folder),
                skipped=list(skipped),
            )
            for path in files:
                stack.add_frame(path.name, path.stat().st_size, str(path))
            make_folder(root / "files")
            make_folder(root / "thumbnails")
            self.shelf.save(stack)
        self.announce_change(stack)
        return stack

    def count_uploads(self, stack: PageStack, change: int) -> None:
        """Count the uploads that are running."""
        self._receiving[stack.id] += change
        self.send(stack)

    async def add_upload(self, stack: PageStack, name: str, size: int) -> None:
        """Add an uploaded file as a frame, and return when that is saved."""
        check_n_frames(len(stack.frames) + 1)
        added = stack.add_frame(name, size, None)
        if stack.in_natural_order:
            names = sort_naturally(Path(frame.name) for frame in stack.frames)
            place = {path.name: number for number, path in enumerate(names)}
            stack.frames.sort(key=lambda frame: place[frame.name])
        try:
            await self.shelf.save_soon(stack)
        except PanfocusError:  # a full disk
            stack.frames = [frame for frame in stack.frames if frame.key != added.key]
            raise
        finally:
            self.announce_change(stack)

    def change(self, stack: PageStack, wanted: dict[str, Any]) -> None:
        """Change a stack's name, the order of its frames, or which of them are used."""
        name = wanted.get("name", stack.name)
        if not isinstance(name, str) or not name.strip():
            raise RequestError(400, "`name` must be a text.", setting="name")
        frames = _mark_excluded(stack.frames, wanted)
        if "order" in wanted:
            frames = _sort_frames(frames, wanted["order"])
        with self.shelf.edit(stack) as draft:
            draft.name, draft.frames = name.strip()[:_MAX_NAME_LENGTH], frames
            if "order" in wanted:
                draft.in_natural_order = False
        self.announce_change(stack)

    async def rescan_changed(self, stack: PageStack) -> None:
        """Have files that are read in place scanned again if they were replaced."""
        scanned = [frame for frame in stack.frames if frame.path and frame.state in ("ready", "bad")]
        stamps = await asyncio.to_thread(lambda: [self._stamp(stack, frame) for frame in scanned])
        replaced = {frame.key for frame, stamp in zip(scanned, stamps, strict=True) if stamp != frame.stamp}
        if not replaced or stack.id not in self.shelf:
            return
        frames, key = [], stack.next_key
        for frame in stack.frames:
            if frame.key in replaced:
                for made in (self.thumbnail, self.preview):
                    made(stack, frame.key).unlink(missing_ok=True)
                frames.append(frame.unscanned(key))  # a new key: browsers cache pictures by key
                key += 1
            else:
                frames.append(frame)
        with self.shelf.edit(stack) as draft:
            draft.frames, draft.next_key = frames, key
        self.announce_change(stack)

    def set_unsent(self, stack: PageStack, names: list[str]) -> None:
        """Set the names of the files that are announced but not uploaded."""
        with self.shelf.edit(stack) as draft:
            draft.unsent = names
        self.announce_change(stack)

    async def remove(self, stack: PageStack) -> None:
        """Remove a stack; files that were opened in place stay."""
        await self.shelf.remove(stack.id)
        self._events.send({"kind": "gone", "id": stack.id})

    def announce_change(self, stack: PageStack) -> None:
        """Send a stack that has changed to the pages, and have it scanned and checked."""
        self.send(stack)
        self.unchecked.add(stack.id)
        self.any_changed.set()

    def send(self, stack: PageStack) -> None:
        """Send a stack to the pages, unless it is removed before."""

        def latest() -> dict[str, Any] | None:
            exists = stack.id in self.shelf
            return {"kind": "stack", "stack": self.view(stack)} if exists else None

        self._events.send_latest("stack", stack.id, latest)

    def send_frame(self, stack: PageStack, key: int) -> None:
        """Send one frame to the pages: a large stack would be too much for every scan."""

        def latest() -> dict[str, Any] | None:
            frames = [frame.view() for frame in stack.frames if frame.key == key]
            if not frames or stack.id not in self.shelf:
                return None
            return with_revision({"kind": "frames", "stack": stack.id, "frames": frames})

        self._events.send_latest("frame", f"{stack.id} {key}", latest)

    def _stamp(self, stack: PageStack, frame: PageFrame) -> FileStamp:
        try:
            return file_stamp(self.path(stack, frame))
        except RequestError:  # the scan reports why
            return None

    def shorten_paths(self, name: str, text: str) -> str:
        """Return a message in which the files of a stack have their names without the folder."""
        for frame in self.shelf.get(name).frames if name in self.shelf else []:
            if frame.path:
                text = text.replace(frame.path, frame.name)
        return self._store.shorten_paths(text)


def check_n_frames(n_frames: int) -> None:
    """Refuse a stack that would have too many frames."""
    if n_frames > MAX_FRAMES:
        message = f"A stack has at most {MAX_FRAMES} frames, got {n_frames}. Choose fewer files."
        raise RequestError(400, message, got=n_frames, limit=MAX_FRAMES)


def _mark_excluded(frames: Sequence[PageFrame], wanted: dict[str, Any]) -> list[PageFrame]:
    """Return the frames, those with keys in `used` and `excluded` marked so."""
    used, excluded = (_frame_keys(which, wanted.get(which, []), frames) for which in ("used", "excluded"))
    if both := set(used) & set(excluded):
        message = f"The key {min(both)} is in both `used` and `excluded`."
        raise RequestError(400, message, setting="used", got=min(both))
    marks = dict.fromkeys(used, False) | dict.fromkeys(excluded, True)
    return [replace(frame, excluded=marks.get(frame.key, frame.excluded)) for frame in frames]


def _sort_frames(frames: Sequence[PageFrame], order: object) -> list[PageFrame]:
    """Return the frames in the order of these keys; frames that were added meanwhile come last."""
    keys = _frame_keys("order", order, frames)
    place = {key: number for number, key in enumerate(keys)}
    return sorted(frames, key=lambda frame: place.get(frame.key, len(keys)))


def _frame_keys(setting: str, keys: object, frames: Sequence[PageFrame]) -> list[int]:
    """Return checked keys of frames. Positions would not do: the page may have seen an older order."""
    if not isinstance(keys, list) or any(type(key) is not int or key < 0 for key in keys):
        raise RequestError(400, f"`{setting}` must be a list of frame keys.", setting=setting)
    if len(set(keys)) != len(keys):
        raise RequestError(400, f"`{setting}` names a frame twice.", setting=setting)
    if set(keys) - {frame.key for frame in frames}:
        message = "A frame has changed or was removed. Check the frames and choose again."
        raise RequestError(409, message, setting=setting)
    return keys
