"""Entries of a comparison: methods with settings, and folders of results of other programs."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus.compare.scenes import Group, Scene
from panfocus.compare.scoring import RESULT_OVERSHOOT, check_same_format, check_value_range, match_bit_depth
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import digest
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_single
from panfocus.methods import get_method, parse_assignments, parse_settings
from panfocus.pipeline import fuse
from panfocus.result import FusionResult
from panfocus.stack import Stack
from panfocus.tiling.tiled import layers_of


@dataclass(frozen=True)
class FusionEntry:
    """A panfocus method. The name is the typed text, such as `coupled:w=0.6:stride=2`."""

    name: str
    method: str
    settings: Mapping[str, Any]

    @property
    def files(self) -> Collection[Path]:
        """Files read in addition to the frames: none."""
        return ()

    @property
    def about(self) -> str:
        """All settings, including defaults."""
        return ", ".join(f"{name}={value}" for name, value in self._all_settings().items())

    def has(self, scene: Scene) -> bool:
        """Return True: every scene can be fused."""
        return True

    def check(self, scene: Scene, frame: NDArray[Any], data_range: float | None) -> None:
        """Do nothing: all readable frames can be fused."""

    def identity(self, scene: Scene) -> dict[str, Any]:
        """Return everything that determines the result besides the frames."""
        settings = {
            name: value.digest if isinstance(value, CoupledDictionary) else value
            for name, value in self._all_settings().items()
        }
        return {"method": self.method, "settings": settings}

    def result(self, scene: Scene, stack: Stack) -> FusionResult:
        """Fuse the frames of a scene; if its depth is known, also return the weights of the frames."""
        method = get_method(self.method, **self.settings)
        votes = {"votes"}.intersection(layers_of(method)) if scene.truth else ()
        return fuse(stack.frames, method, maps=(*method.maps, *votes))

    def _all_settings(self) -> dict[str, Any]:
        return vars(get_method(self.method, **self.settings))


@dataclass(frozen=True)
class ResultsEntry:
    """Results of another program in a folder, found by the names of the scenes."""

    name: str
    pictures: Mapping[tuple[str, str], Path]  # by group and scene

    @property
    def files(self) -> Collection[Path]:
        """Files read in addition to the frames."""
        return self.pictures.values()

    @property
    def about(self) -> str:
        """Description for tables."""
        return "results of another program"

    def has(self, scene: Scene) -> bool:
        """Return whether the folder has a result for this scene."""
        return (scene.group, scene.name) in self.pictures

    def check(self, scene: Scene, frame: NDArray[Any], data_range: float | None) -> None:
        """Raise if the result does not match the frames."""
        image = self._read(scene, frame).image
        check_value_range(image, str(self._path(scene)), data_range, overshoot=RESULT_OVERSHOOT)

    def identity(self, scene: Scene) -> dict[str, Any]:
        """Return everything that determines the result: the content of its file."""
        return {"picture": digest(self._path(scene))}

    def result(self, scene: Scene, stack: Stack) -> FusionResult:
        """Read the result of a scene."""
        return self._read(scene, stack.frames[0])

    def _path(self, scene: Scene) -> Path:
        return self.pictures[scene.group, scene.name]

    def _read(self, scene: Scene, frame: NDArray[Any]) -> FusionResult:
        name = str(self._path(scene))
        original = read_single(self._path(scene))
        image = match_bit_depth(frame, original, name)
        check_same_format(image, name, frame, str(scene.sources[0]))
        return FusionResult(image, report={} if image is original else {"scaled_from": original.dtype.name})


Entry = FusionEntry | ResultsEntry


def parse_entries(methods: str | None, results: Sequence[str], groups: Sequence[Group]) -> list[Entry]:
    """Return the methods and the results of other programs to compare; see the two functions below."""
    entries: list[Entry] = [*(parse_methods(methods) if methods else [])]
    entries += parse_results(results, groups)
    if not entries:
        raise InputError("Nothing to compare. Give `methods`, `results`, or both.")
    check_names(entries)
    return entries


def parse_methods(text: str) -> list[FusionEntry]:
    """Parse `coupled,coupled:w=0.6:stride=2`: commas separate methods, colons their settings.

    A setting, such as the path of a dictionary, cannot contain either.
    """
    entries = []
    for typed in map(str.strip, text.split(",")):
        method, *settings = typed.split(":")
        entry = FusionEntry(typed, method, parse_settings(method, parse_assignments(settings)))
        get_method(method, **entry.settings)  # raises for a wrong setting, before the workers start
        entries.append(entry)
    return entries


def parse_results(texts: Sequence[str], groups: Sequence[Group]) -> list[ResultsEntry]:
    """Parse `NAME=DIR` and find the results of the scenes."""
    return [_parse_results(text, groups) for text in texts]


def file_name(entry: Entry) -> str:
    """Return a folder name for an entry that is valid on every system."""
    return re.sub(r"[^\w.=+-]+", "_", entry.name)


def check_names(entries: Sequence[Entry]) -> None:
    """Raise if two entries have the same name or folder."""
    counts = Counter(map(file_name, entries))
    for entry in entries:
        if counts[file_name(entry)] > 1:
            raise InputError(f"The method {entry.name} is given twice.", setting="methods", got=entry.name)


def _parse_results(text: str, groups: Sequence[Group]) -> ResultsEntry:
    name, equals, place = text.partition("=")
    if not (name and equals and place):
        raise InputError(
            f"`results` must be NAME=DIR, a name and a folder, got {text!r}.", setting="results", got=text
        )
    root = Path(place)
    if not root.is_dir():
        raise FileError(f"{root}: No such folder.", file=root)
    matched: dict[Path, set[str]] = {}
    pictures: dict[tuple[str, str], Path] = {}
    for group in groups:
        # Groups may have scenes of the same name; then their results are in folders named like the groups.
        folder = root / group.name if (root / group.name).is_dir() else root
        names = {scene.name for scene in group.scenes}
        if both := names & matched.setdefault(folder, set()):
            raise FileError(
                f"{folder}: The scene {min(both)} is in two groups. Put the results of each group into a "
                f"folder with the name of the group, such as {root / group.name}.",
                file=folder,
                scene=min(both),
            )
        matched[folder] |= names
        pictures |= {(group.name, scene): path for scene, path in _match(folder, names).items()}
    if not pictures:
        raise FileError(
            f"{root}: No file has the name of a scene, such as {groups[0].scenes[0].name}.png.", file=root
        )
    return ResultsEntry(name, pictures)


def _match(folder: Path, scenes: set[str]) -> dict[str, Path]:
    """Find the result of each scene: SCENE.ext, or a single SCENE-more.ext or SCENE_more.ext."""
    matches: dict[str, list[Path]] = {}
    for path in find_inputs([folder]):
        # Of the scenes lytro-1 and lytro-1-b, the file lytro-1-b-fused belongs to the latter.
        fitting = [scene for scene in scenes if re.match(rf"{re.escape(scene)}([-_]|$)", path.stem)]
        if fitting:
            matches.setdefault(max(fitting, key=len), []).append(path)
    chosen = {}
    for scene, paths in matches.items():
        candidates = [path for path in paths if path.stem == scene] or paths
        if len(candidates) > 1:
            names = ", ".join(path.name for path in candidates)
            raise FileError(
                f"{folder}: Several files match the scene {scene}: {names}.", file=folder, scene=scene
            )
        chosen[scene] = candidates[0]
    return chosen
