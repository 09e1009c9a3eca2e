"""Paths of Zarr arrays: workers must find the folder, otherwise all pixels would be the fill value."""

import copy
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from panfocus._checks import is_lazy
from panfocus.errors import FileError

_DESCRIPTIONS = ("zarr.json", ".zarray")  # files that describe an array in Zarr 3 and 2


def reachable_array(array: Any) -> Any:
    """Return a lazy array that all workers can read; raise if some workers lack its folder."""
    if is_dask(array):
        _check_workers([*_folders_within(array)])
    return with_absolute_path(array)


def with_absolute_path(array: Any) -> Any:
    """Return an array whose Zarr folder, if any, has an absolute path."""
    root = getattr(getattr(array, "store", None), "root", None)
    if root is None or root.is_absolute():
        return array
    array = copy.deepcopy(array)  # do not change the caller's array
    array.store.root = root.absolute()
    return array


def is_dask(array: Any) -> bool:
    """Return whether an array is a Dask array."""
    return type(array).__module__.startswith("dask")


def check_found(array: Any) -> None:
    """Raise if this process does not find the folder of a Zarr array."""
    if (folder := _folder(array)) and not _holds_array(folder):
        raise _not_found(folder, platform.node())


def _folder(array: Any) -> str | None:
    """Return the folder of a Zarr array, if it is on a disk."""
    store = getattr(array, "store", None)
    if root := getattr(store, "root", None):
        return str(root / array.path)
    is_local = "local" in getattr(getattr(store, "fs", None), "protocol", ())  # fsspec
    return str(Path(store.path, array.path)) if store is not None and is_local else None


def _folders_within(array: Any) -> Iterator[str]:
    """Yield the folders of the Zarr arrays of a Dask array made by `from_zarr` or `from_array`."""
    for name, layer in array.dask.layers.items():
        inline = [held for held, _ in getattr(layer, "indices", ())]  # inside the task of each block
        for held in [layer[name]] if name.startswith("original-") else inline:
            if is_lazy(held) and (folder := _folder(held)):
                yield folder


def _check_workers(folders: list[str]) -> None:
    """Raise if a current worker of a Dask cluster does not find a folder."""
    from dask.base import get_scheduler

    client: Any = getattr(get_scheduler(), "__self__", None)  # type: ignore[no-untyped-call]
    if not folders or not hasattr(client, "run"):
        return
    for host, missing in client.run(_find_missing, folders).values():
        if missing:
            raise _not_found(missing[0], host)


def _find_missing(folders: list[str]) -> tuple[str, list[str]]:
    return platform.node(), [folder for folder in folders if not _holds_array(folder)]


def _holds_array(folder: str) -> bool:
    return any(Path(folder, name).exists() for name in _DESCRIPTIONS)


def _not_found(folder: str, host: str) -> FileError:
    return FileError(
        f"{folder}: a worker on {host} does not find this Zarr array. Use an absolute path to a folder that "
        "all machines share.",
        file=folder,
        host=host,
    )
