"""How the library tells a caller where it stands: it calls back, it never prints."""

from typing import Any, Protocol


class Progress(Protocol):
    """Called now and then with the stage at work and the share of it that is done, 0 to 1."""

    def __call__(self, stage: str, done: float) -> None: ...


def silent(stage: str, done: float) -> None:
    """Report nothing."""


class Watch(Protocol):
    """Called with each part of a result as soon as it is there: its rows and columns, and a FusionResult."""

    def __call__(self, rows: slice, cols: slice, part: Any) -> None: ...


def unwatched(rows: slice, cols: slice, part: Any) -> None:
    """Show nothing."""
