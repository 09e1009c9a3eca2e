"""Files that appear whole or not at all, the checks made before they are worked for, and their content."""

import errno
import hashlib
import json
import os
import platform
import secrets
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
from panfocus.io.lock import hold, remove_unless_held

_TEMPORARY = ".panfocus-"
# The machine's name in it: a lock tells whether a file's owner is alive only to those who share the lock.
TEMPORARY_HERE = f"{_TEMPORARY}{zlib.crc32(platform.node().encode()):08x}-"

Content = bytes | Iterable[bytes] | Callable[[BinaryIO], object]  # what a file is to hold


def check_suffix(path: Path, suffixes: Iterable[str]) -> None:
    """Refuse a name that does not end like one of these."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: the name of this output must end in {' or '.join(suffixes)}")


def check_destination(path: Path, *, force: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work is done, a place that cannot be written or holds something to be kept."""
    try:
        folder = _link_target(path).parent
        if not folder.is_dir():
            raise FileError(f"{path}: there is no folder {folder}; create it first")
        if path.is_dir():
            raise FileError(f"{path} is a folder; name a file in it")
        if path.exists():
            _check_existing(path, force=force, inputs=inputs)
        with tempfile.TemporaryFile(dir=folder, prefix=TEMPORARY_HERE):  # the only sure way to know
            pass
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot write into {path.parent} ({error.strerror})") from error


def _check_existing(path: Path, *, force: bool, inputs: Iterable[Path]) -> None:
    if any(path.samefile(frame) for frame in inputs if frame.exists()):
        raise FileError(f"{path} is one of the inputs; choose another name")
    if not path.is_file():
        raise FileError(f"{path} is a pipe or a device, not a file; choose another name")
    if not force:
        raise FileError(f"{path} exists already; choose another name, or overwrite it with --force")
    # The bits as well as the system's word, which lets an administrator write anything.
    if not (path.stat().st_mode & stat.S_IWUSR and os.access(path, os.W_OK)):
        raise FileError(f"{path} is read-only; choose another name, or make it writable")


def _link_target(path: Path) -> Path:
    """Follow a link: the file it points to is replaced, not the link."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise FileError(f"{path} is a link that leads back to itself; choose another name")
    return target


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot make this folder ({error.strerror})") from error


@contextmanager
def create_folder(path: Path) -> Iterator[list[Path]]:
    """Have a folder that files are written into, and a list of what is new: it, and folders above it.

    Where the block fails they go again, unless they hold something.
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
    """Have a folder while checks are made: the only sure way to know that it can be made later.

    What was not there before goes again.
    """
    with create_folder(path) as new:
        yield
        _remove_empty(new)


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # could not be made, or somebody has put something into it
            folder.rmdir()


def write_files(
    contents: Mapping[Path, Content],
    *,
    force: bool = False,
    ready: Callable[[], object] = lambda: None,
    written: Callable[[Path, str, int], object] | None = None,
) -> None:
    """Write several files so that each is complete when it appears and none appears if one fails.

    They are written under temporary names in the same folders and renamed at the end, in their order;
    whatever interrupts that, no temporary file stays behind, but for a kill: what that leaves is removed by
    the next who write there. A large file may come in pieces, each made when it is written, or as a function
    that writes it.

    `ready()` is called when all is written and nothing has appeared yet. `written(path, digest, size)` is
    called for each file as soon as it is written, so that one may tell of those before it.
    """
    for path in contents:
        check_destination(path, force=force)
    targets = [_link_target(path) for path in contents]
    for folder in {target.parent for target in targets}:
        remove_abandoned(folder)
    renames: dict[Path, Path] = {}
    at_work: Path | None = None
    with ExitStack() as files:
        try:
            for target, (path, data) in zip(targets, contents.items(), strict=True):
                at_work = path
                temporary, file = open_temporary(target.parent)
                renames[temporary] = target
                files.callback(_close, file)
                if callable(data):
                    data(file)
                else:
                    file.writelines([data] if isinstance(data, bytes) else data)
                flush_file(file)
                _put_on_disk(file)
                if written:
                    written(path, digest(temporary), temporary.stat().st_size)
            ready()
            if sys.platform == "win32":  # where no open file is renamed, and none is locked
                files.close()
            for temporary, target in renames.items():
                at_work = target
                temporary.replace(target)
        except PanfocusError:  # a FileError, such as of a frame that a content is made of, says its own cause
            raise
        except OSError as error:
            raise FileError(f"cannot write {at_work} ({_reason(error)})") from error
        finally:
            for temporary in renames:
                temporary.unlink(missing_ok=True)


def open_temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """Open a new file that is locked as long as it is open."""
    while True:
        path = folder / f"{TEMPORARY_HERE}{secrets.token_hex(8)}"
        file = path.open("x+b")
        hold(file)
        if path.exists():
            return path, file
        file.close()  # before it was locked, another run took it for abandoned


def is_case_insensitive(folder: Path) -> bool:
    """Tell whether names that differ only by case are one here, as on most disks of macOS and Windows."""
    path, file = open_temporary(folder)
    try:
        return path.with_name(path.name.upper()).exists()
    finally:
        file.close()
        path.unlink(missing_ok=True)


def flush_file(file: BinaryIO) -> None:
    """Make sure that what was written is in the file."""
    file.flush()
    os.close(os.dup(file.fileno()))  # on some network disks only a close tells that they are full
    if os.fstat(file.fileno()).st_size < file.tell():  # NumPy writes by itself, and does not look at the end
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _put_on_disk(file: BinaryIO) -> None:
    """Wait until the disk has a file: renamed before that, it may be empty after a power cut."""
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that knows no such wish
            raise


def _close(file: BinaryIO) -> None:
    """Close a file that was flushed, or could not be: that has been told."""
    with suppress(OSError):
        file.close()


def remove_abandoned(folder: Path) -> None:
    """Remove what killed runs on this machine left: temporary files that nobody holds."""
    for path in folder.glob(f"{TEMPORARY_HERE}*"):
        remove_unless_held(path)


def _reason(error: OSError) -> str:
    """Say why a file was not written; NumPy counts only what it could not write."""
    return error.strerror or f"the disk is full, or a limit is reached: {error}"


def remove_temporaries(folder: Path, *, below: bool = False) -> None:
    """Remove what a killed `write_files` left in a folder, or also `below` it; nobody may write there."""
    for path in (folder.rglob if below else folder.glob)(f"{_TEMPORARY}*"):
        path.unlink(missing_ok=True)


def read_if_exists(path: Path) -> bytes | None:
    """Return what a file holds at this moment; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def read_text(path: Path) -> str:
    """Read a text in UTF-8."""
    with add_path_to_errors(path):
        check_regular(path)
        return path.read_text("utf-8")


def read_json(path: Path) -> Any:
    """Read plain data, such as `encode_json` writes."""
    with add_path_to_errors(path):
        check_regular(path)
        return json.loads(path.read_bytes())


def digest(path: Path) -> str:
    """Return a text that is the same for files of the same content, and for no others."""
    with add_path_to_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
