"""Files and folders that appear when they are complete, checks of their places, and reading of text files."""

import errno
import hashlib
import json
import os
import platform
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from panfocus.errors import FileError, InputError, PanfocusError
from panfocus.io.file_errors import add_path_to_errors, check_regular
from panfocus.io.lock import lock_file, remove_unless_locked

_TEMPORARY = ".panfocus-"
# Contains the machine's name, because a lock shows only on its own machine whether the owner is running.
TEMPORARY_HERE = f"{_TEMPORARY}{zlib.crc32(platform.node().encode()):08x}-"

Content = (
    bytes | Iterable[bytes] | Callable[[BinaryIO], object]
)  # content of a file, or a function that writes it


def check_suffix(path: Path, suffixes: Iterable[str]) -> None:
    """Raise if a name does not end in one of the suffixes."""
    if path.suffix.lower() not in suffixes:
        *most, last = [suffix for suffix in suffixes if suffix not in (".tiff", ".jpeg")]  # other spellings
        endings = f"{', '.join(most)} or {last}" if most else last
        message = f"{path}: The name of this output must end in {endings}."
        raise InputError(message, file=str(path), needed=tuple(suffixes))


def check_destination(path: Path, *, force: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raise if a file cannot be written, or exists and must not be replaced."""
    with add_path_to_errors(path):
        folder = _resolve_link(path).parent
        if not folder.is_dir():
            raise FileError(f"The folder {folder} does not exist.", problem="no folder")
        if path.is_dir():
            raise FileError("This is a folder. Name a file in it.", problem="folder")
        if path.exists():
            _check_existing(path, force=force, inputs=inputs)
        try:
            with tempfile.TemporaryFile(dir=folder, prefix=TEMPORARY_HERE):  # the only reliable check
                pass
        except OSError as error:
            reason = error.strerror
            raise FileError(f"Cannot write into {path.parent} ({reason}).", problem=reason) from error


def _check_existing(path: Path, *, force: bool, inputs: Iterable[Path]) -> None:
    if any(path.samefile(frame) for frame in inputs if frame.exists()):
        raise FileError("This is one of the inputs. Choose another name.", problem="input")
    if not path.is_file():
        raise FileError("This is a pipe or a device, not a file.", problem="pipe")
    if not force:
        raise FileError("The file exists.", hint="overwrite", problem="exists")
    # The mode is checked too, because the system lets an administrator write anything.
    if not (path.stat().st_mode & stat.S_IWUSR and os.access(path, os.W_OK)):
        raise FileError("The file is read-only.", problem="read-only")


def _resolve_link(path: Path) -> Path:
    """Return the target of a symbolic link: the target is replaced, not the link."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise FileError("The symbolic link points to itself.", problem="link")
    return target


def make_folder(path: Path) -> None:
    """Create a folder and its parents if they do not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: Cannot create this folder ({error.strerror}).", file=str(path)) from error


@contextmanager
def create_folder(path: Path) -> Iterator[list[Path]]:
    """Create a folder and its parents, and provide a list of the new ones.

    If the block raises, new folders are removed unless they contain something.
    """
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        make_folder(path)
        yield new
    except BaseException:
        _remove_empty(new)
        raise


@contextmanager
def trial_folder(path: Path) -> Iterator[None]:
    """Create a folder while checks are made, then remove it; the only reliable check of permissions."""
    with create_folder(path) as new:
        yield
        _remove_empty(new)


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # never created, or not empty
            folder.rmdir()


def write_files(
    contents: Mapping[Path, Content],
    *,
    force: bool = False,
    ready: Callable[[], object] = lambda: None,
    written: Callable[[Path, str, int], object] | None = None,
) -> None:
    """Write several files. Each is complete when it appears, and none appears if one fails.

    Files are written under temporary names in the same folders and renamed at the end, in their order.
    Temporary files of a killed process are removed by the next process that writes there.

    Parameters
    ----------
    contents : mapping
        Content of each file: bytes, an iterable of bytes, or a function that writes into a file.
    force : bool
        Whether existing files are replaced.
    ready : callable
        Called when all files are written, before the first one appears.
    written : callable, optional
        Called with path, digest and size after each file, so that a later file can refer to it.
    """
    for path in contents:
        check_destination(path, force=force)
    targets = [_resolve_link(path) for path in contents]
    for folder in {target.parent for target in targets}:
        remove_abandoned(folder)
    renames: dict[Path, Path] = {}
    published: list[Path] = []
    current: Path | None = None
    with ExitStack() as files:
        try:
            for target, (path, data) in zip(targets, contents.items(), strict=True):
                current = path
                temporary, file = open_temporary(target.parent)
                renames[temporary] = target
                files.callback(_close, file)
                _write_content(data, file)
                flush_file(file)
                _sync(file)
                if written:
                    written(path, digest(temporary), temporary.stat().st_size)
            ready()
            if sys.platform == "win32":  # where open files cannot be renamed
                files.close()
            for temporary, target in renames.items():
                current = target
                if force or not _link(temporary, target):
                    temporary.replace(target)
                published.append(target)
        except PanfocusError:  # for example a FileError of a frame that is read while writing
            raise
        except OSError as error:
            for target in () if force else published:
                target.unlink(missing_ok=True)
            raise _write_error(current, error) from error
        finally:
            for temporary in renames:
                temporary.unlink(missing_ok=True)


def _write_error(path: Path | None, error: OSError) -> FileError:
    if isinstance(error, FileExistsError):  # another process created the file meanwhile
        message = f"{path}: The file exists."
        return FileError(message, hint="overwrite", file=str(path), problem="exists")
    # NumPy reports only the number of bytes that it could not write.
    reason = error.strerror or f"the disk is full: {error}"
    return FileError(f"{path}: Cannot write this file ({reason}).", file=str(path), problem=reason)


def _link(temporary: Path, target: Path) -> bool:
    """Give a finished file its final name too, and raise if the name exists; False if there are no links."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def deferred(make: Callable[[], Content]) -> Content:
    """Return a content that is made only when its file is written, so that it takes no memory before."""
    return lambda file: _write_content(make(), file)


def _write_content(content: Content, file: BinaryIO) -> None:
    if callable(content):
        content(file)
    else:
        file.writelines([content] if isinstance(content, bytes) else content)


def open_temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """Create a file that is locked while it is open."""
    while True:
        path = folder / f"{TEMPORARY_HERE}{secrets.token_hex(8)}"
        file = path.open("x+b")
        lock_file(file)
        if path.exists():
            return path, file
        file.close()  # another process removed it before it was locked


def is_case_insensitive(folder: Path) -> bool:
    """Return whether names that differ only in case are the same here, as usual on macOS and Windows."""
    path, file = open_temporary(folder)
    try:
        return path.with_name(path.name.upper()).exists()
    finally:
        file.close()
        path.unlink(missing_ok=True)


def flush_file(file: BinaryIO) -> None:
    """Flush a file, and raise if the disk is full."""
    file.flush()
    os.close(os.dup(file.fileno()))  # some network disks report a full disk only on close
    if os.fstat(file.fileno()).st_size < file.tell():  # NumPy does not check this
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sync(file: BinaryIO) -> None:
    """Wait until a file is on disk; renamed earlier, it may be empty after a power failure."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not supported by this file system
            raise


def _close(file: BinaryIO) -> None:
    """Close a file; errors were reported when it was flushed."""
    with suppress(OSError):
        file.close()


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of killed processes on this machine."""
    for path in folder.glob(f"{TEMPORARY_HERE}*"):
        remove_unless_locked(path)


def remove_temporaries(folder: Path, *, below: bool = False) -> None:
    """Remove temporary files in a folder, or also `below` it. No process may be writing there."""
    for path in (folder.rglob if below else folder.glob)(f"{_TEMPORARY}*"):
        path.unlink(missing_ok=True)


def read_if_exists(path: Path) -> bytes | None:
    """Return the content of a file, or None if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file."""
    with add_path_to_errors(path):
        check_regular(path)
        return path.read_text("utf-8")


def read_json(path: Path) -> Any:
    """Return the data of a JSON file."""
    with add_path_to_errors(path):
        check_regular(path)
        data = path.read_bytes()
        try:
            return json.loads(data)
        except ValueError as error:
            raise FileError(
                f"This is not a JSON file, or it is damaged ({error}).", problem="damaged"
            ) from error


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with add_path_to_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_OLD = "replaced"


def check_store_destination(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Raise if a store cannot be created, or exists and must not be replaced."""
    here = path.resolve()
    with add_path_to_errors(path):
        if not path.parent.is_dir():
            raise FileError(f"The folder {path.parent} does not exist.", problem="no folder")
        for source in (each.resolve() for each in inputs):
            if here == source or here in source.parents or source in here.parents:
                raise FileError("This is an input, or inside an input.", problem="input")
        if path.exists() and not force:
            raise FileError("The store exists.", hint="overwrite", problem="exists")
        if path.exists() and not _is_store(path):
            raise FileError("This is not a Zarr store and is not replaced by one.", problem="no store")
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
                raise FileError("The store exists.", hint="overwrite", problem="exists")
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
