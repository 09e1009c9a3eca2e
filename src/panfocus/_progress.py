"""Callbacks for progress and for finished parts; the library never prints."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Called repeatedly with the current stage and the share of it that is done, 0 to 1."""

    def __call__(self, stage: str, done: float) -> None: ...


def silent(stage: str, done: float) -> None:
    """Report nothing."""


def track(items: Iterable[T], stage: str, progress: Progress) -> Iterator[T]:
    """Yield the items of a loop, and report the share that is done before and after each."""
    items = list(items)
    progress(stage, 0.0)
    for done, item in enumerate(items, start=1):
        yield item
        progress(stage, done / len(items))


class Watch(Protocol):
    """Called with each finished part of a result: its rows, columns and FusionResult."""

    def __call__(self, rows: slice, cols: slice, part: Any) -> None: ...


def unwatched(rows: slice, cols: slice, part: Any) -> None:
    """Ignore the part."""
