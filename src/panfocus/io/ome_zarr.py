"""Images of OME-Zarr: their axes and channels, and their slices as frames, read part by part. Extra `ome`."""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import missing_extra
from panfocus.io._file_errors import errors_that_name
from panfocus.io.ome import acquired
from panfocus.io.units import of_ome
from panfocus.stack import Acquisition, LazyFrames, last_is_alpha, n_beside

ZARR_SUFFIXES = (".zarr",)  # .ome.zarr ends so, too
KINDS = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
_CHUNK = re.compile(r"(c[/.])?\d+([/.]\d+)*")  # names of files with pixels, in Zarr 2 and 3
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

    def n_missing(self, n_files: int) -> int:
        """Return how many chunks, or shards, have no file, where there are so many files."""
        whole = math.prod(-(-n // each) for n, each in zip(self.shape, self.stored, strict=True))
        return max(0, whole - n_files)

    def said_missing(self, n: int) -> str:
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
            with errors_that_name(self._named(slices, channels, rows, cols)):
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
    with errors_that_name(path):
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
    with errors_that_name(image.path):
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


def missing_chunks(image: ZarrImage, state: StoreState) -> int:
    """Return how many parts have no data: chunks or shards of a store, tiles or strips of a TIFF."""
    return image.n_missing(state.n_files)
