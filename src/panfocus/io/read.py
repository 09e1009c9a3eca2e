"""From what the user names (files, folders, patterns) to a stack of frames."""

import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus import _checks
from panfocus.errors import FileError, InputError
from panfocus.io._errors import check_regular, errors_that_name
from panfocus.io._frame import Frame
from panfocus.io.png import PNG_SIGNATURE, decode_png
from panfocus.io.raster import JPEG_SIGNATURE, decode_jpeg, decode_webp
from panfocus.io.tiff import TIFF_SIGNATURES, count_pages, decode_pages
from panfocus.stack import Stack

# What a folder is searched for; a file that the user names is judged by its content alone.
_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp")


def find_inputs(inputs: Sequence[str | Path]) -> list[Path]:
    """List the files meant by paths of files, folders and patterns; folders and patterns in natural order."""
    return [path for given in map(Path, inputs) for path in _expand(given)]


def count_frames(paths: Iterable[Path]) -> int:
    """Count frames without decoding them: one a file, one a page of a TIFF."""
    return sum(_count_frames(path) for path in paths)


def read_image(path: str | Path) -> NDArray[Any]:
    """Read the picture in a file; of a TIFF with several pages, the first."""
    _, frame = next(_read_frames(Path(path)))
    return frame.image


def read_single(path: Path) -> NDArray[Any]:
    """Read a file that is to hold one picture; several pages are refused, as one would be left out."""
    n = count_frames([path])
    if n > 1:
        raise FileError(f"{path} holds {n} pages, one is needed; save that one as a file of its own")
    return read_image(path)


def read_stack(paths: Sequence[Path]) -> Stack:
    """Read two or more frames of one size and type, or say which file does not fit."""
    n = count_frames(paths)
    if n < 2:
        raise InputError(f"fusion needs at least two frames, got {n or 'none'}")
    frames: NDArray[Any] = np.empty(0)
    names: list[str] = []
    profiles: list[bytes | None] = []
    has_exif = False
    for name, frame in (read for path in paths for read in _read_frames(path)):
        if not names:
            # Filled one by one: a list that is stacked at the end would take the memory twice.
            frames = np.empty((n, *frame.image.shape), frame.image.dtype)
        names.append(name)
        _checks.check_like(frame.image, name, frames[0], names[0])
        frames[len(names) - 1] = frame.image
        profiles.append(frame.icc_profile)
        has_exif |= frame.has_exif
    notices = []
    if has_exif:
        notices.append("The frames' EXIF data is not carried over.")
    if len(set(profiles)) > 1:
        notices.append(
            "The frames' colour profiles differ: the first frame's is kept, no colour is converted."
        )
    return Stack(frames=frames, names=tuple(names), icc_profile=profiles[0], notices=tuple(notices))


def _expand(given: Path) -> list[Path]:
    with errors_that_name(given):
        if given.is_dir():
            found = _images(given.iterdir())
            if not found:
                raise FileError(f"no image in this folder ({', '.join(_SUFFIXES)})")
            return found
        if not given.exists() and glob.has_magic(str(given)):
            # What is there by that very name is no pattern, even with brackets in it.
            folder = next(parent for parent in given.parents if parent.exists())
            pattern = str(given.relative_to(folder))
            matches = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207  # Path.glob: no files by **
            found = _images(folder / match for match in matches)
            if not found:
                raise FileError("no image matches this pattern")
            return found
        return [given]


def _images(paths: Iterable[Path]) -> list[Path]:
    """Keep the visible images, file2 before file10."""
    images = [
        p for p in paths if p.suffix.lower() in _SUFFIXES and not p.name.startswith(".") and p.is_file()
    ]
    return sorted(images, key=lambda path: _natural(str(path)))


def _natural(text: str) -> list[tuple[int, str]]:
    """Sort key: digits count as numbers, other characters without case; the text itself breaks ties."""
    parts = [
        (int(part), "") if part.isdecimal() else (-1, part.casefold()) for part in re.split(r"(\d+)", text)
    ]
    return [*parts, (-1, text)]


def _count_frames(path: Path) -> int:
    with errors_that_name(path):
        return count_pages(path) if _head(path).startswith(TIFF_SIGNATURES) else 1


def _read_frames(path: Path) -> Iterator[tuple[str, Frame]]:
    with errors_that_name(path):
        head = _head(path)
        if head.startswith(TIFF_SIGNATURES):
            several = count_pages(path) > 1
            for number, frame in enumerate(decode_pages(path), start=1):
                yield (f"{path}, page {number}," if several else str(path)), frame
        elif head.startswith(PNG_SIGNATURE):
            yield str(path), decode_png(path.read_bytes())
        elif head.startswith(JPEG_SIGNATURE):
            yield str(path), decode_jpeg(path.read_bytes())
        elif head[:4] == b"RIFF" and head[8:] == b"WEBP":
            yield str(path), decode_webp(path.read_bytes())
        else:
            raise FileError("not a JPEG, PNG, TIFF or WebP image")


def _head(path: Path) -> bytes:
    check_regular(path)
    with path.open("rb") as file:
        return file.read(12)
