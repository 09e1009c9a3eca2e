"""What is compared: methods with their settings, and folders of results that other programs wrote."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus.compare.scenes import Group, Scene
from panfocus.compare.scoring import RESULT_OVERSHOOT, at_depth_of, check_alike, check_range
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import digest
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_single
from panfocus.methods import get_method, parse_assignments, parse_settings
from panfocus.pipeline import fuse
from panfocus.result import FusionResult
from panfocus.stack import Stack


@dataclass(frozen=True)
class FusionEntry:
    """A method of ours; its name is what the user typed, such as `coupled:w=0.6:stride=2`."""

    name: str
    method: str
    settings: Mapping[str, Any]

    @property
    def files(self) -> Collection[Path]:
        """Files that it reads beside the frames: none."""
        return ()

    @property
    def about(self) -> str:
        """Every setting, also those that were not typed."""
        return ", ".join(f"{name}={value}" for name, value in self._all_settings().items())

    def has(self, group: str, scene: Scene) -> bool:
        """Every scene can be fused."""
        return True

    def check(
        self, group: str, scene: Scene, frame: NDArray[Any], frame_name: str, data_range: float | None
    ) -> None:
        """Do nothing: whatever can be read can be tried."""

    def identity(self, group: str, scene: Scene) -> dict[str, Any]:
        """Return what the result depends on beside the frames: every setting, also those by default."""
        settings = {
            name: value.digest if isinstance(value, CoupledDictionary) else value
            for name, value in self._all_settings().items()
        }
        return {"method": self.method, "settings": settings}

    def result(self, group: str, scene: Scene, stack: Stack) -> FusionResult:
        """Fuse the frames of a scene."""
        return fuse(stack.frames, self.method, **self.settings)

    def _all_settings(self) -> dict[str, Any]:
        return vars(get_method(self.method, **self.settings))


@dataclass(frozen=True)
class ResultsEntry:
    """Results that lie in a folder, each found by the name of its scene."""

    name: str
    pictures: Mapping[tuple[str, str], Path]  # by the names of group and scene

    @property
    def files(self) -> Collection[Path]:
        """Files that it reads beside the frames."""
        return self.pictures.values()

    @property
    def about(self) -> str:
        """Where the results come from, as far as we know."""
        return "results of another program"

    def has(self, group: str, scene: Scene) -> bool:
        """Tell whether the folder holds a result for this scene."""
        return (group, scene.name) in self.pictures

    def check(
        self, group: str, scene: Scene, frame: NDArray[Any], frame_name: str, data_range: float | None
    ) -> None:
        """Refuse a result that is not like the frames."""
        image = self._read(group, scene, frame, frame_name).image
        name = str(self.pictures[group, scene.name])
        check_range(image, name, data_range, overshoot=RESULT_OVERSHOOT)

    def identity(self, group: str, scene: Scene) -> dict[str, Any]:
        """Return what the result depends on: the content of its file."""
        return {"picture": digest(self.pictures[group, scene.name])}

    def result(self, group: str, scene: Scene, stack: Stack) -> FusionResult:
        """Read the result of a scene."""
        return self._read(group, scene, stack.frames[0], stack.names[0])

    def _read(self, group: str, scene: Scene, frame: NDArray[Any], frame_name: str) -> FusionResult:
        path = self.pictures[group, scene.name]
        given = read_single(path)
        image = at_depth_of(frame, given, str(path))
        check_alike(image, str(path), frame, frame_name)
        return FusionResult(image, report={} if image is given else {"scaled_from": given.dtype.name})


Entry = FusionEntry | ResultsEntry


def parse_methods(text: str) -> list[FusionEntry]:
    """Parse `coupled,coupled:w=0.6:stride=2`: methods by commas, each with its settings by colons.

    Neither sign can be part of a setting, such as the path of a dictionary.
    """
    return [_parse_method(typed.strip()) for typed in text.split(",")]


def parse_results(texts: Sequence[str], groups: Sequence[Group]) -> list[ResultsEntry]:
    """Parse `NAME=DIR` and find the result of every scene that has one."""
    return [_parse_results(text, groups) for text in texts]


def file_name(entry: Entry) -> str:
    """Name an entry as files can be named on any system."""
    return re.sub(r"[^\w.=+-]+", "_", entry.name)


def check_names(entries: Sequence[Entry]) -> None:
    """Refuse entries that tables or files could not tell apart."""
    counts = Counter(map(file_name, entries))
    for entry in entries:
        if counts[file_name(entry)] > 1:
            raise InputError(f"{entry.name} is compared with itself; each method needs a name of its own")


def _parse_method(typed: str) -> FusionEntry:
    method, *settings = typed.split(":")
    entry = FusionEntry(typed, method, parse_settings(method, parse_assignments(settings)))
    get_method(method, **entry.settings)  # a wrong setting is refused now, not in a worker
    return entry


def _parse_results(text: str, groups: Sequence[Group]) -> ResultsEntry:
    name, equals, place = text.partition("=")
    if not (name and equals and place):
        raise InputError(f"--results {text}: needed is NAME=DIR, a name for the table and a folder")
    root = Path(place)
    if not root.is_dir():
        raise FileError(f"{root}: there is no such folder of results")
    found: dict[Path, set[str]] = {}
    pictures: dict[tuple[str, str], Path] = {}
    for group in groups:
        # Groups may have scenes of the same name; then their results lie in folders called like the groups.
        folder = root / group.name if (root / group.name).is_dir() else root
        names = {scene.name for scene in group.scenes}
        if both := names & found.setdefault(folder, set()):
            raise FileError(
                f"{folder}: {min(both)} is a scene of two groups; put the results of each group "
                f"into a folder with the group's name, such as {root / group.name}"
            )
        found[folder] |= names
        pictures |= {(group.name, scene): path for scene, path in _match(folder, names).items()}
    if not pictures:
        raise FileError(
            f"{root}: no file here is named after a scene, such as {groups[0].scenes[0].name}.png"
        )
    return ResultsEntry(name, pictures)


def _match(folder: Path, scenes: set[str]) -> dict[str, Path]:
    """Find the result of each scene: SCENE.ext, else the only SCENE-more.ext or SCENE_more.ext."""
    matches: dict[str, list[Path]] = {}
    for path in find_inputs([folder]):
        # Of the scenes lytro-1 and lytro-1-b, the file lytro-1-b-fused belongs to the latter.
        fitting = [scene for scene in scenes if re.match(rf"{re.escape(scene)}([-_]|$)", path.stem)]
        if fitting:
            matches.setdefault(max(fitting, key=len), []).append(path)
    chosen = {}
    for scene, paths in matches.items():
        exact = [path for path in paths if path.stem == scene]
        candidates = exact or paths
        if len(candidates) > 1:
            names = ", ".join(path.name for path in candidates)
            raise FileError(f"{folder}: any of {names} could be the result of {scene}; keep one")
        chosen[scene] = candidates[0]
    return chosen
