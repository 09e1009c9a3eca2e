"""Convert requests and similar dataclasses to plain data for JSON, and back."""

import dataclasses
import types
import typing
from base64 import b64decode, b64encode
from fractions import Fraction
from pathlib import Path
from typing import Any

from panfocus.job.request import Request

_FROM_TEXT: dict[Any, Any] = {Path: Path, Fraction: Fraction, bytes: b64decode}


def to_plain(value: Any) -> Any:
    """Convert a dataclass of simple fields, such as a Request, to dicts, lists, texts and numbers."""
    if dataclasses.is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if isinstance(value, Path | Fraction) else value


def from_plain(value: Any, kind: Any = Request) -> Any:
    """Convert plain data back to a dataclass of this type; raise ValueError if a value has a wrong type."""
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        kinds = typing.get_type_hints(kind)
        if value.keys() <= kinds.keys():
            return typing.cast(Any, kind)(**{name: from_plain(value[name], kinds[name]) for name in value})
    elif typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(from_plain(part, typing.get_args(kind)[0]) for part in value)
    elif isinstance(kind, types.UnionType):
        if value is None:
            return None
        return from_plain(value, typing.get_args(kind)[0])
    elif kind in _FROM_TEXT and isinstance(value, str):
        return _FROM_TEXT[kind](value)
    elif type(value) is kind or (kind is float and type(value) is int):
        return value
    raise ValueError(f"{value!r} is not of type {kind}")
