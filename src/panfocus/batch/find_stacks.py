"""Find the stacks of a batch: by folders, by a pattern, by a CSV table, or one per multi-page file."""

import csv
import io
import math
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from panfocus.batch.output_names import RECORD, check_distinct, find_name_problem, normalise_name
from panfocus.batch.stack_task import is_result
from panfocus.errors import FileError, InputError
from panfocus.io.file_errors import add_path_to_errors, check_regular
from panfocus.io.headers import read_headers
from panfocus.io.input_files import (
    INPUT_SUFFIXES,
    describe_results,
    describe_skipped,
    find_results,
    is_unsupported,
    sort_naturally,
)

STORE_SUFFIX = ".zarr"
DELIMITERS = ",;\t"  # of CSV; spreadsheets write ; where numbers have a decimal comma


@dataclass(frozen=True)
class FoundStacks:
    """Stacks by name, and files that are in none."""

    stacks: dict[str, tuple[Path, ...]]
    unused: Sequence[Path] = ()  # pictures in no stack
    skipped: dict[str, str] = field(default_factory=dict)  # by stack: notice about unsupported pictures
    failed: dict[str, str] = field(default_factory=dict)  # by stack: why it cannot be fused
    duplicates: Sequence[Path] = ()  # symbolic links to folders that are searched anyway


def find_stacks(
    folder: Path,
    *,
    without: Path,
    pattern: str | None = None,
    table: Path | None = None,
    files: bool = False,
) -> FoundStacks:
    """Find the stacks in a folder by a pattern, a table or multi-page files; by default by its folders.

    The output folder `without` is not searched.
    """
    if sum((pattern is not None, table is not None, files)) > 1:
        raise InputError("Choose one of `pattern`, `table` and `files`.")
    if without.exists() and folder.exists() and without.samefile(folder):
        raise InputError(
            f"{without}: This folder holds the stacks. Choose another `output` folder.", file=str(without)
        )
    folder = folder.absolute()
    if pattern is not None:
        return by_pattern(folder, pattern, without=without)
    if table is not None:
        return by_table(folder, table)
    return (by_files if files else by_folders)(folder, without=without)


def by_folders(folder: Path, *, without: Path) -> FoundStacks:
    """Take every folder below `folder` with two or more images as a stack; leave out `without`."""
    stacks, unused, skipped = {}, [], {}
    tree = _scan(folder, without)
    for below, images, unsupported in _images_in(tree):
        results = find_results(images, below)
        frames = [image for image in images if image not in results]
        if below == folder or len(frames) < 2:
            unused += [*images, *unsupported]
            continue
        name = below.relative_to(folder).as_posix()
        stacks[name] = tuple(frames)
        lines = [describe_results(results, below)] if results else []
        lines += [describe_skipped(unsupported, below)] if unsupported else []
        if lines:
            skipped[name] = " ".join(lines)
    found = FoundStacks(stacks, unused, skipped, tree.failed, tree.duplicates)
    return _check_found(found, f"{folder}: No folder below it holds two or more images.", folder)


def by_pattern(folder: Path, pattern: str, *, without: Path) -> FoundStacks:
    """Group images by the part `(?P<stack>...)` of a pattern that matches their whole relative path."""
    try:
        matcher = re.compile(pattern)
    except re.error as error:
        raise InputError(
            f"`pattern` {pattern!r} is not a regular expression: {error}.", setting="pattern", got=pattern
        ) from error
    if "stack" not in matcher.groupindex:
        raise InputError(
            f"`pattern` {pattern!r} has no group named stack. "
            r"Write it like (?P<stack>.+)_z\d+\.tif.",
            setting="pattern",
            got=pattern,
        )
    stacks: defaultdict[str, list[Path]] = defaultdict(list)
    unsupported: defaultdict[str, list[Path]] = defaultdict(list)
    unused = []
    tree = _scan(folder, without)
    for _, images, others in _images_in(tree):
        for paths, groups in ((images, stacks), (others, unsupported)):
            for path in paths:
                match = matcher.fullmatch(path.relative_to(folder).as_posix())
                if match and match["stack"]:
                    groups[match["stack"]].append(path)
                else:
                    unused.append(path)
    unused += [path for name in unsupported if name not in stacks for path in unsupported[name]]
    found = FoundStacks(
        {name: tuple(sort_naturally(paths)) for name, paths in stacks.items()},
        unused,
        {name: describe_skipped(unsupported[name], folder) for name in stacks if name in unsupported},
        tree.failed,
        tree.duplicates,
    )
    return _check_found(found, f"{folder}: No image below it matches the `pattern` {pattern!r}.", folder)


def by_files(folder: Path, *, without: Path) -> FoundStacks:
    """Take every file with several pages or slices as a stack; also damaged TIFFs, which then fail."""
    multipage: list[Path] = []
    unused: list[Path] = []
    tree = _scan(folder, without)
    for _, images, unsupported in _images_in(tree):
        unused += unsupported
        for path in images:
            try:
                is_stack = len(read_headers([path])) > 1
            except FileError:
                is_stack = path.suffix.lower() in (".tif", ".tiff")
            (multipage if is_stack else unused).append(path)
    stacks: dict[str, tuple[Path, ...]] = {}
    names = [path.relative_to(folder) for path in multipage]
    full_names = {name.as_posix() for name in names}
    for path, name in zip(multipage, names, strict=True):
        short = name.with_suffix("").as_posix()  # unless another stack has that name
        stacks[name.as_posix() if short in stacks or short in full_names else short] = (path,)
    found = FoundStacks(stacks, unused, failed=tree.failed, duplicates=tree.duplicates)
    return _check_found(found, f"{folder}: No file below it has several pages.", folder)


def by_table(folder: Path, table: Path) -> FoundStacks:
    """Take stacks from a CSV table with the columns stack, file (relative to `folder`) and maybe order."""
    stacks = {name: tuple(folder / file for file in files) for name, files in _read_table(table).items()}
    for path in (path for files in stacks.values() for path in files):
        if path.is_dir() or (not path.exists() and {*"*?["} & {*path.name}):
            raise FileError(
                f"{table}: {path} is a folder or a glob. Write one row for each file.", file=table, got=path
            )
    return _check_found(FoundStacks(stacks), f"{table}: The table is empty.", table)


@dataclass(frozen=True)
class _Tree:
    """Result of a search through folders."""

    files: dict[Path, list[str]] = field(default_factory=dict)  # by folder
    stores: list[Path] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # by folder: why it cannot be read
    duplicates: list[Path] = field(default_factory=list)


def _scan(folder: Path, without: Path) -> _Tree:
    """Search a folder and the targets of its symbolic links, except hidden folders and results of batches.

    Real folders come before links, each in natural order, so that names do not depend on the disk.
    """
    if not folder.is_dir():
        raise FileError(f"{folder}: There is no such folder.", file=folder)
    tree = _Tree()

    def note_failure(error: OSError) -> None:
        name = os.path.relpath(error.filename, folder).replace(os.sep, "/")
        tree.failed[name] = f"Cannot read this folder: {error.strerror}."

    output = os.path.realpath(without)
    seen: set[str] = set()
    starts = [folder]
    while starts:
        links: list[Path] = []
        for start in sort_naturally(starts):
            for place, below, files in os.walk(start, onerror=note_failure):
                path, real = Path(place), os.path.realpath(place)
                if real in seen:
                    tree.duplicates.append(path)
                if real in seen or real == output or (RECORD in files and is_result(path)):
                    below.clear()
                    continue
                seen.add(real)
                tree.stores.extend(path / name for name in below if name.lower().endswith(STORE_SUFFIX))
                below[:] = [
                    name
                    for name in below
                    if not name.startswith(".") and not name.lower().endswith(STORE_SUFFIX)
                ]
                links += [path / name for name in below if (path / name).is_symlink()]
                tree.files[path] = [name for name in files if not name.startswith(".")]
        starts = links
    return tree


def _images_in(tree: _Tree) -> Iterator[tuple[Path, list[Path], list[Path]]]:
    """Yield each folder with its images and its unsupported pictures, all in natural order.

    Broken symbolic links count as images; reading them raises an error. A store is one unsupported picture.
    """
    for path in sort_naturally(tree.files):
        visible = sort_naturally(path / name for name in tree.files[path])
        images = [file for file in visible if file.suffix.lower() in INPUT_SUFFIXES]
        unsupported = [file for file in visible if is_unsupported(file)]
        if images or unsupported:
            yield path, images, unsupported
    for store in sort_naturally(tree.stores):
        yield store.parent, [], [store]


def _check_found(found: FoundStacks, message: str, source: Path) -> FoundStacks:
    """Move stacks with impossible names to `failed`; raise with a message if no stack is left."""
    unused = found.unused
    if not found.stacks and unused and all(path.name.lower().endswith(STORE_SUFFIX) for path in unused):
        raise InputError(
            f"{unused[0]}: A batch cannot fuse OME-Zarr stores. Fuse each one by itself.", file=unused[0]
        )
    if not found.stacks:
        details = f" Unused: {', '.join(path.name for path in unused[:3])}." if unused else ""
        details += "".join(f" {name}: {reason}" for name, reason in list(found.failed.items())[:1])
        raise InputError(
            f"{message}{details} Use `pattern`, `table` or `files` for stacks in another layout.", file=source
        )
    failed = {name: problem for name in found.stacks if (problem := find_name_problem(name))}
    good = {name: normalise_name(name) for name in found.stacks if name not in failed}
    if not good:
        name, problem = next(iter(failed.items()))
        raise InputError(f"{name!r}: {problem}", stack=name)
    check_distinct(good, normalise_name)
    return replace(
        found,
        stacks={new: found.stacks[name] for name, new in good.items()},
        skipped={new: found.skipped[name] for name, new in good.items() if name in found.skipped},
        failed=failed | found.failed,
    )


class _Row(NamedTuple):
    line: int
    stack: str
    file: Path
    order: float  # of focus; equal ones keep the order of the table


def _read_table(path: Path) -> dict[str, list[Path]]:
    """Return the files of each stack in a CSV table, in order."""
    stacks: defaultdict[str, dict[Path, _Row]] = defaultdict(dict)
    try:
        for row in _read_rows(path):
            first = stacks[row.stack].setdefault(row.file, row)
            if first is not row:
                raise FileError(
                    f"{path}: Lines {first.line} and {row.line} both name {row.file} for the stack "
                    f"{row.stack}. Remove one of them.",
                    file=path,
                    lines=(first.line, row.line),
                )
    except csv.Error as error:
        raise FileError(f"{path}: The file is not a CSV table: {error}.", file=path) from error
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


def _read_rows(path: Path) -> Iterator[_Row]:
    text = _read_text(path)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    # Not line by line: a quoted cell may hold several lines.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    columns = [name.strip().casefold() for name in next(reader, [])]
    if not columns.count("stack") == columns.count("file") == 1:
        raise FileError(
            f"{path}: The first line must name the columns stack and file, once each, and may name order.",
            file=path,
        )
    for padded in reader:
        cells = [cell.strip() for cell in padded]
        if not any(cells):  # spreadsheets write empty rows
            continue
        line = reader.line_num
        values = dict(zip(columns, cells, strict=False))
        stack, file = values.get("stack"), values.get("file")
        if not stack or not file:
            raise FileError(f"{path}: Line {line} lacks a stack or a file.", file=path, line=line)
        order = 0.0
        if "order" in columns:
            number = values.get("order", "")
            try:
                order = float(number.replace(",", ".") if delimiter == ";" else number)
            except ValueError:
                order = math.nan
            if not math.isfinite(order):
                raise FileError(
                    f"{path}: The order in line {line} is not a number: {number!r}.", file=path, line=line
                )
        yield _Row(line, stack, Path(file), order)
