"""Folders that are results as a whole, as stores are: they appear complete, and are replaced as one."""

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from panfocus.errors import FileError
from panfocus.io._errors import errors_that_name
from panfocus.io.files import TEMPORARY_HERE, folder_on_trial


def check_new_folder(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work is done, a store that cannot be made, or replaces something to be kept."""
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}; create it first")
    here = path.resolve()
    for given in inputs:
        if here == given.resolve() or here in given.resolve().parents or given.resolve() in here.parents:
            raise FileError(f"{path} is one of the inputs, or lies in one; choose another name")
    if path.exists() and not force:
        raise FileError(f"{path} exists already; choose another name, or overwrite it with --force")
    if path.exists() and not any((path / name).is_file() for name in ("zarr.json", ".zgroup")):
        raise FileError(f"{path} is no Zarr store, and not replaced by one; choose another name")
    with folder_on_trial(path.with_name(f"{TEMPORARY_HERE}trial")):
        pass


def move_folder(source: Path, target: Path, *, force: bool) -> None:
    """Move a folder to its place, also to another disk; it appears there whole, in place of an older one.

    A kill at any moment leaves one of the two whole at least: the older is removed when the new has its name.
    """
    with errors_that_name(target):
        if target.exists() and not force:
            raise FileError("exists already; choose another name, or overwrite it with --force")
        new, old = (target.with_name(f"{TEMPORARY_HERE}{secrets.token_hex(8)}") for _ in range(2))
        shutil.move(source, new)
        if target.exists():
            target.rename(old)
        new.rename(target)
        if old.exists():
            remove_folder(old)


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it."""
    with errors_that_name(path):
        shutil.rmtree(path)
