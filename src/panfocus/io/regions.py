"""Training regions: rectangles in registered pairs of frames, listed in a TOML file."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import read_text
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.read_stack import read_image


@dataclass(frozen=True)
class _Region:
    """One `[[region]]` table; file names are relative to the TOML file."""

    focused: str
    blurred: str
    top: int
    left: int
    height: int
    width: int


def read_regions(path: Path) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Return the rectangles of the focused and of the blurred frames."""
    focused, blurred = [], []
    for number, table in enumerate(_read_tables(path), start=1):
        try:
            pair = _read_pair(path.parent, table)
        except InputError as error:
            message = f"{path}, region {number}: {error.message}"
            raise FileError(message, file=str(path), region=number, **error.facts) from error
        focused.append(pair[0])
        blurred.append(pair[1])
    return focused, blurred


def _read_tables(path: Path) -> list[object]:
    text = read_text(path)
    with add_path_to_errors(path):
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise FileError(f"The file is not valid TOML: {error}.", problem="TOML") from error
        tables = content.get("region")
        if not isinstance(tables, list) or not tables or len(content) != 1:
            raise FileError("The file must contain [[region]] tables and nothing else.", problem="tables")
        return tables


def _read_pair(folder: Path, table: object) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a region of the focused and of the blurred frame."""
    region = _parse(table)
    paths = folder / region.focused, folder / region.blurred
    focused, blurred = map(read_image, paths)
    if paths[0].samefile(paths[1]):
        raise InputError("The focused and the blurred frame are the same file.", problem="same file")
    if focused.shape[:2] != blurred.shape[:2]:
        raise InputError("The two frames differ in size. They must be registered.", problem="size")
    return _crop(focused, paths[0].name, region), _crop(blurred, paths[1].name, region)


def _parse(table: object) -> _Region:
    types = {field.name: field.type for field in fields(_Region)}
    if not isinstance(table, dict) or set(table) != set(types):
        raise InputError(f"The keys must be {', '.join(types)}.", needed=tuple(types))
    for key, value in table.items():
        if type(value) is not types[key]:
            kind = "text" if types[key] is str else "whole number"
            raise InputError(f"`{key}` must be a {kind}, got {value!r}.", key=key, got=value)
    return _Region(**table)


def _crop(image: NDArray[Any], name: str, region: _Region) -> NDArray[Any]:
    bottom, right = region.top + region.height, region.left + region.width
    if (
        min(region.top, region.left) < 0
        or min(region.height, region.width) < 1
        or bottom > image.shape[0]
        or right > image.shape[1]
    ):
        raise InputError(
            f"Rows {region.top} to {bottom}, columns {region.left} to {right} are outside of {name}, which "
            f"has {image.shape[0]} rows and {image.shape[1]} columns.",
            frame=name,
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
        raise FileError(f"The name of a frame contains {name}, which is not valid text.", got=name) from error


def _toml(value: str | int) -> str:
    """Return a text or a whole number as TOML; JSON's escapes are valid TOML, apart from one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
