"""OME-Zarr images (NGFF 0.4 and 0.5): axes, channels, and slices as lazily read frames. Extra `ome`."""

import hashlib
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError, missing_extra
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.ome_xml import OME_CHANNEL_ATTRIBUTES, make_acquisition, ome_colour, to_ome_unit
from panfocus.stack import Acquisition, LazyFrames, joined_channel_count, last_is_alpha

KINDS = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
_CHUNK = re.compile(r"(c[/.])?\d+([/.]\d+)*")  # names of chunk files in Zarr 2 and 3
_TRANSFORMS = "coordinateTransformations"
_METADATA_FILES = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


@dataclass(frozen=True)
class Axis:
    """An axis of an image: t, c, z, y or x, and the coordinates of its places in its unit."""

    name: str
    unit: str | None = None
    scale: float = 1.0  # distance between places
    translation: float = 0.0  # coordinate of the first place

    @property
    def kind(self) -> str:
        """Type of the axis in NGFF."""
        return KINDS[self.name]


@dataclass(frozen=True)
class ZarrImage:
    """An image of an OME-Zarr store: its location, axes and channels, without pixels."""

    path: Path  # of the group, or of an array without a group
    array: str  # path of the full-size array inside the group
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    name: str = ""
    omero: Mapping[str, Any] | None = None  # names and colours of channels, as in the store
    stored: tuple[int, ...] = ()  # shape of what a file holds: a chunk, or a shard of several
    notices: tuple[str, ...] = ()

    def length(self, name: str) -> int:
        """Return the number of places of an axis; 1 if there is no such axis."""
        return dict(zip((axis.name for axis in self.axes), self.shape, strict=True)).get(name, 1)

    def chunk_length(self, name: str) -> int:
        """Return the number of places of an axis in a chunk; 1 if there is no such axis."""
        return dict(zip((axis.name for axis in self.axes), self.chunks, strict=True)).get(name, 1)

    def axis(self, name: str) -> Axis | None:
        """Return an axis by its name."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def frames(self, time: int, channels: Sequence[int]) -> "ZarrFrames":
        """Return the slices of one time point, with one channel or several."""
        return ZarrFrames(self, time, channels)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the channels, an empty text where unknown."""
        return tuple(str(channel.get("label") or "") for channel in self._channels)

    @property
    def _channels(self) -> list[Mapping[str, Any]]:
        """Descriptions of the channels in the store, empty where unknown."""
        listed = (self.omero or {}).get("channels") or []
        known = [channel for channel in listed if isinstance(channel, Mapping)]
        return (known + [{}] * self.length("c"))[: self.length("c")]

    @property
    def has_alpha(self) -> bool:
        """Whether the last of two or four channels is named alpha; NGFF has no other sign of it."""
        return last_is_alpha(self.channel_names)

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk, which is decoded whole."""
        return math.prod(self.chunks) * self.dtype.itemsize

    def count_missing(self, n_files: int) -> int:
        """Return how many chunks or shards are missing if there are `n_files` files."""
        total = math.prod(-(-n // each) for n, each in zip(self.shape, self.stored, strict=True))
        return max(0, total - n_files)

    def describe_missing(self, n: int) -> str:
        """Return a notice about n missing chunks."""
        return f"{n} chunks have no file; their pixels are read as the fill value."

    @property
    def acquisition(self) -> Acquisition:
        """Names and colours of channels, and pixel sizes, as of a microscopy TIFF."""
        axes = {name: axis for name in "xyz" if (axis := self.axis(name)) and axis.unit}
        sizes = {name: (axis.scale, to_ome_unit(str(axis.unit))) for name, axis in axes.items()}
        details = [_ome_attributes(channel) for channel in self._channels]
        return make_acquisition(
            self.channel_names, sizes, name=self.name, details=details if any(details) else []
        )


def _ome_attributes(channel: Mapping[str, Any]) -> dict[str, str]:
    attributes = {key: str(channel[key]) for key in OME_CHANNEL_ATTRIBUTES if key in channel}
    if re.fullmatch("[0-9a-fA-F]{6}", str(channel.get("color"))):
        attributes["Color"] = ome_colour(channel["color"])
    return attributes


class ZarrFrames(LazyFrames):
    """The slices of one time point as frames: one channel (h, w), or several (h, w, c).

    A blank channel is added to 2 or 4 channels, because the last would count as alpha, unless it is alpha.
    Can be pickled; each process opens the store itself.
    """

    def __init__(self, image: ZarrImage, time: int, channels: Sequence[int]) -> None:
        self.image, self.time, self.channels = image, time, tuple(channels)
        n = len(self.channels)
        self.alpha = image.has_alpha and n == image.length("c")
        planes = () if n == 1 else (joined_channel_count(n, alpha=self.alpha),)
        shape = (*(image.length(axis) for axis in "zyx"), *planes)
        super().__init__(shape, image.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_array"}

    @cached_property
    def _array(self) -> Any:
        return open_array(self.image.path / self.image.array)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of the part that is decoded at once: chunks of the store, in all channels."""
        return *(self.image.chunk_length(name) for name in "zyx"), *self.shape[3:]

    def _frame(self, k: int, place: tuple[Any, ...]) -> NDArray[Any]:
        return np.asarray(self[k : k + 1, *place][0])

    def _read_into(self, frames: NDArray[Any], numbers: range, place: tuple[Any, ...]) -> None:
        """Read slices and channels that share chunks together, so that each chunk is decoded once."""
        rows, cols = [*place, slice(None), slice(None)][:2]
        planes = frames if frames.ndim == 4 else frames[..., np.newaxis]
        planes[..., len(self.channels) :] = 0
        for (to, slices), (planes_to, channels) in product(
            _split_by_chunk(numbers, self.image.chunk_length("z")),
            _split_by_chunk(self.channels, self.image.chunk_length("c")),
        ):
            with add_path_to_errors(self._describe_part(slices, channels, rows, cols)):
                planes[to, ..., planes_to] = self._part(slices, channels, rows, cols)

    def _describe_part(self, slices: range, channels: range, rows: slice, cols: slice) -> str:
        """Return the name of a part for error messages; slices and channels are counted from 1."""
        spans = [range(n)[span] for n, span in zip(self.shape[1:3], (rows, cols), strict=True)]
        (top, bottom), (left, right) = ((span.start, span.stop - 1) for span in spans)
        numbers = {"slice": slices}
        if self.image.length("t") > 1:
            numbers["time"] = range(self.time, self.time + 1)
        if self.image.length("c") > 1:
            numbers["channel"] = channels
        place = ", ".join(_count_from_one(word, each) for word, each in numbers.items())
        return f"{self.image.path}, {place}, rows {top} to {bottom}, columns {left} to {right}"

    def _part(self, slices: range, channels: range, rows: slice, cols: slice) -> NDArray[Any]:
        """Read a rectangle (n, h, w, c) of consecutive slices and channels."""
        places = {"t": self.time, "c": _span(channels), "z": _span(slices), "y": rows, "x": cols}
        names = [axis.name for axis in self.image.axes]
        try:
            part = np.asarray(self._array[tuple(places[name] for name in names)])
        except Exception:
            _wait_for_readers()
            raise
        present = [name for name in names if name != "t"]
        part = part.transpose([present.index(name) for name in "zyxc" if name in present])
        return np.expand_dims(part, [i for i, name in enumerate("zyxc") if name not in present])


def _split_by_chunk(numbers: Sequence[int], depth: int) -> Iterator[tuple[slice, range]]:
    """Split numbers at chunk borders and gaps; yield the position of each run, and the run."""
    runs = groupby(enumerate(numbers), lambda each: (each[1] // depth, each[1] - each[0]))
    for _, run in runs:
        places, together = zip(*run, strict=True)
        yield slice(places[0], places[-1] + 1), range(together[0], together[-1] + 1)


def _span(numbers: range) -> slice:
    return slice(numbers.start, numbers.stop)


def _count_from_one(word: str, numbers: range) -> str:
    """Return a text such as "slice 3" or "slices 3 to 5", counted from 1."""
    first = f"{word}{'s' * (len(numbers) > 1)} {numbers.start + 1}"
    return f"{first} to {numbers.stop}" if len(numbers) > 1 else first


def open_array(path: Path, *, change: bool = False) -> Any:
    """Open an array of a store for reading, or to `change` it."""
    zarr = import_zarr()
    with add_path_to_errors(path):
        return zarr.open_array(path, mode="r+" if change else "r")


def import_zarr() -> Any:
    """Return the package zarr; raise if it is not installed."""
    try:
        import zarr
    except ImportError as error:
        raise missing_extra("OME-Zarr", "zarr 3", "ome") from error
    return zarr


def _wait_for_readers() -> None:
    """Wait up to a second for other chunks that zarr is reading; Python warns about pending reads at exit."""
    import asyncio

    from zarr.core.sync import sync

    async def others() -> None:
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(tasks, timeout=1)

    sync(others())


def use_one_thread() -> None:
    """Read and write one chunk at a time from now on, for worker processes that each have one core."""
    import_zarr().config.set({"async.concurrency": 1, "threading.max_workers": 1})


def one_chunk_at_a_time() -> AbstractContextManager[object]:
    """Read and write one chunk at a time for the duration of a block.

    The number of threads stays: Zarr keeps the threads that it starts first.
    """
    context: AbstractContextManager[object] = import_zarr().config.set({"async.concurrency": 1})
    return context


@dataclass(frozen=True)
class StoreState:
    """Number of files with pixels, and a digest of these files and of the metadata."""

    n_files: int
    digest: str


def store_state(image: ZarrImage) -> StoreState:
    """Return the state of an image's files: content of the metadata; names, sizes and times of the rest."""
    n, combined, metadata = 0, 0, hashlib.sha256()
    with add_path_to_errors(image.path):
        for path in (image.path / part / name for part in ("", image.array) for name in _METADATA_FILES):
            metadata.update(path.read_bytes() if path.is_file() else b"")
        folder = image.path / image.array if image.path.is_dir() else image.path.parent
        files = folder.rglob("*") if image.path.is_dir() else [image.path]
        for path in files:  # possibly millions, in any order
            name = path.relative_to(folder).as_posix()
            if (path == image.path or _CHUNK.fullmatch(name)) and path.is_file():
                stat = path.stat()
                file_digest = hashlib.blake2b(
                    f"{name} {stat.st_size} {stat.st_mtime_ns}".encode(), digest_size=16
                )
                n, combined = n + 1, combined ^ int.from_bytes(file_digest.digest())
    return StoreState(n, f"{metadata.hexdigest()}{combined:032x}")


def is_zipped(path: Path) -> bool:
    """Return whether a path is a zip file."""
    return path.is_file() and zipfile.is_zipfile(path)


def read_ome_zarr(path: Path) -> ZarrImage:
    """Return an OME-Zarr image, or a plain array (n, h, w); no pixel is read."""
    with add_path_to_errors(path):
        if not path.is_dir():
            message = "A Zarr store must be a folder." if path.exists() else "There is no such store."
            raise FileError(message, problem="no store")
        attributes = _attributes(path)
        ome = attributes.get("ome", attributes)
        for kind, inside in (("plate", "A/1/0"), ("well", "0")):
            if kind in ome:
                message = f"This is a {kind} of many images. Name one image, such as {path / inside}."
                raise FileError(message, problem=kind)
        if "multiscales" not in ome and "bioformats2raw.layout" in ome:
            if (path / "1").is_dir():
                message = f"The store contains several images. Name one, such as {path / '0'}."
                raise FileError(message, problem="several images")
            return read_ome_zarr(path / "0")
        if "multiscales" not in ome:
            return _plain_array(path)
        return _read_image(path, ome)


def _attributes(path: Path) -> dict[str, Any]:
    """Return the attributes of a group or an array, of Zarr 3 or 2."""
    if (path / "zarr.json").is_file():
        found = json.loads((path / "zarr.json").read_bytes()).get("attributes", {})
    elif (path / ".zattrs").is_file():
        found = json.loads((path / ".zattrs").read_bytes())
    elif any((path / name).is_file() for name in (".zgroup", ".zarray")):
        found = {}
    else:
        raise FileError("This is not a Zarr store: there is no zarr.json and no .zattrs.", problem="no store")
    if not isinstance(found, dict):
        raise _damaged("attributes", "an object", found)
    return found


def _read_image(path: Path, ome: Mapping[str, Any]) -> ZarrImage:
    first = _get_objects(ome, "multiscales")[0]
    dataset = _get_objects(first, "datasets")[0]
    if "axes" not in first:
        message = "The axes have no names, as in NGFF before 0.4. Convert the store to 0.4 or 0.5."
        raise FileError(message, key="axes")
    if not isinstance(dataset.get("path"), str):
        raise _damaged("path", "the name of an array", dataset.get("path"))
    array = open_array(path / dataset["path"])
    names, units = zip(*(_parse_axis(axis) for axis in _get_list(first, "axes")), strict=True)
    if len(names) != array.ndim:
        raise FileError(f"The metadata names {len(names)} axes; the array has {array.ndim}.", key="axes")
    scales, translations = _read_transforms(dataset, first, len(names))
    axes = tuple(map(Axis, names, units, scales.tolist(), translations.tolist()))
    omero = ome.get("omero")
    name = str(first.get("name") or "")
    image = _make_image(path, dataset["path"], axes, array, name, omero if isinstance(omero, dict) else None)
    further = path.parent / "OME" / "METADATA.ome.xml"  # of bioformats2raw: wavelengths and more
    return replace(image, notices=(f"Metadata not kept: {further}.",)) if further.is_file() else image


def _get_objects(owner: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return a list of at least one object."""
    objects = _get_list(owner, key)
    if not all(isinstance(each, Mapping) for each in objects):
        raise _damaged(key, "a list of objects", objects)
    return objects


def _get_list(owner: Mapping[str, Any], key: str) -> list[Any]:
    found = owner.get(key)
    if not isinstance(found, list) or not found:
        raise _damaged(key, "a list of at least one", found)
    return found


def _damaged(key: str, needed: str, found: Any) -> FileError:
    """Return an error that names the key in the store's attributes."""
    got = json.dumps(found)[:60]
    return FileError(f"The metadata is damaged: {key} must be {needed}, got {got}.", key=key, got=got)


def _read_transforms(
    dataset: Mapping[str, Any], whole: Mapping[str, Any], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scale and translation of n axes."""
    scales, firsts = np.ones(n), np.zeros(n)
    for owner in (dataset, whole):  # transforms of the image follow those of the array
        transforms = _get_objects(owner, _TRANSFORMS) if owner.get(_TRANSFORMS, []) != [] else []
        for transform in transforms:
            kind = transform.get("type")
            if kind not in ("scale", "translation"):
                continue
            if kind not in transform and "path" in transform:
                message = f"A {kind} in another file is not supported. Write its numbers into {_TRANSFORMS}."
                raise FileError(message, key="path")
            if kind not in transform:
                raise _damaged(kind, f"a list of {n} numbers", None)
            numbers = np.asarray(transform[kind])
            if numbers.shape != (n,) or numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers)):
                raise _damaged(kind, f"a list of {n} numbers", transform[kind])
            if kind == "scale":
                scales, firsts = scales * numbers, firsts * numbers
            else:
                firsts = firsts + numbers
    if not np.all(scales):
        raise _damaged("scale", "a list of numbers other than 0", scales.tolist())
    return scales, firsts


def _parse_axis(axis: Any) -> tuple[str, str | None]:
    if isinstance(axis, str):
        return axis, None
    if not isinstance(axis, Mapping) or not isinstance(axis.get("name"), str):
        raise _damaged("axes", "a list of objects, each with a name", axis)
    unit = axis.get("unit")
    if not isinstance(unit, str | None):
        raise _damaged("unit", f"a name or null in the axis {axis['name']}", unit)
    return axis["name"].lower(), unit


def _plain_array(path: Path) -> ZarrImage:
    """Return a plain array as an image; without names its axes are slices, rows and columns."""
    try:
        array = open_array(path)
    except FileError as error:
        message = "The store is neither an OME-Zarr image nor an array. If it contains images, name one."
        raise FileError(message, problem="no image") from error
    known = getattr(array.metadata, "dimension_names", None) or (None,) * array.ndim
    usual = "zyx" if array.ndim == 3 else (None,) * array.ndim
    names = [name.lower() if name else other for name, other in zip(known, usual, strict=True)]
    if None in names:
        message = f"The array has {array.ndim} axes without names; needed are OME-Zarr or 3 axes (n, h, w)."
        raise FileError(message, key="axes")
    return _make_image(path, "", tuple(map(Axis, names)), array, "", None)


def _make_image(
    path: Path,
    array_path: str,
    axes: tuple[Axis, ...],
    array: Any,
    name: str,
    omero: Mapping[str, Any] | None,
) -> ZarrImage:
    names = [axis.name for axis in axes]
    if not {"y", "x"} <= set(names) <= set(KINDS) or len(set(names)) < len(names):
        message = f"The axes are {', '.join(names)}; supported are t, c, z, y and x, each once."
        raise FileError(message, key="axes")
    if math.prod(array.shape) == 0:
        raise FileError(f"The array is empty: its shape is {array.shape}.", got=array.shape)
    native = np.dtype(array.dtype).newbyteorder("=")
    stored = array.shards or array.chunks
    return ZarrImage(path, array_path, axes, array.shape, array.chunks, native, name, omero, stored)
