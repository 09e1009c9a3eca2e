"""Scenes in folders: frames `NAME-A`, `NAME-B`, ... and the reference `NAME-GT` or `NAME-ref`.

After `NAME-Z` come `NAME-AA`, `NAME-AB`, ..., as in a spreadsheet. `truth/NAME.npz` has the true depth.
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
    """Frames of one scene, and its reference and file of the true depth if there are any."""

    name: str
    sources: tuple[Path, ...]
    reference: Path | None = None
    group: str = ""
    truth: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The sources, and the reference and the true depth if there are any."""
        return (*self.sources, *filter(None, (self.reference, self.truth)))


@dataclass(frozen=True)
class Group:
    """The scenes of one folder, which are averaged together."""

    name: str
    scenes: tuple[Scene, ...]
    ignored: tuple[Path, ...] = ()  # images that belong to no scene


def find_groups(folders: Sequence[Path], *, warn: Callable[[str], None] | None = None) -> list[Group]:
    """Find the scenes of every folder. A group is named by the part of its path that differs."""
    places = [folder.resolve() for folder in folders]
    if len(set(places)) < len(places):
        raise InputError("A folder of scenes is given twice.", setting="folders")
    for folder in folders:
        if not folder.is_dir():
            raise FileError(f"{folder}: No such folder.", file=folder)
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
        # Several letters are often a word. They name a frame only after the single letters are used up.
        if "Z" not in parts:
            for part in [part for part in parts if len(part) > 1 and part not in _REFERENCES]:
                ignored += parts.pop(part)
        if not parts:
            del scenes[scene]
    if not scenes:
        raise FileError(
            f"{folder}: No scene in this folder. Frames must be named NAME-A, NAME-B, and so on.", file=folder
        )
    # An incomplete scene is an error: leaving it out silently would change the comparison.
    if mistakes := [
        f"Scene {scene} {mistake}" for scene in scenes for mistake in _find_mistakes(scenes[scene])
    ]:
        raise FileError(f"{folder}: {'; '.join(mistakes)}.", file=folder, mistakes=tuple(mistakes))
    return Group(name, tuple(_make_scene(*item, name, folder) for item in scenes.items()), tuple(ignored))


def _find_mistakes(parts: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    for part, paths in parts.items():
        if len(paths) > 1:
            yield f"has {len(paths)} files for {part} ({', '.join(path.name for path in paths)})"
    if all(part in parts for part in _REFERENCES):
        yield f"has two references ({' and '.join(_REFERENCES)})"
    letters = _frame_letters(parts)
    expected = [source_letters(i) for i in range(max(2, len(letters)))]
    if missing := [letter for letter in expected if letter not in letters]:
        yield f"has no {' and no '.join(missing)}"


def _make_scene(name: str, parts: Mapping[str, Sequence[Path]], group: str, folder: Path) -> Scene:
    references = [parts[part][0] for part in _REFERENCES if part in parts]
    truth = folder / "truth" / f"{name}.npz"
    return Scene(
        name,
        sources=tuple(parts[letter][0] for letter in _frame_letters(parts)),
        reference=references[0] if references else None,
        group=group,
        truth=truth if os.path.lexists(truth) else None,  # a broken link is an error when it is read
    )


def _frame_letters(parts: Mapping[str, Sequence[Path]]) -> list[str]:
    return sorted((part for part in parts if part not in _REFERENCES), key=source_number)
