"""What can go wrong, as classes: everything panfocus raises on purpose is a PanfocusError."""


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
