"""Tasks of worker processes, and the JSON messages in which they are sent and answered.

The module of a task has its name and a function `run(task, send)`.
"""

from collections.abc import Callable
from typing import Any, NotRequired, TypedDict

# Sends an event about a task: its key "event" says which.
Send = Callable[[dict[str, Any]], None]


class ScanTask(TypedDict):
    """Decode the file `path`, and write a picture of its first page to `thumbnail`."""

    task: str
    path: str
    thumbnail: str


class PreviewTask(TypedDict):
    """Write a large picture of the first page of the file `path` to `picture`."""

    task: str
    path: str
    picture: str


class FrameToCheck(TypedDict):
    """A frame of a stack: its file, its thumbnail, and the digest of its pixels."""

    name: str
    path: str
    thumbnail: str
    digest: str | None


class CheckTask(TypedDict):
    """Check whether frames belong to one stack."""

    task: str
    frames: list[FrameToCheck]


class EstimateTask(TypedDict):
    """Estimate the time and memory of a fusion."""

    task: str
    request: dict[str, Any]


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


class FuseTask(TypedDict):
    """Fuse a stack, and save its arrays in the job's `folder`; `reads` are the input files."""

    task: str
    folder: str
    request: dict[str, Any]
    reads: list[str]


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


class LearnTask(TypedDict):
    """Learn a dictionary from `regions`, and write it to `output`; `file` is the TOML file of the regions."""

    task: str
    folder: str
    file: str
    frames_of: str | None
    regions: list[dict[str, Any]]
    reads: list[str]
    settings: dict[str, int]
    output: str


class LearnSummary(TypedDict):
    """Result of learning: the dictionary's name, the objective of each round, and written frames."""

    dictionary: str
    objective: list[float]
    frames: list[str]


class ExportTask(TypedDict):
    """Write files of the fusion in `folder`; `shown` is the same request with names instead of paths."""

    task: str
    folder: str
    request: dict[str, Any]
    shown: dict[str, Any]
    picture: bool


class ExportedFile(TypedDict):
    """A file that was written; `url` is where the page downloads it."""

    name: str
    bytes: int
    url: NotRequired[str]


class ExportSummary(TypedDict):
    """The files that were written, and notices about them."""

    files: list[ExportedFile]
    said: list[str]
