"""Zarr arrays in folders that workers of a cluster have to find: else all pixels are the fill value there."""

import copy
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from panfocus._checks import is_lazy
from panfocus.errors import FileError

_DESCRIPTIONS = ("zarr.json", ".zarray")  # of an array, in Zarr 3 and 2


def within_reach(array: Any) -> Any:
    """Return a lazy array as all workers can read it; refuse one of Dask's that some cannot."""
    if is_dask(array):
        _ask_workers([*_folders_within(array)])
    return named_in_full(array)


def named_in_full(array: Any) -> Any:
    """Return an array; that of a Zarr folder is then the same one, whatever the working folder is."""
    root = getattr(getattr(array, "store", None), "root", None)
    if root is None or root.is_absolute():
        return array
    array = copy.deepcopy(array)  # the given one stays as it is
    array.store.root = root.absolute()
    return array


def is_dask(array: Any) -> bool:
    """Tell whether an array is Dask's."""
    return type(array).__module__.startswith("dask")


def check_found(array: Any) -> None:
    """Refuse a Zarr array whose folder is not where this process looks for it."""
    if (folder := _folder(array)) and not _holds_array(folder):
        raise _not_found(folder, platform.node())


def _folder(array: Any) -> str | None:
    """Return where a Zarr array is, if that is a folder of a disk."""
    store = getattr(array, "store", None)
    if root := getattr(store, "root", None):
        return str(root / array.path)
    of_disk = "local" in getattr(getattr(store, "fs", None), "protocol", ())  # as fsspec has it
    return str(Path(store.path, array.path)) if store is not None and of_disk else None


def _folders_within(array: Any) -> Iterator[str]:
    """Yield the folders of Zarr arrays that a Dask array was made of, as `from_zarr` and `from_array` do."""
    for name, layer in array.dask.layers.items():
        inline = [held for held, _ in getattr(layer, "indices", ())]  # within the task of each block
        for held in [layer[name]] if name.startswith("original-") else inline:
            if is_lazy(held) and (folder := _folder(held)):
                yield folder


def _ask_workers(folders: list[str]) -> None:
    """Refuse folders without the array on a worker that is there now, if Dask works on a cluster."""
    from dask.base import get_scheduler

    client: Any = getattr(get_scheduler(), "__self__", None)  # type: ignore[no-untyped-call]
    if not folders or not hasattr(client, "run"):
        return
    for host, missed in client.run(_missed, folders).values():
        if missed:
            raise _not_found(missed[0], host)


def _missed(folders: list[str]) -> tuple[str, list[str]]:
    return platform.node(), [folder for folder in folders if not _holds_array(folder)]


def _holds_array(folder: str) -> bool:
    return any(Path(folder, name).exists() for name in _DESCRIPTIONS)


def _not_found(folder: str, host: str) -> FileError:
    return FileError(
        f"{folder}: a worker on {host} finds no Zarr array there; give its full name, "
        "in a folder that all machines have under the same name"
    )
