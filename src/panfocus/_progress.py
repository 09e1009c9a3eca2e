"""Callbacks for progress and for finished parts; the library never prints."""

from typing import Any, Protocol


class Progress(Protocol):
    """Called repeatedly with the current stage and the share of it that is done, 0 to 1."""

    def __call__(self, stage: str, done: float) -> None: ...


def silent(stage: str, done: float) -> None:
    """Report nothing."""


class Watch(Protocol):
    """Called with each finished part of a result: its rows, columns and FusionResult."""

    def __call__(self, rows: slice, cols: slice, part: Any) -> None: ...


def unwatched(rows: slice, cols: slice, part: Any) -> None:
    """Ignore the part."""
