"""Retouching as a part of a fusion: strokes are read and checked before any work, and painted after it."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus.errors import FileError, InputError
from panfocus.job.request import Request

if TYPE_CHECKING:
    from panfocus.methods import FusionResult
    from panfocus.retouch import Strokes
    from panfocus.stack import Frames


def check_retouch(request: Request) -> None:
    """Refuse wishes that do not go with strokes."""
    if request.retouch is None:
        return
    for option, given, why in (
        ("--preview", request.preview, "strokes are of the picture's full size"),
        ("--apply-to", request.apply_to, "what is applied is not retouched"),
        ("--skip-bad", request.skip_bad, "strokes count frames; leave bad ones out yourself"),
    ):
        if given:
            raise InputError(f"--retouch with {option}: {why}; leave one of them out")


def read_strokes(request: Request, frames: "Frames") -> "Strokes | None":
    """Read the strokes that were asked for; refuse those that cannot fit such frames, blank ones will do."""
    from panfocus.io.atomic_files import read_json
    from panfocus.retouch import parse_strokes
    from panfocus.stack import colours

    if (path := request.retouch) is None:
        return None
    data = read_json(path)
    height, width = frames.shape[1:3]
    with _named(path):
        strokes = parse_strokes(data)
        strokes.check_frames(len(frames), colours(frames[0]).shape[2])
        if request.align == "off" or strokes.height > height or strokes.width > width:
            check_size(strokes, frames, path)
    return strokes


def check_size(strokes: "Strokes", frames: "Frames", path: Path | None) -> None:
    """Refuse strokes for a picture of another size than the frames, once they are aligned, have."""
    height, width = frames.shape[1:3]
    with _named(path):
        strokes.check_size(width, height)


def retouched(result: "FusionResult", frames: "Frames", strokes: "Strokes") -> "FusionResult":
    """Return the result with its picture, refined or not, painted; the maps stay those of the fusion."""
    from panfocus.retouch import painted

    return dataclasses.replace(result, image=painted(result.image, frames, strokes.strokes))


@contextmanager
def _named(path: Path | None) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise FileError(f"{path}: {error}") from error
