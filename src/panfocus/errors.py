"""What can go wrong, as classes: everything panfocus raises on purpose is a PanfocusError."""

from collections.abc import Iterator
from contextlib import contextmanager


class PanfocusError(Exception):
    """Base of all errors raised on purpose; its text is one line that says what to do."""


class InputError(PanfocusError, ValueError):
    """An argument, a setting or the frames themselves cannot be used."""


class FileError(PanfocusError, OSError):
    """A file cannot be read or written, or does not hold what its name promises."""


class AlignmentError(PanfocusError):
    """Frames that cannot be brought to lie on the others; `frames` are their numbers, from 0."""

    def __init__(self, message: str, frames: tuple[int, ...]) -> None:
        super().__init__(message)
        self.frames = frames


class MissingExtraError(PanfocusError):
    """A library that an extra of panfocus brings is not installed."""


class NotEnoughMemoryError(InputError):
    """More memory would be needed than may be taken; `needed` are the bytes."""

    def __init__(self, message: str, needed: int) -> None:
        super().__init__(message)
        self.needed = needed


def needs_extra(what: str, packages: str, extra: str) -> str:
    """Say that something needs packages, and how to get them: an extra of panfocus brings them."""
    return f"{what} needs {packages}: {how_to_get(extra)}"


def how_to_get(extra: str) -> str:
    """Return the command that installs an extra of panfocus."""
    return f"pip install 'panfocus[{extra}]'"


class UsageError(InputError):
    """The command or the form is wrong, not what was found in a file."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Count an argument that is refused inside as wrong usage."""
    try:
        yield
    except InputError as error:
        raise UsageError(str(error)) from error
