"""Rectangles in registered pairs, listed in a TOML file: one kind of training data."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus.errors import FileError
from panfocus.io.atomic_files import read_text
from panfocus.io.read_stack import read_image


@dataclass(frozen=True)
class _Region:
    """One `[[region]]` table; the file names are relative to the TOML file."""

    focused: str
    blurred: str
    top: int
    left: int
    height: int
    width: int


def read_regions(path: Path) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Cut every listed rectangle out of its focused and its blurred frame; returns the two lists."""
    focused, blurred = [], []
    for number, table in enumerate(_tables(path), start=1):
        label = f"{path}, region {number}"
        region = _parse(table, label)
        sharp_path, soft_path = path.parent / region.focused, path.parent / region.blurred
        sharp, soft = read_image(sharp_path), read_image(soft_path)
        if sharp_path.samefile(soft_path):
            raise FileError(f"{label}: its focused and its blurred frame are the same file")
        if sharp.shape[:2] != soft.shape[:2]:
            raise FileError(f"{label}: its two frames differ in size; they must be registered")
        focused.append(_cut(sharp, sharp_path.name, region, label))
        blurred.append(_cut(soft, soft_path.name, region, label))
    return focused, blurred


def _tables(path: Path) -> list[object]:
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path}: not valid TOML: {error}") from error
    tables = content.get("region")
    if not isinstance(tables, list) or not tables or len(content) != 1:
        raise FileError(f"{path}: needed are [[region]] tables, one or more, and nothing else")
    return tables


def _parse(table: object, label: str) -> _Region:
    wanted = {field.name: field.type for field in fields(_Region)}
    if not isinstance(table, dict) or set(table) != set(wanted):
        raise FileError(f"{label}: its keys must be {', '.join(wanted)}")
    for key, value in table.items():
        if type(value) is not wanted[key]:
            raise FileError(
                f"{label}: {key} must be a {'name' if wanted[key] is str else 'whole number'}, got {value!r}"
            )
    return _Region(**table)


def _cut(image: NDArray[Any], name: str, region: _Region, label: str) -> NDArray[Any]:
    bottom, right = region.top + region.height, region.left + region.width
    if (
        min(region.top, region.left) < 0
        or min(region.height, region.width) < 1
        or bottom > image.shape[0]
        or right > image.shape[1]
    ):
        raise FileError(
            f"{label}: rows {region.top} to {bottom}, columns {region.left} to {right} "
            f"are not within {name}, which has {image.shape[0]} rows and {image.shape[1]} columns"
        )
    return image[region.top : bottom, region.left : right]


def encode_regions(regions: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode rectangles as the TOML that `read_regions` reads."""
    tables = (
        "\n".join(
            ["[[region]]", *(f"{field.name} = {_toml(region[field.name])}" for field in fields(_Region))]
        )
        for region in regions
    )
    text = "\n\n".join(tables) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        name = text[error.start : error.end].encode(errors="backslashreplace").decode()
        raise FileError(f"a frame's name has {name} in it, which is no text; rename the file") from error


def _toml(value: str | int) -> str:
    """Write a text or a whole number; what JSON escapes in a text TOML reads alike, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
