"""Checkpoints: records next to results, by which a later run skips finished work."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from panfocus.errors import FileError
from panfocus.io.atomic_files import read_json, write_files
from panfocus.io.encode import encode_json

FileStamp = list[int] | None  # a list, as JSON returns it


@dataclass(frozen=True)
class Fingerprint:
    """Everything that a result depends on: the version of the program, and two digests."""

    version: str
    settings: str
    inputs: str

    @classmethod
    def of(cls, version: str, settings: object, inputs: object) -> "Fingerprint":
        """Digest settings and inputs, which are plain data as in JSON."""
        return cls(version, _digest(settings), _digest(inputs))

    def difference(self, other: "Fingerprint") -> str | None:
        """Return the first part that differs: version, settings or inputs; None if all are equal."""
        mine, theirs = asdict(self), asdict(other)
        return next((part for part in mine if mine[part] != theirs[part]), None)


@dataclass(frozen=True)
class Record:
    """Content of a record file. The fingerprint is empty in records of other versions of the program."""

    fingerprint: Fingerprint
    content: Mapping[str, Any]


def encode_record(fingerprint: Fingerprint, content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a record file. Write it with its results, or after them, never before."""
    return encode_json({"fingerprint": asdict(fingerprint), **content})


def read_record(path: Path) -> Record | None:
    """Return the record in a file; None if there is none, or the file is something else."""
    try:
        content = read_json(path)
    except FileError:
        return None
    if not isinstance(content, dict) or "fingerprint" not in content:
        return None
    try:
        fingerprint = Fingerprint(**content.pop("fingerprint"))
    except TypeError:
        fingerprint = Fingerprint("", "", "")
    return Record(fingerprint, content)


def write_note(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as JSON; the file appears at once or not at all."""
    write_files({path: encode_json(content)}, force=True)


def read_note(path: Path) -> Any:
    """Return the plain data that `write_note` wrote; None if there is no file."""
    return read_json(path) if path.exists() else None


def file_stamp(path: Path) -> FileStamp:
    """Return size (bytes) and modification time (ns) of a file: a digest would have to read it."""
    try:
        status = path.stat()
    except OSError:  # a dictionary that the package ships, or a file that is missing
        return None
    return [status.st_size, status.st_mtime_ns]


def _digest(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
