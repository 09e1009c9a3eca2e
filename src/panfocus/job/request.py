"""What a fusion is asked for: the options as they were given, as plain data that a report can hold."""

import dataclasses
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panfocus.job.outputs import Outputs


@dataclass(frozen=True, kw_only=True)
class Request:
    """One field for each option of `panfocus fuse` that has a say in its results.

    Fields are texts, numbers, truth values, paths, and tuples of them: reports hold them.
    """

    inputs: tuple[str, ...]
    outputs: Outputs
    method: str | None = None
    settings: tuple[str, ...] = ()  # NAME=VALUE
    dictionary: Path | None = None
    hot_pixels: str = "auto"
    align: str = "auto"
    reference: str | None = None  # a frame's name or number
    borders: str = "crop"
    exposure: str = "auto"
    refine: bool = False
    refine_strength: float | None = None
    slabs: str | None = None  # SIZE:OVERLAP
    preview: bool = False
    step: str | None = None  # from frame to frame, with its unit
    skip_bad: bool = False
    apply_to: tuple[tuple[str, ...], ...] = ()  # inputs of other sets of frames
    channel: int | None = None  # of microscopes' files
    time: int | None = None
    jpeg_quality: int = 95
    jpeg_subsampling: str = "444"
    # These change no pixel.
    max_memory: str | None = None
    threads: int | None = None


# A redone run may have its own.
FREE = ("inputs", "outputs", "max_memory", "threads")


def plain(value: Any) -> Any:
    """Return a request, or a part of one, as JSON knows it."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def restored(value: Any, kind: Any = Request) -> Any:
    """Undo `plain`; what is not of the kind that is expected is a ValueError."""
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        kinds = typing.get_type_hints(kind)
        if value.keys() <= kinds.keys():
            return typing.cast(Any, kind)(**{name: restored(value[name], kinds[name]) for name in value})
    elif typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(restored(part, typing.get_args(kind)[0]) for part in value)
    elif isinstance(kind, types.UnionType):
        if value is None:
            return None
        return restored(value, typing.get_args(kind)[0])
    elif kind is Path and isinstance(value, str):
        return Path(value)
    elif type(value) is kind or (kind is float and type(value) is int):
        return value
    raise ValueError(f"{value!r} is not of the kind {kind}")
