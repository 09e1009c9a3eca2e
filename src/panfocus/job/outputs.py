"""The files that a fusion writes: their names, checked beforehand, and what is needed for them."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panfocus.errors import FileError, InputError

# Which map of the method each output shows, and how to say that a method has none.
_MAP_OF = {
    "labels": "labels",
    "confidence": "confidence",
    "depth": "depth",
    "depth_colour": "depth",
    "never_in_focus": "never_in_focus",
    "sweep": "depth",
}
_WORDS = {"never_in_focus": "map of what is never in focus"}


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where the results of a fusion go; None for what is not wanted."""

    image: Path | None = None
    labels: Path | None = None
    confidence: Path | None = None
    depth: Path | None = None
    depth_colour: Path | None = None
    never_in_focus: Path | None = None
    sweep: Path | None = None
    applied: tuple[Path, ...] = ()  # one for each set of other frames
    steps: Path | None = None  # a folder
    report: Path | None = None

    @property
    def picture(self) -> Path:
        """Name of the fused picture, which every fusion has."""
        if self.image is None:
            raise InputError("Missing option '--output' / '-o'")
        return self.image

    def files(self, n_slabs: int = 0) -> dict[str, Path]:
        """Return the files that are wanted, by kind; the report is the last."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        single = {kind: path for kind, path in every.items() if isinstance(path, Path) and kind != "steps"}
        others = {f"applied {i}": path for i, path in enumerate(self.applied, start=1)}
        digits = max(2, len(str(n_slabs)))
        slabs = {
            f"slab {i}": self.picture.with_name(f"{self.picture.stem}-slab-{i:0{digits}}.tif")
            for i in range(1, n_slabs + 1)
        }
        report = {"report": single.pop("report")} if self.report else {}
        return single | slabs | others | report

    def at(self, place: Callable[[Path], Path]) -> "Outputs":
        """Return the same files at other places."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        placed: dict[str, Any] = {kind: place(path) for kind, path in every.items() if isinstance(path, Path)}
        return dataclasses.replace(self, applied=tuple(map(place, self.applied)), **placed)

    def maps(self) -> set[str]:
        """Return which maps of the method are wanted."""
        return {_MAP_OF[kind] for kind in self.files() if kind in _MAP_OF}

    def check_names(self, n_slabs: int = 0) -> None:
        """Refuse names that do not say a format which can hold the result, and names given twice."""
        from panfocus.io.atomic_files import check_suffix
        from panfocus.io.encode import (
            ANIMATION_SUFFIXES,
            CONFIDENCE_SUFFIXES,
            DEPTH_SUFFIXES,
            IMAGE_SUFFIXES,
            LABEL_SUFFIXES,
            MASK_SUFFIXES,
        )

        suffixes = {
            "labels": LABEL_SUFFIXES,
            "confidence": CONFIDENCE_SUFFIXES,
            "depth": DEPTH_SUFFIXES,
            "depth_colour": (".png",),
            "never_in_focus": MASK_SUFFIXES,
            "sweep": ANIMATION_SUFFIXES,
            "report": (".json",),
        }
        files = self.files(n_slabs)
        check_suffix(self.picture, IMAGE_SUFFIXES)
        for kind, path in files.items():
            check_suffix(path, suffixes.get(kind, IMAGE_SUFFIXES))
        places: set[str] = set()
        for path in files.values():
            place = os.path.realpath(path)
            if place in places:
                raise InputError(f"{path}: two outputs have the same name; give each its own")
            places.add(place)

    def check_maps(self, method: str, maps: Sequence[str]) -> None:
        """Refuse a map that the method does not give, before it has worked for minutes."""
        for kind in self.files():
            if kind in _MAP_OF and (needed := _MAP_OF[kind]) not in maps:
                option = f"--{kind.replace('_', '-')}"
                raise InputError(
                    f"the method {method} gives no {_WORDS.get(needed, needed)}; leave {option} out"
                )

    def check_steps(self, n_slabs: int, inputs: Iterable[Path], *, force: bool) -> None:
        """Refuse a folder for pictures of the steps that cannot be had, or holds something already.

        Inputs and other outputs in it might have the name of a step, and be replaced.
        """
        from panfocus.io.atomic_files import trial_folder

        if self.steps is None:
            return
        for path in (*inputs, *self.files(n_slabs).values()):
            if self.steps.resolve() in (
                path.parent.resolve(),
                path.resolve().parent,
            ):  # links there, or from it
                raise FileError(f"{path} is in {self.steps}; give --save-steps a folder of its own")
        if self.steps.is_dir() and any(self.steps.iterdir()) and not force:
            raise FileError(
                f"{self.steps} holds files already; choose another folder, or overwrite with --force"
            )
        with trial_folder(self.steps):
            pass

    def names(self, n_slabs: int = 0) -> str:
        """List them for people."""
        named = list(map(str, self.files(n_slabs).values()))
        return ", ".join([*named, f"pictures of the steps in {self.steps}"] if self.steps else named)
