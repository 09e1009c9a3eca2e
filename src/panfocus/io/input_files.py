"""Find image files by the files, folders and patterns that a user names."""

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from panfocus.errors import FileError, InputError
from panfocus.io.file_errors import add_path_to_errors
from panfocus.io.jpeg_webp import JPEG_SIGNATURE
from panfocus.io.png import PNG_SIGNATURE
from panfocus.io.raw import RAW_SUFFIXES

# Names that count in folders and patterns; a file that the user names is judged by its content alone.
INPUT_SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".jif", ".png", ".tif", ".tiff", ".webp"),
    *RAW_SUFFIXES,
)
# Names of images in unsupported formats, which are reported when they are skipped.
_UNSUPPORTED = (
    *(".bmp", ".dib", ".gif", ".tga", ".heic", ".heif", ".hif", ".avif", ".jp2", ".j2k", ".jpx", ".jxl"),
    *(".exr", ".hdr", ".psd", ".psb", ".xcf", ".pbm", ".pgm", ".ppm", ".pnm", ".pfm", ".sgi", ".mpo"),
    *(".czi", ".nd2", ".lif", ".lsm", ".stk", ".oib", ".oif", ".vsi", ".dcm", ".fits"),
)
ZARR_SUFFIXES = (".zarr",)  # includes .ome.zarr
TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_MAX_NAMED = 5  # files in a message
# Names that `panfocus fuse` gives its results by default, after the folder or the first frame.
_RESULT = re.compile(r"(.+)-fused(-\d+)?(-slab-\d+)?")


def find_inputs(inputs: Sequence[str | Path], *, warn: Callable[[str], None] | None = None) -> list[Path]:
    """Return the files meant by files, folders and patterns; folders and patterns in natural order.

    Results that `panfocus fuse` wrote into a folder by their default names are skipped there. `warn` is
    called with a notice about them, and about images in unsupported formats.
    """
    if "" in inputs:  # for example an unset shell variable; Path("") would be the current folder
        raise InputError("The name of an input is empty. Use a dot for the current folder.", got="")
    files = [file for path in map(Path, inputs) for file in _expand(path, warn)]
    if warn and (results := find_results(files)):  # that the user named, or the shell for *.png
        warn(f"Results of panfocus are among the inputs: {_names(results)}. Leave them out.")
    return files


def detect_format(head: bytes) -> str | None:
    """Return the format of an image by its first 12 bytes; None if it is not supported."""
    if head.startswith(TIFF_SIGNATURES):
        return "TIFF"
    if head.startswith(PNG_SIGNATURE):
        return "PNG"
    if head.startswith(JPEG_SIGNATURE):
        return "JPEG"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    return None


def sort_naturally(paths: Iterable[Path]) -> list[Path]:
    """Return paths in natural order: file2 before file10."""
    return sorted(paths, key=lambda path: _natural_key(str(path)))


def _expand(path: Path, warn: Callable[[str], None] | None) -> list[Path]:
    with add_path_to_errors(path):
        if path.is_dir():
            candidates = list(path.iterdir())
            empty = "This folder contains no image (JPEG, PNG, TIFF, WebP or RAW)."
        elif not path.exists() and glob.has_magic(
            str(path)
        ):  # an existing file may have brackets in its name
            folder = next(parent for parent in path.parents if parent.exists())
            pattern = str(path.relative_to(folder))
            matches = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207  # Path.glob: no files by **
            candidates, empty = [folder / match for match in matches], "No image matches this pattern."
        else:
            return [path]
        visible = sort_naturally(each for each in candidates if not each.name.startswith("."))
        # Includes broken links and pipes, which raise when they are opened.
        files = [each for each in visible if each.suffix.lower() in INPUT_SUFFIXES and not each.is_dir()]
        results = find_results(files, path)
        files = [each for each in files if each not in results]
        if results and warn:
            warn(describe_results(results, path))
        if files and not warn:
            return files
        unsupported = [each for each in visible if is_unsupported(each)]
        if not files:
            message = f"{empty} Unsupported: {_names(unsupported)}." if unsupported else empty
            raise FileError(message, problem="no image", unsupported=len(unsupported))
        if unsupported and warn:
            warn(describe_skipped(unsupported, path))
        return files


def find_results(files: Sequence[Path], folder: Path | None = None) -> list[Path]:
    """Return files with default names of results: named after `folder` or after another of the files."""
    sources = {(file.parent, _default_stem(file)) for file in files}
    if folder:
        sources.add((folder, folder.resolve().name))
    return [
        file
        for file in files
        if (match := _RESULT.fullmatch(_default_stem(file))) and (file.parent, match[1]) in sources
    ]


def describe_results(files: Sequence[Path], folder: Path) -> str:
    """Return a sentence on results that were skipped."""
    return f"Skipped earlier results of panfocus in {folder}: {_names(files)}."


def _default_stem(file: Path) -> str:
    return file.stem.removesuffix(".ome")


def describe_skipped(files: Sequence[Path], folder: Path) -> str:
    """Return a notice about skipped images."""
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    return f"Skipped {count} in {folder}: unsupported format ({_names(files)})."


def is_unsupported(path: Path) -> bool:
    """Return whether a file is an image by its name or content, but its name does not count in folders."""
    suffix = path.suffix.lower()
    if suffix in INPUT_SUFFIXES or not path.is_file():
        return False
    if suffix in _UNSUPPORTED:
        return True
    with suppress(OSError), path.open("rb") as file:
        return detect_format(file.read(12)) is not None
    return False


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths[:_MAX_NAMED]) + (", ..." if len(paths) > _MAX_NAMED else "")


def _natural_key(text: str) -> list[tuple[int, str]]:
    """Return a sort key: digits count as numbers, letters without case; the text itself breaks ties."""
    parts = [
        (int(part), "") if part.isdecimal() else (-1, part.casefold()) for part in re.split(r"(\d+)", text)
    ]
    return [*parts, (-1, text)]


def is_zarr(path: Path) -> bool:
    """Return whether a path is a Zarr store, an image in one, or has the name of one."""
    if path.suffix.lower() in ZARR_SUFFIXES:
        return True
    with add_path_to_errors(path):
        return path.is_dir() and any((path / name).is_file() for name in ("zarr.json", ".zgroup", ".zarray"))
