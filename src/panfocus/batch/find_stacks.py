"""Which files are which stack: by their folders, by a pattern, by a table, or each file for itself."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from panfocus.batch.names import RECORD, check_distinct, checked_name, why_no_name
from panfocus.errors import FileError, InputError

STORE = ".zarr"  # how the name of a store ends


@dataclass(frozen=True)
class Found:
    """Stacks by their names, and images that belong to none."""

    stacks: dict[str, tuple[Path, ...]]
    left: tuple[Path, ...] = ()
    unread: dict[str, str] = field(default_factory=dict)  # what is said of pictures that stacks do without
    failed: dict[str, str] = field(default_factory=dict)  # why others, by their names, can have no results
    again: tuple[Path, ...] = ()  # folders that links lead to and that are there by another name


def by_folders(folder: Path, *, without: Path) -> Found:
    """Take every folder below that holds two or more images for a stack."""
    from panfocus.io.input_files import describe_skipped

    stacks, left, unread = {}, [], {}
    tree = _tree(folder, without)
    for below, images, others in _images_in(tree):
        if below == folder or len(images) < 2:
            left += [*images, *others]
            continue
        name = below.relative_to(folder).as_posix()
        stacks[name] = tuple(images)
        if others:
            unread[name] = describe_skipped(others, below)
    none = f"{folder}: no folder below it holds two or more images of a stack"
    return _checked(Found(stacks, tuple(left), unread, tree.failed, tuple(tree.again)), none)


def by_pattern(folder: Path, pattern: str, *, without: Path) -> Found:
    """Take images for one stack if the group `stack` of a pattern, which fits their whole path, is equal."""
    try:
        matcher = re.compile(pattern)
    except re.error as error:
        raise InputError(f"--pattern {pattern}: no regular expression ({error})") from error
    if "stack" not in matcher.groupindex:
        raise InputError(
            f"--pattern {pattern}: the part that names the stack is missing; "
            r"write it like (?P<stack>.+)_z\d+\.tif"
        )
    from panfocus.io.input_files import describe_skipped, sort_naturally

    stacks: defaultdict[str, list[Path]] = defaultdict(list)
    unread: defaultdict[str, list[Path]] = defaultdict(list)
    left = []
    tree = _tree(folder, without)
    for _, images, others in _images_in(tree):
        for paths, of_stacks in ((images, stacks), (others, unread)):
            for path in paths:
                match = matcher.fullmatch(path.relative_to(folder).as_posix())
                if match and match["stack"]:
                    of_stacks[match["stack"]].append(path)
                else:
                    left.append(path)
    left += [path for name in unread if name not in stacks for path in unread[name]]
    found = Found(
        {name: tuple(sort_naturally(paths)) for name, paths in stacks.items()},
        tuple(left),
        {name: describe_skipped(unread[name], folder) for name in stacks if name in unread},
        tree.failed,
        tuple(tree.again),
    )
    return _checked(found, f"--pattern {pattern}: no image below {folder} has such a path")


def by_files(folder: Path, *, without: Path) -> Found:
    """Take every file with several pages or slices for a stack; damaged ones too, to be told of."""
    from panfocus.io.headers import read_headers

    several: list[Path] = []
    left: list[Path] = []
    tree = _tree(folder, without)
    for _, images, others in _images_in(tree):
        left += others
        for path in images:
            try:
                is_stack = len(read_headers([path])) > 1
            except FileError:
                is_stack = path.suffix.lower() in (".tif", ".tiff")
            (several if is_stack else left).append(path)
    stacks: dict[str, tuple[Path, ...]] = {}
    names = [path.relative_to(folder) for path in several]
    whole = {name.as_posix() for name in names}
    for path, name in zip(several, names, strict=True):
        short = name.with_suffix("").as_posix()  # unless another stack has that name
        stacks[name.as_posix() if short in stacks or short in whole else short] = (path,)
    found = Found(stacks, tuple(left), failed=tree.failed, again=tuple(tree.again))
    return _checked(found, f"{folder}: no file below it has several pages")


def by_table(folder: Path, table: Path) -> Found:
    """Take stacks from a table with the columns stack, file (as seen from the folder) and maybe order."""
    from panfocus.batch.csv_table import read_table

    stacks = {name: tuple(folder / file for file in files) for name, files in read_table(table).items()}
    for path in (path for files in stacks.values() for path in files):
        if path.is_dir() or (not path.exists() and {*"*?["} & {*path.name}):
            raise FileError(f"{table}: {path} is a folder or a pattern; name every file in a row of its own")
    return _checked(Found(stacks), f"{table}: no stack in it")


@dataclass(frozen=True)
class _Tree:
    """Folders with the names of their files; stores; folders that are there by another name."""

    places: dict[Path, list[str]] = field(default_factory=dict)
    stores: list[Path] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # why folders, by their names, cannot be read
    again: list[Path] = field(default_factory=list)


def _tree(folder: Path, without: Path) -> _Tree:
    """Look through a folder and where its links lead; hidden folders and results of batches are passed over.

    All folders come before all links, each in natural order: what is there twice has the same name each time.
    """
    from panfocus.io.input_files import sort_naturally

    if not folder.is_dir():
        raise FileError(f"{folder}: there is no such folder")
    tree = _Tree()

    def fail(error: OSError) -> None:
        name = os.path.relpath(error.filename, folder).replace(os.sep, "/")
        tree.failed[name] = f"this folder cannot be read ({error.strerror})"

    results = os.path.realpath(without)
    seen: set[str] = set()
    starts = [folder]
    while starts:
        links: list[Path] = []
        for start in sort_naturally(starts):
            for place, below, files in os.walk(start, onerror=fail):
                path, real = Path(place), os.path.realpath(place)
                if real in seen:
                    tree.again.append(path)
                if real in seen or real == results or (RECORD in files and is_result(path)):
                    below.clear()
                    continue
                seen.add(real)
                tree.stores.extend(path / name for name in below if name.lower().endswith(STORE))
                below[:] = [name for name in below if not _passed_over(name)]
                links += [path / name for name in below if (path / name).is_symlink()]
                tree.places[path] = [name for name in files if not name.startswith(".")]
        starts = links
    return tree


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name.lower().endswith(STORE)


def _images_in(tree: _Tree) -> Iterator[tuple[Path, list[Path], list[Path]]]:
    """Yield folders, their images, and pictures that are not read, all in natural order.

    Links that lead nowhere count as images: whoever opens them says so. A store is one thing, to be told of:
    batches do not fuse it, and it may have a million files.
    """
    from panfocus.io.input_files import INPUT_SUFFIXES, find_unsupported, sort_naturally

    for path in sort_naturally(tree.places):
        visible = sort_naturally(path / name for name in tree.places[path])
        images = [file for file in visible if file.suffix.lower() in INPUT_SUFFIXES]
        others = find_unsupported(visible)
        if images or others:
            yield path, images, others
    for store in sort_naturally(tree.stores):
        yield store.parent, [], [store]


def is_result(folder: Path) -> bool:
    """Tell whether the record in a folder is a batch's: other programs may have files of that name."""
    from panfocus.io.atomic_files import read_json

    try:
        record = read_json(folder / RECORD)
    except FileError:
        return False
    return isinstance(record, dict) and {"fingerprint", "outcome"} <= record.keys()


def _checked(found: Found, none: str) -> Found:
    """Set stacks apart whose names no folder can have; refuse two of one folder, and that there is none."""
    left = found.left
    if not found.stacks and left and all(path.name.lower().endswith(STORE) for path in left):
        raise InputError(f"{left[0]}: an OME-Zarr store is fused by itself, by panfocus fuse, not in a batch")
    if not found.stacks:
        named = f"; left alone: {', '.join(path.name for path in left[:3])}" if left else ""
        named += "".join(f"; {name}: {reason}" for name, reason in list(found.failed.items())[:1])
        raise InputError(f"{none}{named}; see --pattern, --csv and --files for other ways to lay out stacks")
    unnamed = {name: reason for name in found.stacks if (reason := why_no_name(name))}
    good = [name for name in found.stacks if name not in unnamed]
    if not good:
        checked_name(next(iter(unnamed)))
    check_distinct(good, checked_name)
    return replace(
        found,
        stacks={checked_name(name): found.stacks[name] for name in good},
        unread={checked_name(name): found.unread[name] for name in good if name in found.unread},
        failed=unnamed | found.failed,
    )
