"""Folders that appear when they are complete and are replaced as a whole, such as Zarr stores."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from panfocus.errors import FileError
from panfocus.io.atomic_files import TEMPORARY_HERE, trial_folder
from panfocus.io.file_errors import add_path_to_errors

_OLD = "replaced"


def check_store_destination(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Raise if a store cannot be created, or exists and must not be replaced."""
    if not path.parent.is_dir():
        raise FileError(f"{path}: The folder {path.parent} does not exist.", file=str(path))
    here = path.resolve()
    for source in (path.resolve() for path in inputs):
        if here == source or here in source.parents or source in here.parents:
            raise FileError(f"{path}: This is an input, or inside an input.", file=str(path))
    if path.exists() and not force:
        raise FileError(f"{path}: The store exists.", hint="overwrite", file=str(path))
    if path.exists() and not _is_store(path):
        raise FileError(f"{path}: This is not a Zarr store and is not replaced by one.", file=str(path))
    trial = path.with_name(f"{TEMPORARY_HERE}trial")
    with suppress(OSError):
        trial.rmdir()  # of a killed process
    with trial_folder(trial):
        pass


def store_exists(path: Path) -> bool:
    """Return whether a file or a complete store exists; a late worker may leave single chunks."""
    return path.is_file() or _is_store(path)


def _is_store(path: Path) -> bool:
    return any((path / name).is_file() for name in ("zarr.json", ".zgroup"))


def bring_to_disk(source: Path, aside: Path) -> Path:
    """Return a store on the disk of `aside`: `source` itself, or a copy if it is on another disk.

    `aside` is a new folder for the copy, and later for a store that is replaced.
    """
    with add_path_to_errors(aside):
        trial = source.with_name(aside.name)  # a trial rename is the only reliable check
        trial.mkdir(exist_ok=True)
        try:
            trial.rename(aside)
        except OSError:
            trial.rmdir()
            aside.mkdir()
            return Path(shutil.copytree(source, aside / source.name))
    return source


def move_into_place(waiting: Path, target: Path, aside: Path, *, force: bool) -> None:
    """Rename a store or file on the same disk to its final name; `force` replaces an older one.

    If the process is killed, the new store is complete and the old one remains until it is replaced. Another
    call resumes.
    """
    with add_path_to_errors(target):
        if store_exists(waiting):
            if target.exists() and not force:
                raise FileError("The store exists.", hint="overwrite")
            if target.is_dir():
                remove_quietly(aside / _OLD)
                target.rename(aside / _OLD)
            waiting.replace(target)
        if aside.exists():
            remove_folder(aside)


def restore_replaced(target: Path, aside: Path) -> None:
    """Undo an unfinished `move_into_place`."""
    with add_path_to_errors(target):
        if (aside / _OLD).exists() and not target.exists():
            (aside / _OLD).rename(target)
        remove_quietly(aside)


def remove_folder(path: Path) -> None:
    """Remove a folder and its contents."""
    with add_path_to_errors(path):
        shutil.rmtree(path)


def remove_quietly(path: Path) -> None:
    """Remove a folder as far as possible; other processes may be writing into it."""
    shutil.rmtree(path, ignore_errors=True)
