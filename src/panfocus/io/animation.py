"""Pictures that move: WebP, GIF and PNG, through Pillow."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_OPTIONS: dict[str, dict[str, Any]] = {
    ".webp": {"format": "WEBP", "quality": 80, "method": 4},
    ".gif": {"format": "GIF", "optimize": False, "disposal": 1},
    ".png": {"format": "PNG"},
}
ANIMATION_SUFFIXES = tuple(_OPTIONS)


def encode_animation(
    path: Path, pictures: Iterable[NDArray[np.uint8]], *, milliseconds: int
) -> Callable[[BinaryIO], object]:
    """Encode pictures (h, w, 3), so long each, in an endless turn, into a file that is given later."""
    first, *others = map(Image.fromarray, pictures)
    return partial(
        _save,
        first,
        save_all=True,
        append_images=others,
        duration=milliseconds,
        loop=0,
        **_OPTIONS[path.suffix.lower()],
    )


def _save(picture: Image.Image, file: BinaryIO, **options: Any) -> None:
    picture.save(file, **options)
