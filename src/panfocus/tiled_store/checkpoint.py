"""Checkpoint of a run: the folder OUT.part with the plan, notes on finished tasks, and unfinished stores."""

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import FileError
from panfocus.io.atomic_files import (
    make_folder,
    read_if_exists,
    remove_quietly,
    restore_replaced,
    store_exists,
)
from panfocus.io.checkpoint import read_note, write_note
from panfocus.io.lock import LOCK_NAME, lock_folder
from panfocus.io.tiled_tiff import open_large_image
from panfocus.tiled_store.tile_plan import FusionUnit, axis_lengths

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod
    from panfocus.preprocess.corrections import Corrections

_PLAN = "plan.json"
_RUN_NAME = re.compile("run-[0-9a-f]{16}")


@dataclass(frozen=True)
class TileTask:
    """One task of a stage, as it is sent to a worker: names and numbers."""

    folder: str
    run: str  # name of the run; another one may own the folder by now
    stage: str
    unit: int  # its index; 0 in the stage pyramid
    rows: tuple[int, int]
    cols: tuple[int, int]
    output: str = ""  # in the stage pyramid, as the next
    first_plane: int = 0  # index of the first of several planes of the output

    @property
    def name(self) -> str:
        """Name of the note that the finished task leaves."""
        what = f"{self.output}-{self.first_plane}" if self.output else self.unit
        return f"{self.stage}-{what}-{self.rows[0]}-{self.cols[0]}"

    @property
    def region(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return slice(*self.rows), slice(*self.cols)


class StoreCheckpoint:
    """Checkpoint folder of a run, as its workers see it.

    Everything that a run makes is in its own subfolder. Workers of a cluster finish their tasks even if
    the command was interrupted, and the next run may have other settings: their files must not mix.
    """

    def __init__(self, path: Path, run: str, plan: dict[str, Any]) -> None:
        self.path, self.run, self.plan = path, run, plan

    @property
    def run_folder(self) -> Path:
        """Folder of all files of this run."""
        return self.path / self.run

    @property
    def needed_paths(self) -> tuple[Path, ...]:
        """Paths that every worker must see."""
        return self.path / _PLAN, Path(self.plan["source"])

    @contextmanager
    def while_owned(self) -> Iterator[None]:
        """Raise if another run owns the folder before or after the block, and then discard the output."""
        if self._is_lost():
            raise _lost(self.path)
        error = None
        try:
            yield
        except Exception as caught:
            error = caught
        if self._is_lost():  # the likely cause of an error
            remove_quietly(self.run_folder)
            with suppress(OSError):  # the other run uses the folder
                self.path.rmdir()
            raise _lost(self.path, error) from error
        if error:
            raise error

    def _is_lost(self) -> bool:
        """Return whether another run, or none, owns the folder; False if the disk does not answer."""
        try:
            content = read_if_exists(self.path / _PLAN)
        except OSError:
            return False
        return content is None or json.loads(content).get("run") != self.run

    @cached_property
    def image(self) -> "ZarrImage":
        """The input."""
        return open_large_image(Path(self.plan["source"]))

    @property
    def units(self) -> list[FusionUnit]:
        """Units that are fused independently."""
        return [FusionUnit(time, tuple(channels)) for time, channels in self.plan["units"]]

    def leading_axes(self, output: str) -> list[str]:
        """Return the axes before rows and columns. Maps of channels fused together have none."""
        has_channels = output == "image" or self.plan["decide_channels"] == "separate"
        names = ("t", "c") if has_channels else ("t",)
        return [axis.name for axis in self.image.axes if axis.name in names]

    def planes(self, output: str) -> list[tuple[int, ...]]:
        """Return the indices of all planes of an output, along its leading axes."""
        lengths = axis_lengths(self.units)
        return list(np.ndindex(*(lengths[name] for name in self.leading_axes(output))))

    def frames(self, unit: int) -> "ZarrFrames":
        """Return the slices of a unit."""
        return self.image.frames(self.units[unit].time, self.units[unit].channels)

    def tasks(self, stage: str, unit: int, regions: Iterable[tuple[slice, slice]]) -> list[TileTask]:
        """Return the tasks of a stage, one for each region of a unit."""
        return [
            TileTask(str(self.path), self.run, stage, unit, (r.start, r.stop), (c.start, c.stop))
            for r, c in regions
        ]

    def store(self, output: str) -> Path:
        """Return the path of an unfinished output."""
        return self.run_folder / f"{output}.ome.zarr"

    @cached_property
    def method(self) -> "FusionMethod":
        """The method with its settings, before it has measured any frames."""
        from panfocus.methods import get_method, parse_settings

        name = self.plan["method"]
        return get_method(name, **parse_settings(name, self.plan["settings"]))

    def write_note(self, name: str, content: dict[str, Any]) -> None:
        """Write plain data."""
        write_note(self.run_folder / f"{name}.json", content)

    def read_note(self, name: str) -> Any:
        """Return plain data; None if it was not written."""
        return read_note(self.run_folder / f"{name}.json")

    def write_array(self, name: str, array: Any) -> None:
        """Write an array."""
        from panfocus.io.disk_array import ArrayFolder

        arrays = ArrayFolder(self.run_folder)
        with arrays.create(name, (len(array) + 1, *array.shape[1:]), array.dtype) as stored:
            stored[: len(array)] = array  # one row more, because files of empty arrays are not supported

    def read_array(self, name: str) -> Any:
        """Return an array."""
        from panfocus.io.disk_array import ArrayFolder

        with ArrayFolder(self.run_folder).array(name) as array:
            return array[: len(array) - 1]

    def write_survey(self, unit: int, method: "FusionMethod", corrections: "Corrections") -> None:
        """Write what was measured in the frames of a unit."""
        exposure, hot = corrections.exposure, corrections.hot_pixels
        pixels = [np.empty((0, 4), np.int64)]
        for k, found in enumerate([hot.clusters, hot.fixed, *hot.single] if hot else []):
            pixels.append(np.column_stack([np.full(len(found), k - 2), found]))
        self.write_array(f"hot-{unit}", np.concatenate(pixels).astype(np.int64))
        self.write_note(
            f"survey-{unit}",
            {
                "measured": getattr(method, "measured", None),
                "hot_pixels": hot is not None,
                "exposure": exposure
                and {
                    "gains": exposure.gains.tolist(),
                    "reference": exposure.reference,
                    "curve": vars(exposure.curve),
                },
            },
        )

    def restore_replaced(self) -> None:
        """Undo a commit: remove outputs under temporary names, and bring back the files they replaced."""
        for target, aside in (self.read_note("places") or {}).values():
            restore_replaced(Path(target), Path(aside))

    def remove(self) -> None:
        """Remove the folder after a commit. Stores go first, while notes still show that it is complete."""
        for output in self.plan["outputs"]:
            remove_quietly(self.store(output))
        _clear(self.path)
        (self.path / _PLAN).unlink()
        remove_quietly(self.path)


@lru_cache(maxsize=2)
def open_checkpoint(folder: str, run: str) -> StoreCheckpoint:
    """Return the checkpoint of a task. A worker opens it once."""
    checkpoint = find_checkpoint(Path(folder))
    if not checkpoint or checkpoint.run != run:
        raise _lost(folder)
    return checkpoint


def _lost(path: Path | str, error: Exception | None = None) -> FileError:
    cause = f" ({error})" if error else ""
    return FileError(f"{path}: Another run uses this folder now{cause}. Run one of the two again.", file=path)


@lru_cache(maxsize=2)
def read_survey(checkpoint: StoreCheckpoint, unit: int) -> tuple["FusionMethod", "Corrections"]:
    """Return the method adapted to the frames of a unit, and the corrections of these frames."""
    from panfocus.methods import Surveyor
    from panfocus.preprocess.corrections import Corrections
    from panfocus.preprocess.exposure import Exposure, ToneCurve
    from panfocus.preprocess.hot_pixels import HotPixels

    note = checkpoint.read_note(f"survey-{unit}")
    method = checkpoint.method
    if isinstance(method, Surveyor):
        method = method.from_measurements(note["measured"])
    hot = exposure = None
    if note["hot_pixels"]:
        pixels = checkpoint.read_array(f"hot-{unit}")
        clusters, fixed, *single = (
            pixels[pixels[:, 0] == k, 1:] for k in range(-2, checkpoint.image.length("z"))
        )
        hot = HotPixels(fixed, tuple(single), clusters)
    if fit := note["exposure"]:
        exposure = Exposure(np.array(fit["gains"]), fit["reference"], ToneCurve(**fit["curve"]))
    return method, Corrections(hot, exposure)


@contextmanager
def resume_or_start(
    path: Path, plan: dict[str, Any], notify: Callable[[str], None]
) -> Iterator[StoreCheckpoint]:
    """Lock a checkpoint folder for the duration of the block; resume a run of the same plan, or start one."""
    if path.exists() and not _is_checkpoint(path):
        raise FileError(f"{path}: This path is needed for the checkpoint. Remove it.", file=path)
    make_folder(path)
    with lock_folder(path):
        earlier = find_checkpoint(path)
        if earlier and earlier.plan != plan:
            notify(f"{path} belongs to another input or other settings; starting from the beginning.")
            earlier = None
        yield earlier if earlier and _is_complete(earlier) else _start_run(path, plan)


def find_checkpoint(path: Path) -> StoreCheckpoint | None:
    """Return the checkpoint in a folder; None if there is none."""
    note = read_note(path / _PLAN) or {}
    return StoreCheckpoint(path, note["run"], note["plan"]) if note.keys() >= {"run", "plan"} else None


def _is_checkpoint(path: Path) -> bool:
    """Return whether a folder is empty or a checkpoint. A kill may leave only the lock, or a run's folder."""
    names = [entry.name for entry in path.iterdir()]
    return not names or any(name in (_PLAN, LOCK_NAME) or _RUN_NAME.fullmatch(name) for name in names)


def _start_run(path: Path, plan: dict[str, Any]) -> StoreCheckpoint:
    _clear(path)
    checkpoint = StoreCheckpoint(path, f"run-{secrets.token_hex(8)}", plan)
    make_folder(checkpoint.run_folder)
    write_note(path / _PLAN, {"run": checkpoint.run, "plan": plan})
    return checkpoint


def _is_complete(checkpoint: StoreCheckpoint) -> bool:
    """Return whether everything exists that the notes claim: stores, or outputs that were committed."""
    if ready := checkpoint.read_note("ready"):
        places = checkpoint.read_note("places")
        return all(
            store_exists(Path(waiting)) or Path(places[kind][0]).exists()
            for kind, waiting in ready["waiting"].items()
        )
    outputs = checkpoint.plan["outputs"]
    made = [output for output in outputs if checkpoint.read_note(f"made-{output}") is not None]
    return all(checkpoint.store(output).exists() for output in made)


def _clear(path: Path) -> None:
    """Remove everything but the lock, and write a plan of no run.

    Workers of an older run may still write into its folder; they remove it when they notice.
    """
    write_note(path / _PLAN, {})
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            StoreCheckpoint(path, entry.name, {}).restore_replaced()
            remove_quietly(entry)
        elif entry.name not in (_PLAN, LOCK_NAME):
            entry.unlink()
