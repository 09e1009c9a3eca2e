"""Retouching of a fused image: read the file of strokes, check it against the frames, and paint."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import read_json
from panfocus.job.request import Request
from panfocus.retouch import Strokes, paint_strokes, parse_strokes
from panfocus.stack import Frames, colours


def read_strokes(request: Request, frames: Frames) -> Strokes | None:
    """Read the retouching strokes of a request; refuse those that do not fit frames of this shape."""
    if (path := request.retouch) is None:
        return None
    data = read_json(path)
    height, width = frames.shape[1:3]
    with _naming_file(path):
        strokes = parse_strokes(data)
        strokes.check_frames(len(frames), colours(frames[0]).shape[2])
        # Only cropping makes the image smaller than the frames, by an amount that is not known yet.
        if (
            request.align == "off"
            or request.borders == "full"
            or strokes.height > height
            or strokes.width > width
        ):
            strokes.check_size(width, height)
    return strokes


def retouch_image(strokes: Strokes, image: NDArray[Any], frames: Frames, path: Path | None) -> NDArray[Any]:
    """Return the image with strokes painted from the aligned frames; `path` names their file in errors."""
    height, width = frames.shape[1:3]
    with _naming_file(path):
        strokes.check_size(width, height)
    return paint_strokes(image, frames, strokes.strokes)


@contextmanager
def _naming_file(path: Path | None) -> Iterator[None]:
    """Turn an InputError into a FileError that names the file."""
    try:
        yield
    except InputError as error:
        raise FileError(
            f"{path}: {error.message}", hint=error.hint, **error.facts | {"file": path}
        ) from error
