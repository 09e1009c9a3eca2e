"""Reading OME-Zarr, NGFF 0.4 and 0.5, part by part; writing is in `ome_zarr_writer`. Extra `ome`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError, PanfocusError
from panfocus.io._errors import errors_that_name
from panfocus.stack import Acquisition, LazyFrames

ZARR_SUFFIXES = (".zarr",)  # .ome.zarr ends so, too
_KINDS = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
_MICROMETRE = "micrometer"  # as NGFF writes it


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
        return _KINDS[self.name]


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
    def acquisition(self) -> Acquisition:
        """The same as a microscope's TIFF would tell it."""
        sizes = {name: self.axis(name) for name in "xyz"}
        units = {axis.unit for axis in sizes.values() if axis and axis.unit}
        if len(units) != 1:
            return Acquisition(self.channel_names)
        width, height, step = (axis.scale if axis and axis.unit else None for axis in sizes.values())
        unit = str(units.pop())
        return Acquisition(self.channel_names, width, height, step, "µm" if unit == _MICROMETRE else unit)


class ZarrFrames(LazyFrames):
    """The slices of one time point as frames: one channel (h, w), or several (h, w, c) by one decision.

    Like channels of a microscope's TIFF: beside 2 or 4 lies a blank one, or the last would be taken for
    alpha. It can be sent to other processes; each opens the store by itself.
    """

    def __init__(self, image: ZarrImage, time: int, channels: Sequence[int]) -> None:
        self.image, self.time, self.channels = image, time, tuple(channels)
        n = len(self.channels)
        planes = () if n == 1 else (n + (n in (2, 4)),)
        shape = (*(image.length(axis) for axis in "zyx"), *planes)
        super().__init__(shape, image.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_array"}

    @cached_property
    def _array(self) -> Any:
        return open_array(self.image.path / self.image.array)

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        rows, cols = [*place, slice(None), slice(None)][:2]
        if len(self.channels) == 1:
            return self._plane(k, self.channels[0], rows, cols)
        planes = [self._plane(k, channel, rows, cols) for channel in self.channels]
        blank = [np.zeros_like(planes[0])] * (self.shape[3] - len(planes))
        return np.stack([*planes, *blank], axis=2)

    def _plane(self, k: int, channel: int, rows: slice, cols: slice) -> NDArray[Any]:
        places = {"t": self.time, "c": channel, "z": k, "y": rows, "x": cols}
        names = [axis.name for axis in self.image.axes]
        with errors_that_name(self.image.path):
            try:
                plane = np.asarray(self._array[tuple(places[name] for name in names)])
            except Exception:
                _let_reading_end()
                raise
        plane = plane if names.index("y") < names.index("x") else plane.T
        return plane.astype(self.dtype, copy=False)  # of this machine's byte order


def is_zarr(path: Path) -> bool:
    """Tell whether a path names a Zarr store, an image in one, or what should become one."""
    return path.suffix.lower() in ZARR_SUFFIXES or (
        path.is_dir() and any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zarray"))
    )


def read_ome_zarr(path: Path) -> ZarrImage:
    """Look at an image of OME-Zarr, or an array (n, h, w) without description; no pixel is read."""
    with errors_that_name(path):
        if not path.is_dir():
            raise FileError("there is no such store" if not path.exists() else "not a folder, as stores are")
        attributes = _attributes(path)
        ome = attributes.get("ome", attributes)
        if "plate" in ome or "well" in ome:
            raise FileError("a plate of many images; name one of them, such as its folder A/1/0")
        if "multiscales" not in ome and "bioformats2raw.layout" in ome:
            if (path / "1").is_dir():
                raise FileError("it holds several images; name one of them, such as its folder 0")
            return read_ome_zarr(path / "0")
        if "multiscales" not in ome:
            return _plain_array(path)
        return _image(path, ome)


def open_array(path: Path, *, change: bool = False) -> Any:
    """Open an array of a store, to read of it or to change it."""
    with errors_that_name(path):
        return import_zarr().open_array(path, mode="r+" if change else "r")


def import_zarr() -> Any:
    """Return the package zarr, or say how to get it."""
    try:
        import zarr
    except ImportError as error:
        raise PanfocusError(
            "OME-Zarr needs the package zarr 3; install it with: pip install 'panfocus[ome]'"
        ) from error
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


def store_state(image: ZarrImage) -> list[int]:
    """Return what changes when an image does: number and bytes of its files, the time of the last."""
    with errors_that_name(image.path):
        files = (image.path / image.array).rglob("*") if image.path.is_dir() else [image.path]
        told = [path.stat() for path in files if path.is_file()]
    return [len(told), sum(each.st_size for each in told), max(each.st_mtime_ns for each in told)]


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
    first = ome["multiscales"][0]
    dataset = first["datasets"][0]
    array = open_array(path / str(dataset["path"]))
    names, units = zip(*(_named(axis) for axis in first["axes"]), strict=True)
    if len(names) != array.ndim:
        raise FileError(f"it names {len(names)} axes of an array that has {array.ndim}")
    scales, translations = np.ones(len(names)), np.zeros(len(names))
    for owner in (dataset, first):  # the second is on top of the first
        for transform in owner.get("coordinateTransformations", []):
            if transform["type"] == "scale":
                scales, translations = scales * transform["scale"], translations * transform["scale"]
            elif transform["type"] == "translation":
                translations = translations + transform["translation"]
    if not (np.all(np.isfinite(scales)) and np.all(np.isfinite(translations)) and np.all(scales != 0)):
        raise FileError("its scale is damaged")
    axes = tuple(map(Axis, names, units, scales.tolist(), translations.tolist()))
    omero = ome.get("omero")
    name = str(first.get("name") or "")
    return _checked(path, str(dataset["path"]), axes, array, name, omero if isinstance(omero, dict) else None)


def _named(axis: Any) -> tuple[str, str | None]:
    return (axis, None) if isinstance(axis, str) else (str(axis["name"]).lower(), axis.get("unit"))


def _plain_array(path: Path) -> ZarrImage:
    """Take an array without axes for slices, rows and columns."""
    try:
        array = open_array(path)
    except FileError as error:
        raise FileError("neither an image of OME-Zarr nor an array; if it holds images, name one") from error
    told = [str(name).lower() for name in getattr(array.metadata, "dimension_names", None) or ()]
    names = told if len(told) == array.ndim else list("zyx")
    if len(names) != array.ndim:
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
    if not {"y", "x"} <= set(names) <= set(_KINDS) or len(set(names)) < len(names):
        raise FileError(f"its axes are {', '.join(names)}; known are t, c, z, y and x, each once")
    if math.prod(array.shape) == 0:
        raise FileError(f"it is empty: {array.shape}")
    native = np.dtype(array.dtype).newbyteorder("=")
    return ZarrImage(path, array_path, axes, array.shape, array.chunks, native, name, omero)
