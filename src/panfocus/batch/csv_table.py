"""A table that tells which files are which stack, as spreadsheets write it."""

import csv
import io
import math
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from panfocus.errors import FileError
from panfocus.io.file_errors import add_path_to_errors, check_regular

DELIMITERS = ",;\t"  # the second where numbers have a decimal comma


@dataclass(frozen=True)
class _Row:
    line: int
    stack: str
    file: Path
    order: float  # of focus; equal ones stay as they are in the table


def read_table(path: Path) -> dict[str, list[Path]]:
    """Return the files of each stack, in their order; a row that cannot be meant is named by its line."""
    stacks: defaultdict[str, dict[Path, _Row]] = defaultdict(dict)
    try:
        for row in _rows(path):
            before = stacks[row.stack].setdefault(row.file, row)
            if before is not row:
                raise FileError(
                    f"{path}: lines {before.line} and {row.line} both name {row.file} for the stack "
                    f"{row.stack}; remove one of them"
                )
    except csv.Error as error:
        raise FileError(f"{path}: no table in CSV ({error})") from error
    return {
        stack: [row.file for row in sorted(rows.values(), key=lambda row: row.order)]
        for stack, rows in stacks.items()
    }


def _read_text(path: Path) -> str:
    """Return the text of a table in UTF-8, or in UTF-16 with a byte order mark."""
    with add_path_to_errors(path):
        check_regular(path)
        data = path.read_bytes()
        try:
            return data.decode("utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
        except UnicodeError as error:
            raise FileError("The table is not UTF-8. Save it as CSV UTF-8.") from error


def _rows(path: Path) -> Iterator[_Row]:
    text = _read_text(path)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    # Read as one text: a cell in quotation marks may hold several lines.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    columns = [name.strip().casefold() for name in next(reader, [])]
    if not columns.count("stack") == columns.count("file") == 1:
        raise FileError(
            f"{path}: needed is a first line with the columns stack and file, once each, and maybe order"
        )
    for padded in reader:
        cells = [cell.strip() for cell in padded]  # a blank behind a name is a slip, not another stack
        if not any(cells):  # spreadsheets write empty rows too
            continue
        where = f"{path}: line {reader.line_num}"
        named = dict(zip(columns, cells, strict=False))
        stack, file = named.get("stack"), named.get("file")
        if not stack or not file:
            raise FileError(f"{where} names no stack or no file")
        order = _order(named.get("order", ""), where, delimiter) if "order" in columns else 0.0
        yield _Row(reader.line_num, stack, Path(file), order)


def _order(typed: str, where: str, delimiter: str) -> float:
    try:
        order = float(typed.replace(",", ".") if delimiter == ";" else typed)
    except ValueError:
        order = math.nan
    if not math.isfinite(order):
        raise FileError(f"{where} has an order that is no number: {typed!r}")
    return order
