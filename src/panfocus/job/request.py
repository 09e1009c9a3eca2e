"""A request for a fusion: inputs, options and output files, as plain data that a report can hold."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from panfocus.errors import FileError, InputError, UsageError

# The map of the method that each output shows.
_MAP_OF = {
    "labels": "labels",
    "confidence": "confidence",
    "depth": "depth",
    "depth_colour": "depth",
    "never_in_focus": "never_in_focus",
    "sweep": "depth",
}


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Output files of a fusion; None for those that are not wanted."""

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
        """Path of the fused image, which every fusion writes."""
        if self.image is None:
            raise UsageError("The output file is missing.", hint="name_output", setting="output")
        return self.image

    def files(self, n_slabs: int = 0) -> dict[str, Path]:
        """Return the files by kind, the report last."""
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
        """Return the same outputs with every path replaced by `place(path)`."""
        every = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        placed: dict[str, Any] = {kind: place(path) for kind, path in every.items() if isinstance(path, Path)}
        return dataclasses.replace(self, applied=tuple(map(place, self.applied)), **placed)

    def maps(self) -> set[str]:
        """Return the maps of the method that the outputs show."""
        return {_MAP_OF[kind] for kind in self.files() if kind in _MAP_OF}

    def check_names(self, n_slabs: int = 0) -> None:
        """Refuse file names whose suffix is no format for the output, and names that occur twice."""
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
                raise InputError(f"{path}: two outputs have this name. Give each output its own.", file=path)
            places.add(place)

    def check_maps(self, method: str, maps: Sequence[str]) -> None:
        """Refuse outputs of maps that the method does not compute."""
        for kind in self.files():
            if kind in _MAP_OF and (needed := _MAP_OF[kind]) not in maps:
                name = needed.replace("_", " ")
                raise InputError(
                    f"The method {method} computes no {name} map. Remove `{kind}`.",
                    setting=kind,
                    method=method,
                )

    def check_steps(self, n_slabs: int, inputs: Iterable[Path], *, force: bool) -> None:
        """Refuse a folder for pictures of the steps that is not empty or holds inputs or other outputs."""
        from panfocus.io.atomic_files import trial_folder

        if self.steps is None:
            return
        for path in (*inputs, *self.files(n_slabs).values()):
            # Compare with and without following symbolic links.
            if self.steps.resolve() in (path.parent.resolve(), path.resolve().parent):
                raise FileError(
                    f"{path} is in {self.steps}. Choose an empty folder for `save_steps`.", file=path
                )
        if self.steps.is_dir() and any(self.steps.iterdir()) and not force:
            raise FileError(f"{self.steps}: the folder is not empty.", hint="overwrite", file=self.steps)
        with trial_folder(self.steps):
            pass

    def names(self, n_slabs: int = 0) -> str:
        """Return a list of the files for people."""
        files = list(map(str, self.files(n_slabs).values()))
        return ", ".join([*files, f"pictures of the steps in {self.steps}"] if self.steps else files)


def _option(default: Any, help_text: str) -> Any:
    """Define an option with the help text that the command line and the page show."""
    return field(default=default, metadata={"help": help_text})


@dataclass(frozen=True, kw_only=True)
class Request:
    """One field for each option of `panfocus fuse` that affects its results.

    Fields are texts, numbers, booleans, paths, and tuples of them, so that a report can hold them.
    """

    inputs: tuple[str, ...]
    outputs: Outputs
    method: str | None = None
    settings: tuple[str, ...] = ()  # NAME=VALUE
    dictionary: Path | None = None
    hot_pixels: str = _option(
        "auto",
        "Repair hot pixels. auto: repair; with two frames, only pixels hot in one of them. "
        "on: with two frames, also pixels hot in both. off: none.",
    )
    align: str = _option(
        "auto",
        "Align frames: auto (the simplest model that fits), off, shift, similarity, affine or homography.",
    )
    reference: str | None = _option(
        None,
        "Frame to which the others are aligned: its file name, or its number from 0; default: the middle.",
    )
    borders: str = _option(
        "full",
        "full: keep the whole reference frame and fill missing borders from neighbouring frames; "
        "crop: keep only what all aligned frames show.",
    )
    exposure: str = _option("auto", "Correct frames of different brightness or colour: auto or off.")
    decide_channels: str = _option(
        "auto",
        "together: one decision for all channels; separate: fuse each channel by itself; auto: separate for "
        "the channels of microscopy files and for 5 or more channels, unless they are colours.",
    )
    refine: bool = _option(False, "Smooth the fused image by total variation.")
    refine_strength: float | None = _option(
        None, "Strength of the smoothing for intensities from 0 to 1; larger is smoother. Turns on `refine`."
    )
    slabs: str | None = _option(
        None,
        "Fuse in overlapping groups of SIZE frames, then fuse the group images. These are saved next to the "
        "output.",
    )  # SIZE:OVERLAP
    retouch: Path | None = None  # strokes
    preview: bool = False
    step: str | None = _option(
        None, "Distance between frames, such as 5um or 0.1mm; depth is written in this unit."
    )
    skip_bad: bool = False
    apply_to: tuple[tuple[str, ...], ...] = ()  # inputs of other sets of frames
    channel: int | None = None  # of microscopy files, from 1
    time: int | None = None  # of microscopy files, from 1
    jpeg_quality: int = 95
    jpeg_subsampling: str = "444"
    bits: int | None = _option(
        None, "Bits per value of the fused image, 8 or 16; default: as the frames. Fewer bits are rounded."
    )
    # These change no pixel.
    max_memory: int | None = _option(
        None, "Maximum memory, such as 2GB; default: about 1 GB, at most a quarter of the free memory."
    )  # bytes
    threads: int | None = None


HELP: dict[str, str] = {
    option.name: option.metadata["help"] for option in dataclasses.fields(Request) if option.metadata
}

# Options that may differ when a run is repeated from its report.
NOT_REPEATED = ("inputs", "outputs", "max_memory", "threads")
