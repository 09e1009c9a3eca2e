"""Images of OME-Zarr: their axes and channels, and their slices as frames, read part by part. Extra `ome`."""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import PanfocusError, needs_extra
from panfocus.io._errors import errors_that_name
from panfocus.io.ome import acquired
from panfocus.io.units import of_ome
from panfocus.stack import Acquisition, LazyFrames, beside_each_other, last_is_alpha, n_beside

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

    def length(self, name: str) -> int:
        """Places of an axis; 1 if there is none of this name."""
        return dict(zip((axis.name for axis in self.axes), self.shape, strict=True)).get(name, 1)

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
        """Size of what is read at once of a slice: its chunks, in all channels."""
        of_axes = dict(zip((axis.name for axis in self.image.axes), self.image.chunks, strict=True))
        return 1, of_axes["y"], of_axes["x"], *self.shape[3:]

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        rows, cols = [*place, slice(None), slice(None)][:2]
        if len(self.channels) == 1:
            return self._plane(k, self.channels[0], rows, cols)
        planes = [self._plane(k, channel, rows, cols) for channel in self.channels]
        return beside_each_other(planes, alpha=self.alpha)

    def _named(self, k: int, channel: int, rows: slice, cols: slice) -> str:
        """Name a part for whoever has to find what is damaged there; all but pixels is counted from 1."""
        spans = [range(n)[span] for n, span in zip(self.shape[1:3], (rows, cols), strict=True)]
        (top, bottom), (left, right) = ((span.start, span.stop - 1) for span in spans)
        of_many = "".join(
            f", {word} {place + 1}"
            for word, place, axis in (("time", self.time, "t"), ("channel", channel, "c"))
            if self.image.length(axis) > 1
        )
        return f"{self.image.path}, slice {k + 1}{of_many}, rows {top} to {bottom}, columns {left} to {right}"

    def _plane(self, k: int, channel: int, rows: slice, cols: slice) -> NDArray[Any]:
        places = {"t": self.time, "c": channel, "z": k, "y": rows, "x": cols}
        names = [axis.name for axis in self.image.axes]
        with errors_that_name(self._named(k, channel, rows, cols)):
            try:
                plane = np.asarray(self._array[tuple(places[name] for name in names)])
            except Exception:
                _let_reading_end()
                raise
        plane = plane if names.index("y") < names.index("x") else plane.T
        return plane.astype(self.dtype, copy=False)  # of this machine's byte order


def open_array(path: Path, *, change: bool = False) -> Any:
    """Open an array of a store, to read of it or to change it."""
    with errors_that_name(path):
        return import_zarr().open_array(path, mode="r+" if change else "r")


def import_zarr() -> Any:
    """Return the package zarr, or say how to get it."""
    try:
        import zarr
    except ImportError as error:
        raise PanfocusError(needs_extra("OME-Zarr", "zarr 3", "ome")) from error
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
    """Return how many of a store's chunks, or shards, have no file, and so count as the fill value."""
    if not image.stored:
        return 0
    whole = math.prod(-(-n // each) for n, each in zip(image.shape, image.stored, strict=True))
    return max(0, whole - state.n_files)
