"""Tiles on all cores: every pixel is what the method gives for the whole image, bit for bit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._progress import Progress, silent
from panfocus._threads import map_blocks
from panfocus.methods import FusionMethod, FusionResult, Surveyor, Tile, cover

MIN_SIDE = 320  # two tiles a side, and work for four threads, in the 520 pixels of the usual test images
HALOS_PER_SIDE = 8  # a wide halo takes wide tiles, or most of the work would be done twice
MAX_SIDE = 1000  # but every thread holds one


def run(
    method: FusionMethod, frames: NDArray[Any], progress: Progress = silent, *, side: int | None = None
) -> FusionResult:
    """Fuse frames (n, h, w) or (n, h, w, c) by a method, in tiles of at most `side` pixels if it has a halo.

    Neither the side of the tiles nor the number of threads changes the result.
    """
    height, width = frames.shape[1:3]
    progress("fuse", 0.0)  # before the first tile, which may have to compile
    if isinstance(method, Surveyor):
        # In another thread: an interrupt of this one, where the compiler calls back into Python, is lost.
        (method,) = map_blocks(method.survey, [frames])
    if method.halo is None:
        result = method.fuse(frames, Tile.whole((height, width)))
        progress("fuse", 1.0)
        return result
    side = side or min(MAX_SIDE, max(MIN_SIDE, HALOS_PER_SIDE * method.halo))
    tiles = cover((height, width), side, method.halo)
    image = np.empty(frames.shape[1:], frames.dtype)
    maps: dict[str, NDArray[Any]] = {}
    report: dict[str, Any] = {}

    def fuse(tile: Tile) -> tuple[Tile, FusionResult]:
        return tile, method.fuse(frames[:, *tile.outer], tile)

    parts = map(fuse, tiles) if getattr(method, "threaded", False) else map_blocks(fuse, tiles)
    for i, (tile, part) in enumerate(parts):
        image[tile.inner] = part.image
        for name in method.maps:
            values = getattr(part, name)
            maps.setdefault(name, np.empty((height, width), values.dtype))[tile.inner] = values
        report = part.report
        progress("fuse", (i + 1) / len(tiles))
    return FusionResult(image=image, report=report, **maps)
