"""A random text that only its owner can read, and folders that only he can enter."""

import os
import re
import secrets
import sys
from pathlib import Path

from panfocus.errors import FileError
from panfocus.io.atomic_files import make_folder
from panfocus.io.file_errors import add_path_to_errors

_ROOT = 0  # who may do everything anyway
_READ, _WRITE, _ENTER = 0o044, 0o022, 0o011  # of the group, and of all others
_TEXT = re.compile(r"[\w-]{32,100}")


def make_private_folder(path: Path) -> None:
    """Make a folder for this user alone, unless it is there."""
    make_folder(path.parent)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot make this folder ({error.strerror})") from error


def check_private(path: Path) -> str | None:
    """Say in a line what other users may do in a folder, if anything; refuse one that belongs to another."""
    if sys.platform == "win32":
        return None
    found = path.stat()
    if found.st_uid not in (os.geteuid(), _ROOT):
        raise FileError(f"{path} belongs to another user, who may read and change all in it; choose another")
    reached = all(folder.stat().st_mode & _ENTER for folder in path.resolve().parents)
    may = [word for word, bits in (("read", _READ), ("write", _WRITE)) if found.st_mode & bits]
    if not (reached and may):
        return None
    return (
        f"{path}: other users may {' and '.join(may)} here; keep them out by chmod go-rwx, or choose another"
    )


def kept_secret(path: Path) -> str:
    """Return the text in a file; where there is none, or no such text, make a new one."""
    with add_path_to_errors(path):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o600)
            kept = path.read_text("utf-8", errors="replace").strip()
            if _TEXT.fullmatch(kept):
                return kept
    fresh = secrets.token_urlsafe(32)
    write_private(path, f"{fresh}\n")
    return fresh


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, in place of what is there by its name."""
    with add_path_to_errors(path):
        path.unlink(missing_ok=True)  # not written into: it may be a link, or open to others
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
