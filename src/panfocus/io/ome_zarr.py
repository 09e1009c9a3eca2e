"""Images of OME-Zarr: their axes and channels, and their slices as frames, read part by part. Extra `ome`."""

import hashlib
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError, missing_extra
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.ome import acquired
from panfocus.io.units import of_ome
from panfocus.stack import Acquisition, LazyFrames, last_is_alpha, n_beside

ZARR_SUFFIXES = (".zarr",)  # .ome.zarr ends so, too
KINDS = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
_CHUNK = re.compile(r"(c[/.])?\d+([/.]\d+)*")  # names of files with pixels, in Zarr 2 and 3
_TRANSFORMS = "coordinateTransformations"
_DESCRIPTIONS = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")  # beside the chunks


@dataclass(frozen=True)
class Axis:
    """An axis of an image: its name, one of t, c, z, y, x, and where its places are, if it has a unit."""

    name: str
    unit: str | None = None
    scale: float = 1.0  # from place to place
    translation: float = 0.0  # of the first place

    @property
    def kind(self) -> str:
        """What NGFF calls its type."""
        return KINDS[self.name]


@dataclass(frozen=True)
class ZarrImage:
    """An image of an OME-Zarr store: where it is, its axes and channels. It holds no pixels."""

    path: Path  # of the group, or of an array without one
    array: str  # the full-size array, as seen from there
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str = ""
    omero: Mapping[str, Any] | None = None  # how channels are called and shown, as it was found
    stored: tuple[int, ...] = ()  # lengths of what a file holds: a chunk, or a shard of several
    notices: tuple[str, ...] = ()  # what else there is to say of it

    def length(self, name: str) -> int:
        """Places of an axis; 1 if there is none of this name."""
        return dict(zip((axis.name for axis in self.axes), self.shape, strict=True)).get(name, 1)

    def chunk_length(self, name: str) -> int:
        """Places of an axis that a chunk holds; 1 if there is no such axis."""
        return dict(zip((axis.name for axis in self.axes), self.chunks, strict=True)).get(name, 1)

    def axis(self, name: str) -> Axis | None:
        """Return an axis by its name."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def frames(self, time: int, channels: Sequence[int]) -> "ZarrFrames":
        """Return the slices of one time point, with one channel or several."""
        return ZarrFrames(self, time, channels)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, empty where none is told."""
        channels = (self.omero or {}).get("channels") or []
        names = [str(channel.get("label") or "") for channel in channels if isinstance(channel, Mapping)]
        n = self.length("c")
        return tuple((names + [""] * n)[:n])

    @property
    def has_alpha(self) -> bool:
        """Whether the last of two or four channels is called alpha: NGFF has no other word on it."""
        return last_is_alpha(self.channel_names)

    @property
    def chunk_bytes(self) -> int:
        """Memory that a chunk takes, which is decoded whole."""
        return math.prod(self.chunks) * self.dtype.itemsize

    def count_missing(self, n_files: int) -> int:
        """Return how many chunks, or shards, have no file, where there are so many files."""
        whole = math.prod(-(-n // each) for n, each in zip(self.shape, self.stored, strict=True))
        return max(0, whole - n_files)

    def describe_missing(self, n: int) -> str:
        """Say what becomes of so many chunks that are missing."""
        return f"{n} chunks have no file; they count as its fill value"

    @property
    def acquisition(self) -> Acquisition:
        """The same as a microscope's TIFF would tell it."""
        axes = {name: axis for name in "xyz" if (axis := self.axis(name)) and axis.unit}
        sizes = {name: (axis.scale, of_ome(str(axis.unit))) for name, axis in axes.items()}
        return acquired(self.channel_names, sizes)


class ZarrFrames(LazyFrames):
    """The slices of one time point as frames: one channel (h, w), or several (h, w, c) by one decision.

    Like channels of a microscope's TIFF: beside 2 or 4 lies a blank one, or the last would be taken for
    alpha, unless it is. It can be sent to other processes; each opens the store by itself.
    """

    def __init__(self, image: ZarrImage, time: int, channels: Sequence[int]) -> None:
        self.image, self.time, self.channels = image, time, tuple(channels)
        n = len(self.channels)
        self.alpha = image.has_alpha and n == image.length("c")
        planes = () if n == 1 else (n_beside(n, alpha=self.alpha),)
        shape = (*(image.length(axis) for axis in "zyx"), *planes)
        super().__init__(shape, image.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_array"}

    @cached_property
    def _array(self) -> Any:
        return open_array(self.image.path / self.image.array)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Size of what is decoded at once: chunks of the store, in all channels."""
        return *(self.image.chunk_length(name) for name in "zyx"), *self.shape[3:]

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        return np.asarray(self[k : k + 1, *place][0])

    def _read_into(self, frames: NDArray[Any], numbers: range, place: tuple[Any, ...]) -> None:
        """Read slices and channels that share chunks together: each chunk is decoded once."""
        rows, cols = [*place, slice(None), slice(None)][:2]
        planes = frames if frames.ndim == 4 else frames[..., np.newaxis]
        planes[..., len(self.channels) :] = 0
        for (to, slices), (beside, channels) in product(
            _sharing_chunks(numbers, self.image.chunk_length("z")),
            _sharing_chunks(self.channels, self.image.chunk_length("c")),
        ):
            with add_path_to_errors(self._named(slices, channels, rows, cols)):
                planes[to, ..., beside] = self._part(slices, channels, rows, cols)

    def _named(self, slices: range, channels: range, rows: slice, cols: slice) -> str:
        """Name a part for whoever has to find what is damaged there; all but pixels is counted from 1."""
        spans = [range(n)[span] for n, span in zip(self.shape[1:3], (rows, cols), strict=True)]
        (top, bottom), (left, right) = ((span.start, span.stop - 1) for span in spans)
        of_many = "".join(
            f", {_counted(word, numbers)}"
            for word, numbers, axis in (
                ("time", range(self.time, self.time + 1), "t"),
                ("channel", channels, "c"),
            )
            if self.image.length(axis) > 1
        )
        part = f"{_counted('slice', slices)}{of_many}, rows {top} to {bottom}, columns {left} to {right}"
        return f"{self.image.path}, {part}"

    def _part(self, slices: range, channels: range, rows: slice, cols: slice) -> NDArray[Any]:
        """Read a rectangle (n, h, w, c) of consecutive slices and channels."""
        places = {"t": self.time, "c": _span(channels), "z": _span(slices), "y": rows, "x": cols}
        names = [axis.name for axis in self.image.axes]
        try:
            part = np.asarray(self._array[tuple(places[name] for name in names)])
        except Exception:
            _let_reading_end()
            raise
        found = [name for name in names if name != "t"]
        part = part.transpose([found.index(name) for name in "zyxc" if name in found])
        return np.expand_dims(part, [i for i, name in enumerate("zyxc") if name not in found])


def _sharing_chunks(numbers: Sequence[int], depth: int) -> Iterator[tuple[slice, range]]:
    """Cut numbers where another chunk begins, or one is left out; yield where each run lies, and the run."""
    runs = groupby(enumerate(numbers), lambda each: (each[1] // depth, each[1] - each[0]))
    for _, run in runs:
        places, together = zip(*run, strict=True)
        yield slice(places[0], places[-1] + 1), range(together[0], together[-1] + 1)


def _span(numbers: range) -> slice:
    return slice(numbers.start, numbers.stop)


def _counted(word: str, numbers: range) -> str:
    """Return numbers from 0 as people count them: slice 3, slices 3 to 5."""
    first = f"{word}{'s' * (len(numbers) > 1)} {numbers.start + 1}"
    return f"{first} to {numbers.stop}" if len(numbers) > 1 else first


def open_array(path: Path, *, change: bool = False) -> Any:
    """Open an array of a store, to read of it or to change it."""
    zarr = import_zarr()
    with add_path_to_errors(path):
        return zarr.open_array(path, mode="r+" if change else "r")


def import_zarr() -> Any:
    """Return the package zarr, or say how to get it."""
    try:
        import zarr
    except ImportError as error:
        raise missing_extra("OME-Zarr", "zarr 3", "ome") from error
    return zarr


def _let_reading_end() -> None:
    """Wait, a second at most, for chunks that zarr still reads beside one that failed.

    Python would complain of them when it ends.
    """
    import asyncio

    from zarr.core.sync import sync

    async def others() -> None:
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=1)

    sync(others())


def use_one_thread() -> None:
    """Read and write chunks one after another: where every core has a worker."""
    import_zarr().config.set({"async.concurrency": 1, "threading.max_workers": 1})


def description_digest(image: ZarrImage) -> str:
    """Digest what a store says of an image: its axes, channels, type and fill value; of a TIFF nothing."""
    found = hashlib.sha256()
    for folder in (image.path, image.path / image.array):
        for name in _DESCRIPTIONS:
            if (folder / name).is_file():
                found.update((folder / name).read_bytes())
    return found.hexdigest()


@dataclass(frozen=True)
class StoreState:
    """What changes when pixels do: how many files hold them, and a digest of their names, sizes and times."""

    n_files: int
    digest: str


def store_state(image: ZarrImage) -> StoreState:
    """Look at the files of an image's pixels, not into them."""
    n, found = 0, 0
    with add_path_to_errors(image.path):
        folder = image.path / image.array if image.path.is_dir() else image.path.parent
        files = folder.rglob("*") if image.path.is_dir() else [image.path]
        for path in files:  # millions of them, perhaps, in any order
            name = path.relative_to(folder).as_posix()
            if (path == image.path or _CHUNK.fullmatch(name)) and path.is_file():
                told = path.stat()
                of_file = hashlib.blake2b(
                    f"{name} {told.st_size} {told.st_mtime_ns}".encode(), digest_size=16
                )
                n, found = n + 1, found ^ int.from_bytes(of_file.digest())
    return StoreState(n, f"{found:032x}")


def count_missing_chunks(image: ZarrImage, state: StoreState) -> int:
    """Return how many parts have no data: chunks or shards of a store, tiles or strips of a TIFF."""
    return image.count_missing(state.n_files)


def is_zarr(path: Path) -> bool:
    """Tell whether a path names a Zarr store, an image in one, or what should become one."""
    return path.suffix.lower() in ZARR_SUFFIXES or (
        path.is_dir() and any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zarray"))
    )


def is_zipped(path: Path) -> bool:
    """Tell whether a path is a file that holds a folder, whatever its name."""
    return path.is_file() and zipfile.is_zipfile(path)


def read_ome_zarr(path: Path) -> ZarrImage:
    """Look at an image of OME-Zarr, or an array (n, h, w) without description; no pixel is read."""
    with add_path_to_errors(path):
        if not path.is_dir():
            raise FileError("there is no such store" if not path.exists() else "not a folder, as stores are")
        attributes = _attributes(path)
        ome = attributes.get("ome", attributes)
        for kind, inside in (("plate", "A/1/0"), ("well", "0")):
            if kind in ome:
                raise FileError(f"a {kind} of many images; name one of them, such as its folder {inside}")
        if "multiscales" not in ome and "bioformats2raw.layout" in ome:
            if (path / "1").is_dir():
                raise FileError("it holds several images; name one of them, such as its folder 0")
            return read_ome_zarr(path / "0")
        if "multiscales" not in ome:
            return _plain_array(path)
        return _image(path, ome)


def _attributes(path: Path) -> dict[str, Any]:
    """Return what is written beside a group or an array: zarr 3 in one file, zarr 2 in one for it alone."""
    if (path / "zarr.json").is_file():
        found = json.loads((path / "zarr.json").read_bytes()).get("attributes", {})
    elif (path / ".zattrs").is_file():
        found = json.loads((path / ".zattrs").read_bytes())
    elif any((path / name).is_file() for name in (".zgroup", ".zarray")):
        found = {}
    else:
        raise FileError("not a Zarr store (it has neither zarr.json nor .zattrs)")
    if not isinstance(found, dict):
        raise FileError("its attributes are damaged")
    return found


def _image(path: Path, ome: Mapping[str, Any]) -> ZarrImage:
    first = _described(ome, "multiscales")[0]
    dataset = _described(first, "datasets")[0]
    if "axes" not in first:
        raise FileError("it does not name its axes, as NGFF before 0.4; convert it to 0.4 or 0.5")
    if not isinstance(dataset.get("path"), str):
        raise _damaged("path", "the name of an array", dataset.get("path"))
    array = open_array(path / dataset["path"])
    names, units = zip(*(_named(axis) for axis in _list(first, "axes")), strict=True)
    if len(names) != array.ndim:
        raise FileError(f"it names {len(names)} axes of an array that has {array.ndim}")
    scales, translations = _places(dataset, first, len(names))
    axes = tuple(map(Axis, names, units, scales.tolist(), translations.tolist()))
    omero = ome.get("omero")
    name = str(first.get("name") or "")
    return _checked(path, dataset["path"], axes, array, name, omero if isinstance(omero, dict) else None)


def _described(owner: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return what a list of objects says, of which there has to be one at least."""
    found = _list(owner, key)
    if not all(isinstance(each, Mapping) for each in found):
        raise _damaged(key, "a list of objects", found)
    return found


def _list(owner: Mapping[str, Any], key: str) -> list[Any]:
    found = owner.get(key)
    if not isinstance(found, list) or not found:
        raise _damaged(key, "a list of at least one", found)
    return found


def _damaged(key: str, needed: str, found: Any) -> FileError:
    """Return an error that names the key in the store's attributes."""
    return FileError(f"its {key} is damaged: needed is {needed}, got {json.dumps(found)[:60]}")


def _places(
    dataset: Mapping[str, Any], whole: Mapping[str, Any], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, of n axes, how far it is from place to place, and where the first is."""
    scales, firsts = np.ones(n), np.zeros(n)
    for owner in (dataset, whole):  # the second is on top of the first
        transforms = _described(owner, _TRANSFORMS) if owner.get(_TRANSFORMS, []) != [] else []
        for transform in transforms:
            kind = transform.get("type")
            if kind not in ("scale", "translation"):
                continue
            if kind not in transform and "path" in transform:
                raise FileError(
                    f"its {kind} is in another file ({transform['path']}), which is not read; write its {n} "
                    f"numbers into {_TRANSFORMS}"
                )
            if kind not in transform:
                raise _damaged(kind, f"a list of {n} numbers", None)
            numbers = np.asarray(transform[kind])
            if numbers.shape != (n,) or numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers)):
                raise FileError(f"its {kind} is damaged: needed are {n} numbers, got {transform[kind]}")
            if kind == "scale":
                scales, firsts = scales * numbers, firsts * numbers
            else:
                firsts = firsts + numbers
    if not np.all(scales):
        raise FileError("its scale is damaged: places lie on each other")
    return scales, firsts


def _named(axis: Any) -> tuple[str, str | None]:
    if isinstance(axis, str):
        return axis, None
    if not isinstance(axis, Mapping) or not isinstance(axis.get("name"), str):
        raise _damaged("axes", "a list of objects, each with a name", axis)
    unit = axis.get("unit")
    if not isinstance(unit, str | None):
        raise _damaged(f"unit of the axis {axis['name']}", "a name, or none", unit)
    return axis["name"].lower(), unit


def _plain_array(path: Path) -> ZarrImage:
    """Take an array without axes for slices, rows and columns."""
    try:
        array = open_array(path)
    except FileError as error:
        raise FileError("neither an image of OME-Zarr nor an array; if it holds images, name one") from error
    told = getattr(array.metadata, "dimension_names", None) or (None,) * array.ndim
    usual = "zyx" if array.ndim == 3 else (None,) * array.ndim
    names = [name.lower() if name else other for name, other in zip(told, usual, strict=True)]
    if None in names:
        raise FileError(f"an array of {array.ndim} axes without their names; needed: OME-Zarr, or (n, h, w)")
    return _checked(path, "", tuple(map(Axis, names)), array, "", None)


def _checked(
    path: Path,
    array_path: str,
    axes: tuple[Axis, ...],
    array: Any,
    name: str,
    omero: Mapping[str, Any] | None,
) -> ZarrImage:
    names = [axis.name for axis in axes]
    if not {"y", "x"} <= set(names) <= set(KINDS) or len(set(names)) < len(names):
        raise FileError(f"its axes are {', '.join(names)}; known are t, c, z, y and x, each once")
    if math.prod(array.shape) == 0:
        raise FileError(f"it is empty: {array.shape}")
    native = np.dtype(array.dtype).newbyteorder("=")
    stored = array.shards or array.chunks
    return ZarrImage(path, array_path, axes, array.shape, array.chunks, native, name, omero, stored)
