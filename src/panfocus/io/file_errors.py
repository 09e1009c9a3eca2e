"""Turn whatever goes wrong with a file into one FileError that names the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panfocus.errors import FileError, PanfocusError


@contextmanager
def add_path_to_errors(path: Path | str) -> Iterator[None]:
    """Turn every error inside into a FileError whose message starts with `path`; the fact `file` is `path`.

    Decoders raise exceptions of all kinds for a bad file. Only MemoryError passes unchanged.
    """
    try:
        yield
    except MemoryError:
        raise
    except PanfocusError as error:
        if "file" in error.facts:  # the message names it already
            raise
        raise FileError(f"{path}: {error.message}", hint=error.hint, file=str(path), **error.facts) from error
    except Exception as error:
        # Errors of the operating system have a text; errors of decoders have none.
        system = getattr(error, "strerror", None)
        reason = f"{system}." if system else f"The file is damaged or truncated{_decoder_message(error)}."
        raise FileError(f"{path}: {reason}", file=str(path), problem=system or "damaged") from error


def _decoder_message(error: Exception) -> str:
    """Return a decoder's message in brackets; errors of Python itself describe the code, not the file."""
    if not isinstance(error, OSError) and type(error).__module__ in ("builtins", "struct"):
        return ""
    first = error.args[0] if error.args else ""
    text = first.decode(errors="replace") if isinstance(first, bytes) else str(error)
    return f" ({text.strip().rstrip('.')})" if text else ""


def check_regular(path: Path) -> None:
    """Raise for a broken symbolic link, and for a pipe or device, which could block forever."""
    if path.is_symlink() and not path.exists():
        raise FileError("Broken symbolic link.", problem="link")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError("This is a pipe or a device, not a file.", problem="pipe")
