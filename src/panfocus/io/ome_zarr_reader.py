"""Looking at OME-Zarr, NGFF 0.4 and 0.5: which image is there, its axes and where its pixels are."""

import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io._file_errors import errors_that_name
from panfocus.io.ome_zarr import KINDS, ZARR_SUFFIXES, Axis, ZarrImage, open_array

_TRANSFORMS = "coordinateTransformations"
_Numbers = NDArray[np.float64]


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
    with errors_that_name(path):
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


def _places(dataset: Mapping[str, Any], whole: Mapping[str, Any], n: int) -> tuple[_Numbers, _Numbers]:
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
