"""Scenes in folders: `NAME-A`, `NAME-B`, ... are the frames, `NAME-GT` or `NAME-ref` the reference.

After `NAME-Z` come `NAME-AA`, `NAME-AB`, ..., as in a spreadsheet.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from panfocus.errors import FileError, InputError
from panfocus.io.input_files import find_inputs
from panfocus.metrics.catalogue import source_letters, source_number

_STEM = re.compile(r"(?P<scene>.+)-(?P<part>[A-Z]+|ref)")
_REFERENCES = ("GT", "ref")


@dataclass(frozen=True)
class Scene:
    """Frames of one scene, and the picture that counts as right, if there is one."""

    name: str
    sources: tuple[Path, ...]
    reference: Path | None = None


@dataclass(frozen=True)
class Group:
    """The scenes of one folder: they are averaged together, and apart from other groups."""

    name: str
    scenes: tuple[Scene, ...]
    ignored: tuple[Path, ...] = ()  # images whose names are not those of a scene


def find_groups(folders: Sequence[Path], *, warn: Callable[[str], None] | None = None) -> list[Group]:
    """Find the scenes of every folder; groups are called after what tells the folders apart."""
    places = [folder.resolve() for folder in folders]
    if len(set(places)) < len(places):
        raise InputError("a folder of scenes is given twice")
    for folder in folders:
        if not folder.is_dir():
            raise FileError(f"{folder}: there is no such folder of scenes")
    shared = os.path.commonpath([place.parent for place in places])
    return [
        _find_group(folder, place.relative_to(shared).as_posix(), warn)
        for folder, place in zip(folders, places, strict=True)
    ]


def _find_group(folder: Path, name: str, warn: Callable[[str], None] | None) -> Group:
    scenes: defaultdict[str, defaultdict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    ignored = []
    for path in find_inputs([folder], warn=warn):
        if match := _STEM.fullmatch(path.stem):
            scenes[match["scene"]][match["part"]].append(path)
        else:
            ignored.append(path)
    for scene, parts in list(scenes.items()):
        # Letters in a row are often a word: they name a frame only where single ones do not suffice.
        if "Z" not in parts:
            for part in [part for part in parts if len(part) > 1 and part not in _REFERENCES]:
                ignored += parts.pop(part)
        if not parts:
            del scenes[scene]
    if not scenes:
        raise FileError(f"{folder}: no scene in this folder; frames are named NAME-A, NAME-B, ...")
    # A comparison that quietly leaves scenes out is another comparison: a mistake in a name ends it.
    if mistakes := [f"{scene} {mistake}" for scene in scenes for mistake in _mistakes(scenes[scene])]:
        raise FileError(f"{folder}: {'; '.join(mistakes)}; rename, add or remove files")
    return Group(name, tuple(_scene(scene, parts) for scene, parts in scenes.items()), tuple(ignored))


def _mistakes(parts: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    for part, paths in parts.items():
        if len(paths) > 1:
            yield f"has {len(paths)} files for {part} ({', '.join(path.name for path in paths)})"
    if all(part in parts for part in _REFERENCES):
        yield f"has two references ({' and '.join(_REFERENCES)})"
    letters = _letters(parts)
    expected = [source_letters(i) for i in range(max(2, len(letters)))]
    if missing := [letter for letter in expected if letter not in letters]:
        yield f"has no {' and no '.join(missing)}"


def _scene(name: str, parts: Mapping[str, Sequence[Path]]) -> Scene:
    references = [parts[part][0] for part in _REFERENCES if part in parts]
    return Scene(
        name,
        sources=tuple(parts[letter][0] for letter in _letters(parts)),
        reference=references[0] if references else None,
    )


def _letters(parts: Mapping[str, Sequence[Path]]) -> list[str]:
    return sorted((part for part in parts if part not in _REFERENCES), key=source_number)
