"""Mosaics of real scenes: pairs and sharp images of any size at full detail.

Nothing is enlarged, and no part of a scene is used twice. Scenes are cut into strips of one height, which are
shuffled and placed side by side, row after row. There are 31 megapixels of pairs (49 with `algae-20mp`) and
27 megapixels of sharp images.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks._data import need_data
from panfocus.compare import find_groups

Picture = NDArray[np.uint8]

STRIP_HEIGHT = 420  # slightly less than most scenes
LONGEST_STRIP = 1000  # spreads large scenes over the mosaic
WIDTH_OVER_HEIGHT = 1.5  # like a camera
SEED = 7

FOLDERS = ("lytro", "lytro/triple", "groundtruth/real-mff", "groundtruth/mfi-whu")
# Two frames of each stack that are neighbours in depth, not aligned.
STACKS = (
    ("pcb/pcb_003.jpg", "pcb/pcb_004.jpg"),
    ("ring/step2.jpg", "ring/step3.jpg"),
    ("amber-flies/flies_0003.jpg", "amber-flies/flies_0004.jpg"),
    ("mineral-drift/frame_0003.jpg", "mineral-drift/frame_0006.jpg"),
)
ALGAE = ("algae-20mp/algae_2.jpg", "algae-20mp/algae_3.jpg")


def pair(megapixels: float, *, with_algae: bool = False) -> Picture:
    """Return two frames (2, h, w, 3). `with_algae` adds one large scene."""
    data = need_data()
    scenes = [
        scene.sources[:2]
        for group in find_groups([data / folder for folder in FOLDERS])
        for scene in group.scenes
    ]
    stacks = (*STACKS, ALGAE) if with_algae else STACKS
    scenes += [(data / "stacks" / first, data / "stacks" / second) for first, second in stacks]
    return lay(_strips(scenes), *layout(megapixels))


def sharp(megapixels: float) -> Picture:
    """Return an all-in-focus image (h, w, 3); beyond 22 megapixels single frames are used, too."""
    data = need_data()
    truths = [scene.reference for group in _groups_with_truth(data) for scene in group.scenes]
    photographs = sorted((data / "training" / "kodak").glob("*.png"))
    frames = [scene.sources[0] for scene in find_groups([data / "lytro"])[0].scenes]

    def strips() -> Iterator[Picture]:
        yield from _strips([(path,) for path in (*truths, *photographs)])
        yield from _strips([(path,) for path in frames])

    return lay(strips(), *layout(megapixels))[0]


def layout(megapixels: float) -> tuple[int, int]:
    """Return the rows of strips and the width of a mosaic of this size."""
    rows = max(1, round((megapixels * 1e6 / WIDTH_OVER_HEIGHT) ** 0.5 / STRIP_HEIGHT))
    return rows, round(megapixels * 1e6 / (rows * STRIP_HEIGHT))


def lay(strips: Iterator[Picture], rows: int, width: int) -> Picture:
    """Place strips (n, height, any width, 3) in rows; a strip may continue in the next row."""
    laid, missing = [], rows * width
    for strip in strips:
        laid.append(strip[:, :, :missing])
        missing -= laid[-1].shape[2]
        if not missing:
            break
    else:
        raise ValueError(f"Not enough scenes: {missing} of {rows * width} columns are missing.")
    tape = np.concatenate(laid, axis=2)
    n, height = tape.shape[:2]
    in_rows = tape.reshape(n, height, rows, width, 3).transpose(0, 2, 1, 3, 4)
    return in_rows.reshape(n, rows * height, width, 3)


def cut(height: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Yield the positions of the strips of a scene, without overlap."""
    for top in range(0, height - STRIP_HEIGHT + 1, STRIP_HEIGHT):
        for left in range(0, width, LONGEST_STRIP):
            yield slice(top, top + STRIP_HEIGHT), slice(left, min(width, left + LONGEST_STRIP))


def _strips(scenes: Sequence[tuple[Path, ...]]) -> Iterator[Picture]:
    """Yield the strips of scenes in a fixed random order."""
    places = []
    for frames in scenes:
        with Image.open(frames[0]) as first:
            places += [(frames, place) for place in cut(first.height, first.width)]
    read = cache(_read)
    for i in np.random.default_rng(SEED).permutation(len(places)):
        frames, (rows, columns) = places[i]
        yield read(frames)[:, rows, columns]


def _read(frames: tuple[Path, ...]) -> Picture:
    return np.stack([np.asarray(Image.open(path).convert("RGB")) for path in frames])


def _groups_with_truth(data: Path):
    return find_groups([data / folder for folder in FOLDERS if folder.startswith("groundtruth")])
