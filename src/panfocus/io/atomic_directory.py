"""Folders that are results as a whole, as stores are: they appear complete, and are replaced as one."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from panfocus.errors import FileError
from panfocus.io.atomic_files import TEMPORARY_HERE, trial_folder
from panfocus.io.file_errors import add_path_to_errors

_OLD = "replaced"


def check_store_destination(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work is done, a store that cannot be made, or replaces something to be kept."""
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}; create it first")
    here = path.resolve()
    for given in inputs:
        if here == given.resolve() or here in given.resolve().parents or given.resolve() in here.parents:
            raise FileError(f"{path} is one of the inputs, or lies in one; choose another name")
    if path.exists() and not force:
        raise FileError(f"{path} exists already; choose another name, or overwrite it with --force")
    if path.exists() and not _is_store(path):
        raise FileError(f"{path} is no Zarr store, and not replaced by one; choose another name")
    trial = path.with_name(f"{TEMPORARY_HERE}trial")
    with suppress(OSError):
        trial.rmdir()  # which a kill has left
    with trial_folder(trial):
        pass


def store_exists(path: Path) -> bool:
    """Whether there is a store, or a file; a late worker may have written chunks where a store had been."""
    return path.is_file() or _is_store(path)


def _is_store(path: Path) -> bool:
    return any((path / name).is_file() for name in ("zarr.json", ".zgroup"))


def bring_to_disk(source: Path, aside: Path) -> Path:
    """Return what a rename can bring to where `aside` is: a folder itself, or a copy if that is another disk.

    `aside` is new: a folder for the copy, and for what will be replaced.
    """
    with add_path_to_errors(aside):
        trial = source.with_name(aside.name)  # the only sure way to know
        trial.mkdir(exist_ok=True)
        try:
            trial.rename(aside)
        except OSError:
            trial.rmdir()
            aside.mkdir()
            return Path(shutil.copytree(source, aside / source.name))
    return source


def move_into_place(waiting: Path, target: Path, aside: Path, *, force: bool) -> None:
    """Give a store or a file that is within reach its name, by force in place of an older one.

    A kill at any moment leaves the new one whole, and the older one until the new has its name; called again,
    this goes on from there.
    """
    with add_path_to_errors(target):
        if store_exists(waiting):
            if target.exists() and not force:
                raise FileError("exists already; choose another name, or overwrite it with --force")
            if target.is_dir():
                remove_quietly(aside / _OLD)
                target.rename(aside / _OLD)
            waiting.replace(target)
        if aside.exists():
            remove_folder(aside)


def restore_replaced(target: Path, aside: Path) -> None:
    """Undo what was done to take a place that is not to be taken any more."""
    with add_path_to_errors(target):
        if (aside / _OLD).exists() and not target.exists():
            (aside / _OLD).rename(target)
        remove_quietly(aside)


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it."""
    with add_path_to_errors(path):
        shutil.rmtree(path)


def remove_quietly(path: Path) -> None:
    """Remove what can be removed of a folder: others may be writing into it."""
    shutil.rmtree(path, ignore_errors=True)
