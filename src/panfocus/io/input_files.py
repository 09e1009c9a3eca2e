"""From what the user names (files, folders, patterns) to files of images."""

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from panfocus.errors import FileError, InputError
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.jpeg_webp import JPEG_SIGNATURE
from panfocus.io.png import PNG_SIGNATURE
from panfocus.io.raw import RAW_SUFFIXES
from panfocus.io.tiff import TIFF_SIGNATURES

# What a folder is searched for; a file that the user names is judged by its content alone.
INPUT_SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".png", ".tif", ".tiff", ".webp"),
    *RAW_SUFFIXES,
)
# Names of pictures that are not read: to leave them out of a stack is to be said.
_OTHER_PICTURES = (
    *(".bmp", ".dib", ".gif", ".tga", ".heic", ".heif", ".hif", ".avif", ".jp2", ".j2k", ".jpx", ".jxl"),
    *(".exr", ".hdr", ".psd", ".psb", ".xcf", ".pbm", ".pgm", ".ppm", ".pnm", ".pfm", ".sgi", ".mpo"),
    *(".czi", ".nd2", ".lif", ".lsm", ".stk", ".oib", ".oif", ".vsi", ".dcm", ".fits"),
)
_MOST_NAMED = 5


def find_inputs(inputs: Sequence[str | Path], *, warn: Callable[[str], None] | None = None) -> list[Path]:
    """List the files meant by paths of files, folders and patterns; folders and patterns in natural order.

    `warn` is told, in a line for each of these, of pictures in it that panfocus does not read.
    """
    if "" in inputs:  # a variable of the shell that was never set; it would mean the current folder
        raise InputError("the name of an input is empty; a dot means the current folder")
    return [path for given in map(Path, inputs) for path in _expand(given, warn)]


def kind_of(head: bytes) -> str | None:
    """Tell the format of an image by its first 12 bytes; None if it is none that is read."""
    if head.startswith(TIFF_SIGNATURES):
        return "TIFF"
    if head.startswith(PNG_SIGNATURE):
        return "PNG"
    if head.startswith(JPEG_SIGNATURE):
        return "JPEG"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    return None


def sort_naturally(paths: Iterable[Path]) -> list[Path]:
    """Sort as people do: file2 before file10."""
    return sorted(paths, key=lambda path: _natural(str(path)))


def _expand(given: Path, warn: Callable[[str], None] | None) -> list[Path]:
    with add_path_to_errors(given):
        if given.is_dir():
            inside, none = list(given.iterdir()), "no image in this folder (JPEG, PNG, TIFF, WebP or RAW)"
        elif not given.exists() and glob.has_magic(str(given)):
            # What is there by that very name is no pattern, even with brackets in it.
            folder = next(parent for parent in given.parents if parent.exists())
            pattern = str(given.relative_to(folder))
            matches = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207  # Path.glob: no files by **
            inside, none = [folder / match for match in matches], "no image matches this pattern"
        else:
            return [given]
        visible = sort_naturally(path for path in inside if not path.name.startswith("."))
        # Links that lead nowhere and pipes are among them: whoever opens them says so.
        found = [path for path in visible if path.suffix.lower() in INPUT_SUFFIXES and not path.is_dir()]
        if found and not warn:
            return found
        left = find_unsupported(visible)
        if not found:
            raise FileError(none + (f"; not read: {_named(left)}" if left else ""))
        if left and warn:
            warn(describe_skipped(left, given))
        return found


def find_unsupported(paths: Iterable[Path]) -> list[Path]:
    """Return those that are pictures, though of no kind that folders are searched for."""
    return [path for path in paths if _is_other_picture(path)]


def describe_skipped(pictures: Sequence[Path], where: Path) -> str:
    """Say that pictures are not read that are there."""
    count = "1 picture" if len(pictures) == 1 else f"{len(pictures)} pictures"
    return f"left out: {count} in {where} of no kind that panfocus reads there ({_named(pictures)})"


def _is_other_picture(path: Path) -> bool:
    """Tell whether a file is a picture, by its name or its content, though not one that is looked for."""
    suffix = path.suffix.lower()
    if suffix in INPUT_SUFFIXES or not path.is_file():
        return False
    if suffix in _OTHER_PICTURES:
        return True
    with suppress(OSError), path.open("rb") as file:
        return kind_of(file.read(12)) is not None
    return False


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths[:_MOST_NAMED]) + (
        ", ..." if len(paths) > _MOST_NAMED else ""
    )


def _natural(text: str) -> list[tuple[int, str]]:
    """Sort key: digits count as numbers, other characters without case; the text itself breaks ties."""
    parts = [
        (int(part), "") if part.isdecimal() else (-1, part.casefold()) for part in re.split(r"(\d+)", text)
    ]
    return [*parts, (-1, text)]
