"""What the files of a batch are called, and which stacks can have a folder of their name beside them."""

import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from panfocus.errors import InputError

SUMMARY, TABLE, PAGE = "summary.json", "summary.csv", "index.html"  # in the folder of the batch
RECORD = "batch.json"  # in the folder of every result: what came of a stack
PICTURE, REPORT, THUMBNAIL = "fused", "report.json", "thumbnail.png"  # beside it; the first has many suffixes
MAPS = {
    "labels": "labels.png",
    "confidence": "confidence.tif",
    "depth": "depth.tif",
    "depth_colour": "depth-colour.png",
    "never_in_focus": "never-in-focus.png",
}
_PICTURES = {f"{PICTURE}.{suffix}" for suffix in ("png", "tif", "tiff", "jpg", "jpeg", "webp")}
_OWN = {SUMMARY, TABLE, PAGE, RECORD, REPORT, THUMBNAIL, *_PICTURES, *MAPS.values()}
_BAD_KINDS = {"Cc": "a control character", "Cs": "a byte that is not UTF-8"}  # by Unicode's categories
_NOT_ON_WINDOWS = '\\:*?"<>|'  # some of them lead out of a folder
_UNFINISHED = ".panfocus"  # how the names of locks begin, and of files that are being written


def checked_name(name: str) -> str:
    """Return the name of a stack as that of a folder, A for A/; refuse what cannot be one."""
    if reason := why_no_name(name):
        raise InputError(f"{name!r} is {reason}")
    return PurePosixPath(name).as_posix()


def why_no_name(name: str) -> str | None:
    """Say why the results of a stack cannot go to a folder of its name; None if they can."""
    path = PurePosixPath(name)
    if path.is_absolute() or {"..", "."} & {*name.split("/")} or not path.parts:
        return "no name for a stack: its results go to a folder of that name, below that of the batch"
    for character in name:
        if said := _BAD_KINDS.get(unicodedata.category(character)):
            return f"no name for a stack: it has {said} (U+{ord(character):04X}) in it; rename it"
        if os.name == "nt" and character in _NOT_ON_WINDOWS:
            return f"no name for a stack: Windows has no folders with {character} in their names; rename it"
    for part in path.parts:
        if is_own(part) or part.startswith(_UNFINISHED):
            return f"no name for a stack: files of a batch are called {part}"
    return None


def is_own(name: str) -> bool:
    """Tell whether a file may be a batch's, by its name."""
    return without_case(name) in _OWN


def check_distinct(names: Iterable[str], folder_of: Callable[[str], str]) -> None:
    """Refuse stacks whose results would go to one folder, where one of them would be lost."""
    in_folder: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        in_folder[folder_of(name)].append(name)
    for sharing in in_folder.values():
        if len(sharing) > 1:
            raise InputError(
                f"the results of the stacks {sharing[0]!r} and {sharing[1]!r} would go to one folder; "
                "give one of them another name"
            )


def without_case(name: str) -> str:
    """Return what is equal for names that are one to the file systems of Windows and macOS."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
