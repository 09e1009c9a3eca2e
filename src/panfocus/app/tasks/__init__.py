"""Tasks of worker processes.

A task is sent as JSON: its name in "task", and its arguments. "fuse" is the function `run` of the module
`fuse`, "scan_frame.preview" the function `preview` of `scan_frame`. The function sends events, whose kind is
in "event", and returns the result.
"""

from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

Send = Callable[[dict[str, Any]], None]


class FrameToCheck(TypedDict):
    """A frame of a stack: its file, its thumbnail, and the digest of its pixels."""

    name: str
    path: str
    thumbnail: str
    digest: str | None


class Estimate(TypedDict):
    """Time in seconds, memory in bytes, and size of a fusion; or the `error` that prevents it."""

    seconds: float | None
    compiling: float  # of the seconds, those that compile code once
    memory: int | None
    n_frames: int | None
    width: int | None
    height: int | None
    warnings: list[str]
    error: str | None


class FusionSummary(TypedDict):
    """Result of a fusion for the page."""

    width: int
    height: int
    n_frames: int
    names: list[str]
    dtype: str
    levels: int
    tile: int
    layers: list[str]
    seconds: float
    report: dict[str, Any]


class LearnSummary(TypedDict):
    """Result of learning: the dictionary's name, the objective of each round, and written frames."""

    dictionary: str
    objective: list[float]
    frames: list[str]


class ExportedFile(TypedDict):
    """A file that was written; `url` is where the page downloads it."""

    name: str
    bytes: int
    url: NotRequired[str]


class ExportSummary(TypedDict):
    """The files that were written, and notices about them."""

    files: list[ExportedFile]
    notices: list[str]
