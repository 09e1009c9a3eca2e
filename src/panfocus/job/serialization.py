"""Requests, and other dataclasses of such fields, as plain data that JSON knows; and back."""

import dataclasses
import types
import typing
from base64 import b64decode, b64encode
from fractions import Fraction
from pathlib import Path
from typing import Any

from panfocus.job.request import Request

_OF_TEXT: dict[Any, Any] = {Path: Path, Fraction: Fraction, bytes: b64decode}


def plain(value: Any) -> Any:
    """Return a request, a part of one, or another dataclass of such fields, as JSON knows it."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if isinstance(value, Path | Fraction) else value


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
    elif kind in _OF_TEXT and isinstance(value, str):
        return _OF_TEXT[kind](value)
    elif type(value) is kind or (kind is float and type(value) is int):
        return value
    raise ValueError(f"{value!r} is not of the kind {kind}")
