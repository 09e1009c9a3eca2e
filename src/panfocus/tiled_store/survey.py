"""What a tile cannot know by itself, found of every unit: range of values, hot pixels, exposure, noise."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from panfocus.job.memory_plan import PROGRAM
from panfocus.tiled_store.checkpoint import RunFolder, Task
from panfocus.tiled_store.tile_plan import DECODED, STORES, rectangles, tile_side

if TYPE_CHECKING:
    from panfocus.io.ome_zarr import ZarrFrames
    from panfocus.preprocess import HotPixels


def parts_to_look_at(folder: RunFolder, unit: int) -> list[Task]:
    """Return the tasks that look through a unit; none, if there is nothing to look for."""
    if folder.plan["hot_pixels"] == "off" and folder.image.dtype.kind != "f":
        return []
    return folder.tasks("look", unit, rectangles(folder.plan["size"], folder.plan["searched"]))


def span(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Measure the range beside which values of a unit are called to stand out."""
    from panfocus.preprocess import value_span
    from panfocus.tiling import BlockFrames

    frames = folder.frames(task.unit)
    found = value_span(BlockFrames(frames, sampled=True, most=_half_of_rest(frames, folder)))
    folder.keep(f"span-{task.unit}", {"span": found})
    return {}


def look(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Search a part of every frame for what may be hot pixels; of floats, find the largest value."""
    from panfocus._checks import largest_magnitude
    from panfocus.preprocess import SEARCH_REACH, most_defects, standing_alone, standing_out

    frames = folder.frames(task.unit)
    wide = tuple(
        slice(max(0, part.start - SEARCH_REACH), min(part.stop + SEARCH_REACH, length))
        for part, length in zip(task.region, frames.shape[1:3], strict=True)
    )
    most, beside = most_defects(frames.shape), folder.kept(f"span-{task.unit}")["span"]
    found, largest = [np.empty((0, 6))], []
    counts: tuple[list[int], list[int]] = ([], [])  # of both kinds, in each frame
    for k, part in _one_after_another(frames, wide, _half_of_rest(frames, folder)):
        if frames.dtype.kind == "f":
            largest.append(largest_magnitude(part[None], 0))
        for kind, search in enumerate((standing_out, standing_alone)):
            here = search(part, most, span=beside)
            here[:, 0] += wide[0].start
            here[:, 1] += wide[1].start
            counts[kind].append(len(here))
            found.append(np.column_stack([np.full((len(here), 2), (kind, k)), here]))
    folder.keep_array(f"found-{task.name}", np.concatenate(found))
    return {"largest": largest, "counts": counts}


def _one_after_another(
    frames: "ZarrFrames", wide: tuple[slice, ...], most: int
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number and a rectangle of every frame; of those in the same chunks, `most` bytes at once."""
    depth = frames.chunks[0]
    bytes_of_one = frames.dtype.itemsize * math.prod(
        (*(part.stop - part.start for part in wide), *frames.shape[3:])
    )
    at_once = max(1, min(depth, most // bytes_of_one))
    for first in range(0, len(frames), depth):
        end = min(first + depth, len(frames))
        for k in range(first, end, at_once):
            parts = frames[k : min(k + at_once, end), *wide]
            yield from enumerate(parts, start=k)


def _half_of_rest(frames: "ZarrFrames", folder: RunFolder) -> int:
    """Return half of the bytes that a worker may take beside what it needs in any case."""
    left: int = folder.plan["max_memory"] - PROGRAM - STORES - DECODED * frames.image.chunk_bytes
    return left // 2


def measure(folder: RunFolder, task: Task) -> dict[str, Any]:
    """Measure the frames of a unit, by strips, and keep what the method knows of them then."""
    from panfocus.methods import Surveyor
    from panfocus.preprocess import measure_exposure
    from panfocus.tiling import BlockFrames, Corrections

    # Chunks are kept for a while: strips and blocks that are measured share them.
    stored = folder.frames(task.unit)
    frames = BlockFrames(stored, sampled=True, most=_half_of_rest(stored, folder))
    hot = _hot_pixels(folder, task.unit, frames.shape) if folder.plan["hot_pixels"] != "off" else None
    repaired = hot.repair(frames) if hot else frames
    exposure = measure_exposure(repaired) if folder.plan["exposure"] == "auto" else None
    corrections = Corrections(hot, exposure)
    method = folder.method
    if isinstance(method, Surveyor):
        method = method.survey(corrections.of(frames))
    folder.keep_survey(task.unit, method, corrections)
    return {
        "tile": tile_side(method, stored, folder.plan["chunk"], folder.plan["max_memory"]),
        "halo": method.halo,
        "measured": getattr(method, "measured", {}),
        "corrections": corrections.report(),
    }


def _hot_pixels(folder: RunFolder, unit: int, shape: tuple[int, ...]) -> "HotPixels":
    """Decide on what was found in all parts, one slice after another: of a pattern that may be a lot."""
    from panfocus.preprocess import gather_hot_pixels, most_defects

    most, parts = most_defects(shape), parts_to_look_at(folder, unit)
    counts = {part: folder.kept(f"done-{part.name}")["counts"] for part in parts}  # of either kind, by slices

    def found(kind: int) -> Iterator[NDArray[np.float64]]:
        for k in range(shape[0]):
            here = [part for part in parts if counts[part][kind][k]]
            if sum(counts[part][kind][k] for part in here) > most:
                here = []  # they are no defects
            rows = [np.empty((0, 6)), *(folder.kept_array(f"found-{part.name}") for part in here)]
            yield np.concatenate([each[(each[:, 0] == kind) & (each[:, 1] == k), 2:] for each in rows])

    return gather_hot_pixels(found(0), found(1), shape, in_pairs=folder.plan["hot_pixels"] == "on")
