"""The folder of a run that is under way, OUT.part: what is to be done, what is done, the stores so far."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import FileError
from panfocus.tiled_store.tile_plan import Unit

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames, ZarrImage
    from panfocus.methods import FusionMethod
    from panfocus.tiling import Corrections


_PLAN = "plan.json"
_RUN = re.compile("run-[0-9a-f]{16}")


@dataclass(frozen=True)
class Task:
    """Part of a stage's work, as workers are sent it: names and numbers."""

    folder: str
    run: str  # should the folder be another's meanwhile
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
    """A run's folder as the workers see it; what they read is written before they begin.

    All that a run makes lies in a room inside it, which no other run has. Workers on a cluster end what they
    are at when its client has gone, and the next run may be of other settings: what they write then must not
    come among its own.
    """

    def __init__(self, path: Path, run: str, plan: dict[str, Any]) -> None:
        self.path, self.run, self.plan = path, run, plan

    @property
    def room(self) -> Path:
        """Where all is that this run makes."""
        return self.path / self.run

    @property
    def said_kept(self) -> str:
        """What there is to say of the folder when the run has ended early."""
        return f"{self.path} keeps what is done, and the same command goes on from there"

    @property
    def needs(self) -> tuple[Path, ...]:
        """What every worker has to see."""
        return self.path / _PLAN, Path(self.plan["source"])

    @contextmanager
    def unless_over(self) -> Iterator[None]:
        """Refuse work for a run that is over, or was when the work was done; then nothing stays of it."""
        if self._is_over():
            raise _over(self.path)
        try:
            yield
        except Exception as error:
            if self._is_over():  # most likely it failed for that
                self._leave()
                raise _over(self.path, error) from error
            raise
        if self._is_over():
            self._leave()
            raise _over(self.path)

    def _leave(self) -> None:
        """Remove what this run has made in a folder that it has no more."""
        from panfocus.io.atomic_directory import remove_quietly

        remove_quietly(self.room)
        with suppress(OSError):  # another run has it
            self.path.rmdir()

    def _is_over(self) -> bool:
        """Whether another run has the folder, or none; a disk that does not answer tells neither."""
        from panfocus.io.atomic_files import read_if_exists

        try:
            content = read_if_exists(self.path / _PLAN)
        except OSError:
            return False
        return content is None or json.loads(content).get("run") != self.run

    @property
    def decisions(self) -> str:
        """Whether channels share a decision."""
        return str(self.plan["decisions"])

    @cached_property
    def image(self) -> "ZarrImage":
        """The input."""
        from panfocus.io.tiled_tiff import open_large_image

        return open_large_image(Path(self.plan["source"]))

    @property
    def units(self) -> list[Unit]:
        """What is decided, each by itself."""
        return [Unit(time, tuple(channels)) for time, channels in self.plan["units"]]

    def frames(self, unit: int) -> "ZarrFrames":
        """Return the slices of a unit."""
        return self.image.frames(self.units[unit].time, self.units[unit].channels)

    def tasks(
        self, stage: str, unit: int, regions: Iterable[tuple[slice, slice]], output: str = ""
    ) -> list[Task]:
        """Return the tasks of a stage, one for each region of a unit."""
        return [
            Task(str(self.path), self.run, stage, unit, (r.start, r.stop), (c.start, c.stop), output)
            for r, c in regions
        ]

    def store(self, output: str) -> Path:
        """Return where an output is made."""
        return self.room / f"{output}.ome.zarr"

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
            },
        )

    def keep(self, name: str, content: dict[str, Any]) -> None:
        """Write plain data."""
        from panfocus.io.atomic_files import write_files
        from panfocus.io.encode import encode_json

        write_files({self.room / f"{name}.json": encode_json(content)}, force=True)

    def kept(self, name: str) -> Any:
        """Read plain data again; None if there is none."""
        from panfocus.io.atomic_files import read_json

        path = self.room / f"{name}.json"
        return read_json(path) if path.exists() else None

    def restore_replaced(self) -> None:
        """Remove what waits for its place beside that; what it was to replace is there again."""
        from panfocus.io.atomic_directory import restore_replaced

        for target, aside in (self.kept("places") or {}).values():
            restore_replaced(Path(target), Path(aside))

    def remove(self) -> None:
        """Remove the folder, when all has its place; stores first, while the notes still tell that it has."""
        from panfocus.io.atomic_directory import remove_quietly

        for output in self.plan["outputs"]:
            remove_quietly(self.store(output))
        _empty(self.path)
        (self.path / _PLAN).unlink()
        remove_quietly(self.path)

    def keep_array(self, name: str, array: Any) -> None:
        """Write an array."""
        from panfocus.io.disk_array import ArrayFolder

        with ArrayFolder(self.room).create(name, (len(array) + 1, *array.shape[1:]), array.dtype) as room:
            room[: len(array)] = array  # and one row more: there are no files of none

    def kept_array(self, name: str) -> Any:
        """Read an array again."""
        from panfocus.io.disk_array import ArrayFolder

        with ArrayFolder(self.room).array(name) as array:
            return array[: len(array) - 1]


@lru_cache(maxsize=2)
def of_task(folder: str, run: str) -> RunFolder:
    """Open the folder that a task names; a worker does so once."""
    noted = _noted(Path(folder))
    if noted.get("run") != run:
        raise _over(folder)
    return RunFolder(Path(folder), run, noted["plan"])


def _over(path: Path | str, error: Exception | None = None) -> FileError:
    beside = f" ({error})" if error else ""
    return FileError(f"{path}: another run has taken this folder; start that run again, or this one{beside}")


@lru_cache(maxsize=2)
def _surveyed(folder: RunFolder, unit: int) -> tuple["FusionMethod", "Corrections"]:
    from panfocus.methods import Surveyor
    from panfocus.preprocess import Curve, Exposure, HotPixels
    from panfocus.tiling import Corrections

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
    from panfocus.io.atomic_files import make_folder
    from panfocus.io.lock import lock_folder

    if path.exists() and not _is_ours(path):
        raise FileError(f"{path} is in the way, where the run keeps what it has done; remove it")
    make_folder(path)
    with lock_folder(path):
        before = run_in(path)
        if before and before.plan != plan:
            say(f"{path} is of another input, or other settings: begins anew")
            before = None
        yield before if before and _is_whole(before) else _begun(path, plan)


def run_in(path: Path) -> RunFolder | None:
    """Return the run that a folder is of, if it is of one."""
    noted = _noted(path)
    return RunFolder(path, noted["run"], noted["plan"]) if noted.keys() >= {"run", "plan"} else None


def _is_ours(path: Path) -> bool:
    """Whether a folder is a run's, or empty; a kill may leave only the lock, a late worker only a room."""
    from panfocus.io.lock import LOCK_NAME

    names = [entry.name for entry in path.iterdir()]
    return not names or any(name in (_PLAN, LOCK_NAME) or _RUN.fullmatch(name) for name in names)


def _begun(path: Path, plan: dict[str, Any]) -> RunFolder:
    """Begin a run anew, in a room of its own."""
    from panfocus.io.atomic_files import make_folder

    _empty(path)
    folder = RunFolder(path, f"run-{secrets.token_hex(8)}", plan)
    make_folder(folder.room)
    _note(path, {"run": folder.run, "plan": plan})
    return folder


def _is_whole(folder: RunFolder) -> bool:
    """Whether all is there that was made: the stores, or what waits for its place or has it."""
    from panfocus.io.atomic_directory import store_exists

    if ready := folder.kept("ready"):
        places = folder.kept("places")
        return all(
            store_exists(Path(waiting)) or Path(places[kind][0]).exists()
            for kind, waiting in ready["waiting"].items()
        )
    made = [output for output in folder.plan["outputs"] if folder.kept(f"made-{output}") is not None]
    return all(folder.store(output).exists() for output in made)


def _empty(path: Path) -> None:
    """Remove all but the lock and a note of no run: what a kill leaves beside it counts for nothing.

    Late workers may be writing into the room of their run: it is gone when they are done, or at the end.
    """
    from panfocus.io.atomic_directory import remove_quietly
    from panfocus.io.lock import LOCK_NAME

    _note(path, {})
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            RunFolder(path, entry.name, {}).restore_replaced()
            remove_quietly(entry)
        elif entry.name not in (_PLAN, LOCK_NAME):
            entry.unlink()


def _note(path: Path, content: dict[str, Any]) -> None:
    from panfocus.io.atomic_files import write_files
    from panfocus.io.encode import encode_json

    write_files({path / _PLAN: encode_json(content)}, force=True)


def _noted(path: Path) -> dict[str, Any]:
    """Return the plan that a folder is for, and the name of its run; nothing if it has none."""
    from panfocus.io.atomic_files import read_json

    noted: dict[str, Any] = read_json(path / _PLAN) if (path / _PLAN).exists() else {}
    return noted
