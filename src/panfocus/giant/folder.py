"""The folder of a run that is under way, OUT.part: what is to be done, what is done, the stores so far."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import FileError
from panfocus.giant.plan import Unit

if TYPE_CHECKING:
    from panfocus.execute import Corrections
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod


_PLAN = "plan.json"


@dataclass(frozen=True)
class Task:
    """Part of a stage's work, as workers are sent it: names and numbers."""

    folder: str
    plan_id: str  # should the folder have had another plan before
    stage: str
    unit: int
    rows: tuple[int, int]
    cols: tuple[int, int]
    output: str = ""

    @property
    def name(self) -> str:
        """What it is called among those that are done."""
        return f"{self.stage}-{self.unit}{self.output and '-' + self.output}-{self.rows[0]}-{self.cols[0]}"

    @property
    def region(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return slice(*self.rows), slice(*self.cols)


class RunFolder:
    """A run's folder as the workers see it; what they read is written before they begin."""

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        self.path, self.plan = path, plan

    @property
    def plan_id(self) -> str:
        """Name of the plan: another for another input or another setting."""
        return hashlib.sha256(json.dumps(self.plan, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def needs(self) -> tuple[Path, ...]:
        """What every worker has to see."""
        return self.path / "plan.json", Path(self.plan["source"])

    @property
    def decisions(self) -> str:
        """Whether channels share a decision."""
        return str(self.plan["decisions"])

    @cached_property
    def image(self) -> "ZarrImage":
        """The input."""
        from panfocus.io.tiled_tiff import read_giant

        return read_giant(Path(self.plan["source"]))

    @property
    def units(self) -> list[Unit]:
        """What is decided, each by itself."""
        return [Unit(time, tuple(channels)) for time, channels in self.plan["units"]]

    def frames(self, unit: int) -> "ZarrFrames":
        """Return the slices of a unit."""
        return self.image.frames(self.units[unit].time, self.units[unit].channels)

    def store(self, output: str) -> Path:
        """Return where an output is made."""
        return self.path / f"{output}.ome.zarr"

    @cached_property
    def method(self) -> "FusionMethod":
        """The method with its settings."""
        from panfocus.methods import get_method, parse_settings

        name = self.plan["method"]
        return get_method(name, **parse_settings(name, self.plan["settings"]))

    def surveyed(self, unit: int) -> tuple["FusionMethod", "Corrections"]:
        """Return the method as it is for the frames of a unit, and what these are corrected by."""
        return _surveyed(self, unit)

    def keep_survey(self, unit: int, method: "FusionMethod", corrections: "Corrections") -> None:
        """Write down what was measured of a unit."""
        exposure, hot = corrections.exposure, corrections.hot_pixels
        places = [np.empty((0, 4), np.int64)]
        for k, found in enumerate([hot.fixed, *hot.single] if hot else []):
            places.append(np.column_stack([np.full(len(found), k - 1), found]))
        self.keep_array(f"hot-{unit}", np.concatenate(places).astype(np.int64))
        self.keep(
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
                "report": corrections.report(),
            },
        )

    def keep(self, name: str, content: dict[str, Any]) -> None:
        """Write plain data."""
        from panfocus.io.files import write_files
        from panfocus.io.write import encode_json

        write_files({self.path / f"{name}.json": encode_json(content)}, force=True)

    def kept(self, name: str) -> Any:
        """Read plain data again; None if there is none."""
        from panfocus.io.files import read_json

        path = self.path / f"{name}.json"
        return read_json(path) if path.exists() else None

    def empty(self) -> None:
        """Remove all but the lock and a plan of nothing: what a kill leaves beside it counts for nothing."""
        from panfocus.io.lock import LOCK
        from panfocus.io.whole_folders import remove_folder

        self.keep("plan", {})
        for entry in self.path.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                remove_folder(entry)
            elif entry.name not in (_PLAN, LOCK):
                entry.unlink()

    def remove(self) -> None:
        """Remove the folder, when all has its place."""
        from panfocus.io.whole_folders import remove_folder

        self.empty()
        (self.path / _PLAN).unlink()
        remove_folder(self.path)

    def keep_array(self, name: str, array: Any) -> None:
        """Write an array."""
        from panfocus.io.kept_arrays import KeptArrays

        with KeptArrays(self.path).create(name, (len(array) + 1, *array.shape[1:]), array.dtype) as room:
            room[: len(array)] = array  # and one row more: there are no files of none

    def kept_array(self, name: str) -> Any:
        """Read an array again."""
        from panfocus.io.kept_arrays import KeptArrays

        with KeptArrays(self.path).array(name) as array:
            return array[: len(array) - 1]


@lru_cache(maxsize=2)
def of_task(folder: str, plan_id: str) -> RunFolder:
    """Open the folder that a task names; a worker does so once."""
    from panfocus.io.files import read_json

    found = RunFolder(Path(folder), read_json(Path(folder) / _PLAN))
    if found.plan_id != plan_id:
        raise FileError(f"{folder}: another run has taken this folder; start that run again, or this one")
    return found


@lru_cache(maxsize=2)
def _surveyed(folder: RunFolder, unit: int) -> tuple["FusionMethod", "Corrections"]:
    from panfocus.defects import HotPixels
    from panfocus.execute import Corrections
    from panfocus.exposure import Curve, Exposure
    from panfocus.methods import Surveyor

    kept = folder.kept(f"survey-{unit}")
    method = folder.method
    if isinstance(method, Surveyor):
        method = method.surveyed(kept["measured"])
    hot = exposure = None
    if kept["hot_pixels"]:
        places = folder.kept_array(f"hot-{unit}")
        of = [places[places[:, 0] == k, 1:] for k in range(-1, folder.image.length("z"))]
        hot = HotPixels(of[0], tuple(of[1:]))
    if told := kept["exposure"]:
        exposure = Exposure(np.array(told["gains"]), told["reference"], Curve(**told["curve"]))
    return method, Corrections(hot, exposure)


@contextmanager
def taken(path: Path, plan: dict[str, Any], say: Any) -> Iterator[RunFolder]:
    """Have the folder of a run to oneself: that of before, if it was for the same plan, or a new one."""
    from panfocus.io.files import make_folder
    from panfocus.io.lock import LOCK, locked

    ours = any((path / name).is_file() for name in (_PLAN, LOCK))  # a kill may have left only the lock
    if path.exists() and not ours and any(path.iterdir()):
        raise FileError(f"{path} is in the way, where the run keeps what it has done; remove it")
    make_folder(path)
    with locked(path):
        folder = RunFolder(path, plan)
        before = folder.kept("plan")
        made = [output for output in plan["outputs"] if folder.kept(f"made-{output}") is not None]
        if not all(folder.store(output).exists() for output in made):
            before = None  # it was ended while its stores were put in place
        if before and before != plan:
            say(f"{path} is of another input, or other settings: begins anew")
        if before != plan:
            folder.empty()
            folder.keep("plan", plan)
        yield folder
