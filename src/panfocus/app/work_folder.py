"""The work folder: stacks and jobs as JSON files, each written whole or not at all, and the token."""

import asyncio
import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from panfocus.app.private_file import kept_secret
from panfocus.app.responses import Refusal
from panfocus.app.words import on_page
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder, read_json, write_files
from panfocus.io.encode import encode_json

logger = logging.getLogger(__name__)

ID = re.compile(r"[0-9a-f]{16}")
_GONE = ".gone-"  # before the name of a folder that is being removed


def new_name() -> str:
    """Return a name for a folder that no other has."""
    return secrets.token_hex(8)


def now() -> float:
    """Return seconds since 1970, as the objects hold them."""
    return round(time.time(), 3)


class Shelf:
    """Objects of one kind: plain data, each in a folder of its own, which has room for its files as well."""

    def __init__(self, folder: Path, kind: str) -> None:
        make_folder(folder)
        self._folder = folder
        self._kind = kind
        self._objects: dict[str, dict[str, Any]] = {}
        self._writing = threading.Lock()  # held by who writes, or moves a folder away
        self._n_saves: Counter[str] = Counter()  # of each object, at once
        self._next: dict[str, asyncio.Task[None]] = {}  # to be saved soon
        self._turn = asyncio.Lock()
        for left in folder.glob(f"{_GONE}*"):  # by a kill
            shutil.rmtree(left, ignore_errors=True)
        found = [self._read(path) for path in folder.iterdir() if ID.fullmatch(path.name)]
        for content in sorted((content for content in found if content), key=lambda each: each["created"]):
            self._objects[content["id"]] = content

    def _read(self, path: Path) -> dict[str, Any] | None:
        """Read an object; one that is not whole, as a kill may leave it, is passed over and stays."""
        if not any(names for _, _, names in os.walk(path)):  # nothing: a full disk, or a kill, came before
            shutil.rmtree(path, ignore_errors=True)
            return None
        try:
            content = read_json(path / f"{self._kind}.json")
            if content["id"] == path.name and isinstance(content["created"], int | float):
                return dict(content)
        except (PanfocusError, LookupError, TypeError) as error:
            logger.warning("%s is passed over: %s", path, error)
        return None

    def new_id(self) -> str:
        """Return a name that no other object has, and make its folder."""
        name = new_name()
        make_folder(self._folder / name)
        return name

    def all(self) -> list[dict[str, Any]]:
        """Return the objects, oldest first."""
        return list(self._objects.values())

    def get(self, name: str) -> dict[str, Any]:
        """Return an object, or refuse a request that names none."""
        if name not in self._objects:
            raise Refusal(404, f"there is no {self._kind} {name[:40]}")
        return self._objects[name]

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    def sizes(self) -> dict[str, int]:
        """Return how many bytes each object takes on the disk."""
        return {name: _bytes_in(self._folder / name) for name in list(self._objects)}

    def folder(self, name: str) -> Path:
        """Return the folder of an object."""
        if not ID.fullmatch(name):
            raise Refusal(404, f"there is no {self._kind} {name[:40]}")
        return self._folder / name

    def save(self, content: dict[str, Any], **changes: Any) -> None:
        """Keep an object with these changes, which are not made if they cannot be kept."""
        name = content["id"]
        with self._writing:
            self._write(name, encode_json(content | changes, indent=None))
            self._n_saves[name] += 1
        content |= changes
        self._objects[name] = content

    async def save_soon(self, content: dict[str, Any]) -> None:
        """Keep an object that was changed; those who ask while it is being written share the next writing."""
        name = content["id"]
        if name not in self._next:
            self._next[name] = asyncio.create_task(self._save_next(content))
        await asyncio.shield(self._next[name])  # others wait for it too

    async def _save_next(self, content: dict[str, Any]) -> None:
        name = content["id"]
        async with self._turn:
            del self._next[name]  # what changes from now on is for the next one
            text = encode_json(content, indent=None)
            await asyncio.to_thread(self._save_unless_newer, name, text, self._n_saves[name])

    def _save_unless_newer(self, name: str, text: bytes, n_saves: int) -> None:
        with self._writing:
            if name in self._objects and self._n_saves[name] == n_saves:
                self._write(name, text)

    def _write(self, name: str, text: bytes) -> None:
        write_files({self.folder(name) / f"{self._kind}.json": text}, force=True)

    async def remove(self, name: str) -> None:
        """Remove an object and all that is in its folder; before anything is waited for it is not found."""
        place = self._take_away(name)
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)  # gigabytes take their time

    def _take_away(self, name: str) -> Path:
        """Take out an object, move its folder to where nobody writes, and return that place."""
        place = self.folder(name)
        with self._writing:
            self._objects.pop(name, None)
            with suppress(OSError):  # where files are open, on Windows, it is removed where it is
                place = place.rename(self._folder / f"{_GONE}{name}")
        return place


def _in_work_folder(found: re.Match[str]) -> str:
    """Name a file, or a folder, that the user has never seen."""
    return f"{found[1]} in the work folder" if found[1] else "the work folder"


def _bytes_in(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it is gone by now
                total += (Path(place) / name).stat().st_size
    return total


class Store:
    """All that outlives the server."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.token = kept_secret(work / "token")
        self.stacks = Shelf(work / "stacks", "stack")
        self.jobs = Shelf(work / "jobs", "job")
        self.dictionaries = work / "dictionaries"
        make_folder(self.dictionaries)
        one = ID.pattern
        folders = rf"stacks/{one}/files|jobs/{one}/exports(?:/{one})?|dictionaries"
        self._kept_in = self._below(rf"(?:{folders})/")
        some_file, some_folder = r"([\w.-]+\.\w+)", r"[\w-]+(?![\w.-])"
        inside = rf"(?:stacks|jobs)/{one}(?:/{some_folder})*(?:/{some_file})?"
        self._of_our_own = self._below(rf"(?:{inside}|dictionaries)")

    def _below(self, pattern: str) -> re.Pattern[str]:
        """Return what finds places in the work folder; on Windows a path has other separators."""
        return re.compile(f"{re.escape(str(self.work))}/{pattern}".replace("/", r"[/\\]"))

    def as_known(self, text: str) -> str:
        """Say a line as the user knows it: files by name, not by where they are kept; options as controls."""
        named = self._kept_in.sub("", text)
        return on_page(self._of_our_own.sub(_in_work_folder, named))

    def dictionary_names(self) -> list[str]:
        """Return the names of learned dictionaries."""
        return sorted(path.stem for path in self.dictionaries.glob("*.npz"))

    def dictionary_file(self, name: str) -> Path:
        """Return where a learned dictionary of this name is, or is to be."""
        return self.dictionaries / f"{name}.npz"
