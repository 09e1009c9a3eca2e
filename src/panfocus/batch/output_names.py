"""Names in the output folder of a batch: files that it writes, and stack names that it allows."""

import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from panfocus.errors import InputError

SUMMARY, TABLE, PAGE = "summary.json", "summary.csv", "index.html"  # in the folder of the batch
RECORD = "batch.json"  # checkpoint, in the folder of each stack
PICTURE, REPORT, THUMBNAIL = "fused", "report.json", "thumbnail.png"  # there too; the picture's suffix varies
MAP_FILES = {  # there too, by kind
    "labels": "labels.png",
    "confidence": "confidence.tif",
    "depth": "depth.tif",
    "depth_colour": "depth-colour.png",
    "never_in_focus": "never-in-focus.png",
}
_PICTURES = {f"{PICTURE}.{suffix}" for suffix in ("png", "tif", "tiff", "jpg", "jpeg", "webp")}
_RESERVED = {SUMMARY, TABLE, PAGE, RECORD, REPORT, THUMBNAIL, *_PICTURES, *MAP_FILES.values()}
_BAD_CATEGORIES = {"Cc": "a control character", "Cs": "a byte that is not UTF-8"}  # of Unicode
_NOT_ON_WINDOWS = '\\:*?"<>|'  # some of them would lead out of the folder
_TEMPORARY = ".panfocus"  # prefix of locks and of files that are being written


def normalise_name(name: str) -> str:
    """Return the name of a stack without superfluous slashes: A for A/."""
    return PurePosixPath(name).as_posix()


def find_name_problem(name: str) -> str | None:
    """Return why the folder of a stack cannot have its name; None if it can."""
    path = PurePosixPath(name)
    if path.is_absolute() or {"..", "."} & {*name.split("/")} or not path.parts:
        return "The stack name is not a path below the output folder."
    for character in name:
        if problem := _BAD_CATEGORIES.get(unicodedata.category(character)):
            return f"The stack name contains {problem} (U+{ord(character):04X}). Rename the stack."
        if os.name == "nt" and character in _NOT_ON_WINDOWS:
            return f"The stack name contains {character}, which Windows does not allow. Rename the stack."
    for part in path.parts:
        if is_reserved(part) or part.startswith(_TEMPORARY):
            return f"The stack name {part} is reserved."
    return None


def is_reserved(name: str) -> bool:
    """Return whether a batch may write a file of this name."""
    return fold_case(name) in _RESERVED


def check_distinct(names: Iterable[str], folder_of: Callable[[str], str]) -> None:
    """Raise if the results of two stacks would go to the same folder."""
    by_folder: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        by_folder[folder_of(name)].append(name)
    for shared in by_folder.values():
        if len(shared) > 1:
            raise InputError(
                f"The stacks {shared[0]!r} and {shared[1]!r} would have the same output folder. Rename one.",
                stacks=shared,
            )


def fold_case(name: str) -> str:
    """Return a key that is equal for names that Windows and macOS take for the same file."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
