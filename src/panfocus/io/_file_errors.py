"""One line, with the file's name, for whatever goes wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panfocus.errors import FileError, PanfocusError


@contextmanager
def errors_that_name(path: Path | str) -> Iterator[None]:
    """Turn every error inside into a FileError whose text begins with `path`, or a place in a file.

    Decoders raise exceptions of all kinds on a bad file; only a lack of memory is not the file's fault.
    """
    try:
        yield
    except MemoryError:
        raise
    except PanfocusError as error:
        raise FileError(f"{path}: {error}") from error
    except Exception as error:
        # Of the OSErrors, those of the system carry a text of their own; a decoder's do not.
        reason = (
            getattr(error, "strerror", None) or f"damaged, cut off or not what its name says{_own(error)}"
        )
        raise FileError(f"{path}: {reason[0].lower()}{reason[1:]}") from error


def _own(error: Exception) -> str:
    """Return a decoder's own words in brackets; those of Python's errors tell of the code, not the file."""
    if not isinstance(error, OSError) and type(error).__module__ in ("builtins", "struct"):
        return ""
    said = error.args[0] if error.args else ""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(error)
    return f" ({text})" if text else ""


def check_regular(path: Path) -> None:
    """Refuse a link that leads nowhere, and a pipe or a device, which may never end, or never begin."""
    if path.is_symlink() and not path.exists():
        raise FileError("a link to what is not there; mend or remove it")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError("not a file but a pipe or a device; copy its content to a file")
