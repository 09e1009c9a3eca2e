"""The work folder: stacks and jobs as JSON files, learned dictionaries, and the token.

Only the user who started the server can read it. Every file is written atomically.
"""

import asyncio
import logging
import os
import re
import secrets
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any, Generic, TypeVar

from panfocus.app.responses import RequestError
from panfocus.app.state import PageJob, PageStack
from panfocus.errors import FileError, PanfocusError
from panfocus.io.atomic_files import make_folder, read_json, write_files
from panfocus.io.encode import encode_json
from panfocus.io.file_errors import add_path_to_errors

logger = logging.getLogger(__name__)

Item = TypeVar("Item", bound=PageStack | PageJob)

ID = re.compile(r"[0-9a-f]{16}")
_REMOVED = ".gone-"  # prefix of a folder that is being removed
_TOKEN = re.compile(r"[\w-]{32,100}")
_ROOT = 0  # user id; root can read everything anyway
_READ, _WRITE, _ENTER = 0o044, 0o022, 0o011  # permissions of the group and of others


def new_id() -> str:
    """Return a random name for a folder."""
    return secrets.token_hex(8)


def now() -> float:
    """Return the time in seconds since 1970, rounded to milliseconds."""
    return round(time.time(), 3)


class Shelf(Generic[Item]):
    """Stored items of one kind, each in its own folder together with its files."""

    def __init__(self, folder: Path, kind: str, from_json: Callable[[dict[str, Any]], Item]) -> None:
        make_folder(folder)
        self._folder = folder
        self._kind = kind
        self._from_json = from_json
        self._items: dict[str, Item] = {}
        self._writing = threading.Lock()  # held while an item is written or its folder moved
        self._n_saves: Counter[str] = Counter()  # immediate saves of each item
        self._next: dict[str, asyncio.Task[None]] = {}  # saves that are scheduled
        self._turn = asyncio.Lock()
        for abandoned in folder.glob(f"{_REMOVED}*"):  # by a killed server
            shutil.rmtree(abandoned, ignore_errors=True)
        items = [self._read(path) for path in folder.iterdir() if ID.fullmatch(path.name)]
        for item in sorted((item for item in items if item), key=lambda item: item.created):
            self._items[item.id] = item

    def _read(self, path: Path) -> Item | None:
        """Read an item; skip one that is damaged, but leave its folder."""
        if not any(names for _, _, names in os.walk(path)):  # empty: the disk was full or the server killed
            shutil.rmtree(path, ignore_errors=True)
            return None
        try:
            item = self._from_json(read_json(path / f"{self._kind}.json"))
            if item.id == path.name and isinstance(item.created, int | float):
                return item
        except (PanfocusError, LookupError, TypeError, AttributeError) as error:
            logger.warning("Skipped %s: %s", path, error)
        return None

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """Make the folder of a new item, named by the item's id; remove it if the block raises."""
        folder = self._folder / new_id()
        try:
            make_folder(folder)
            yield folder
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def all(self) -> list[Item]:
        """Return the items, oldest first."""
        return list(self._items.values())

    def get(self, name: str) -> Item:
        """Return an item by its id."""
        if name not in self._items:
            raise self._missing(name)
        return self._items[name]

    def _missing(self, name: str) -> RequestError:
        return RequestError(404, f"There is no {self._kind} {name[:40]}.", id=name)

    def __contains__(self, name: str) -> bool:
        return name in self._items

    def sizes(self) -> dict[str, int]:
        """Return the bytes on disk of each item, by id."""
        return {name: _folder_size(self._folder / name) for name in list(self._items)}

    def folder(self, name: str) -> Path:
        """Return the folder of an item."""
        if not ID.fullmatch(name):
            raise self._missing(name)
        return self._folder / name

    def save(self, item: Item) -> None:
        """Write an item at once."""
        with self._writing:
            self._write(item.id, encode_json(item.to_json(), indent=None))
            self._n_saves[item.id] += 1
        self._items[item.id] = item

    @contextmanager
    def edit(self, item: Item) -> Iterator[Item]:
        """Yield a copy of an item to modify, then write it; the item changes only if writing succeeds."""
        draft, before = copy(item), dict(vars(item))
        yield draft
        self.save(draft)
        # Others hold references to the item. Fields that the block left alone may have changed meanwhile.
        vars(item).update({name: value for name, value in vars(draft).items() if value is not before[name]})
        self._items[item.id] = item

    async def save_soon(self, item: Item) -> None:
        """Write an item; calls that come while it is being written share the next write."""
        if item.id not in self._next:
            self._next[item.id] = asyncio.create_task(self._save_next(item))
        await asyncio.shield(self._next[item.id])  # others wait for it too

    async def _save_next(self, item: Item) -> None:
        async with self._turn:
            del self._next[item.id]  # later changes need another write
            text = encode_json(item.to_json(), indent=None)
            await asyncio.to_thread(self._save_unless_newer, item.id, text, self._n_saves[item.id])

    def _save_unless_newer(self, name: str, text: bytes, n_saves: int) -> None:
        with self._writing:
            if name in self._items and self._n_saves[name] == n_saves:
                self._write(name, text)

    def _write(self, name: str, text: bytes) -> None:
        write_files({self.folder(name) / f"{self._kind}.json": text}, force=True)

    async def remove(self, name: str) -> None:
        """Remove an item and its folder; it is not found as soon as this is called."""
        place = self.folder(name)
        with self._writing:
            self._items.pop(name, None)
            with suppress(OSError):  # Windows does not move open files; it is then removed in place
                place = place.rename(self._folder / f"{_REMOVED}{name}")  # where nothing writes
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)  # may hold gigabytes


def _folder_size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # removed meanwhile
                total += (Path(place) / name).stat().st_size
    return total


class Store:
    """All state that outlives the server."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.token = _read_token(work / "token")
        self.stacks = Shelf(work / "stacks", "stack", PageStack.from_json)
        self.jobs = Shelf(work / "jobs", "job", PageJob.from_json)
        self.dictionaries = work / "dictionaries"
        make_folder(self.dictionaries)
        one = ID.pattern
        folders = rf"stacks/{one}/files|jobs/{one}/exports(?:/{one})?|dictionaries"
        self._user_folders = self._below(rf"(?:{folders})/")
        some_file, some_folder = r"([\w.-]+\.\w+)", r"[\w-]+(?![\w.-])"
        inside = rf"(?:stacks|jobs)/{one}(?:/{some_folder})*(?:/{some_file})?"
        self._internal_paths = self._below(rf"(?:{inside}|dictionaries)")

    def _below(self, pattern: str) -> re.Pattern[str]:
        """Return a pattern of paths in the work folder, with the separators of any system."""
        return re.compile(f"{re.escape(str(self.work))}/{pattern}".replace("/", r"[/\\]"))

    def shorten_paths(self, text: str) -> str:
        """Return a message in which files of the work folder have their names without the folder."""

        def shorten(match: re.Match[str]) -> str:
            return f"{match[1]} in the work folder" if match[1] else "the work folder"

        return self._internal_paths.sub(shorten, self._user_folders.sub("", text))

    def free_space(self) -> int:
        """Return the bytes that are free on the disk of the work folder."""
        return shutil.disk_usage(self.work).free

    def dictionary_names(self) -> list[str]:
        """Return the names of learned dictionaries."""
        return sorted(path.stem for path in self.dictionaries.glob("*.npz"))

    def dictionary_file(self, name: str) -> Path:
        """Return the path of a learned dictionary, whether it exists or not."""
        return self.dictionaries / f"{name}.npz"


def make_private_folder(path: Path) -> None:
    """Make a folder that only this user can enter; leave an existing one as it is."""
    make_folder(path.parent)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot create this folder ({error.strerror}).", file=str(path)) from error


def check_private(path: Path) -> str | None:
    """Return a warning if other users may read or write a folder; raise if it belongs to another user."""
    if sys.platform == "win32":
        return None
    status = path.stat()
    if status.st_uid not in (os.geteuid(), _ROOT):
        raise FileError(f"{path}: this folder belongs to another user. Choose another.", file=str(path))
    is_reachable = all(folder.stat().st_mode & _ENTER for folder in path.resolve().parents)
    access = [verb for verb, bits in (("read", _READ), ("write", _WRITE)) if status.st_mode & bits]
    if not (is_reachable and access):
        return None
    verbs = " and ".join(access)
    return f"{path}: other users can {verbs} this folder. Run chmod go-rwx on it, or choose another."


def _read_token(path: Path) -> str:
    """Return the token in a file; write a new one if there is none."""
    with add_path_to_errors(path):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o600)
            token = path.read_text("utf-8", errors="replace").strip()
            if _TOKEN.fullmatch(token):
                return token
    token = secrets.token_urlsafe(32)
    write_private(path, f"{token}\n")
    return token


def write_private(path: Path, text: str) -> None:
    """Replace a file by one that only this user can read."""
    with add_path_to_errors(path):
        path.unlink(missing_ok=True)  # not overwritten: it may be a link, or readable to others
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
