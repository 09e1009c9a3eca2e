"""Fig. 2: origin of the training patches in the Lytro pairs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.metrics import matlab_gray
from panfocus.reproduce.elements import (
    GREEN,
    RED,
    Box,
    Number,
    Section,
    draw_boxes,
    embed_image,
    figure,
    gallery,
    paragraph,
    plain_table,
)
from panfocus.reproduce.image_sets import SceneImages

LETTERS = "ABC"  # names of the frames of a scene
COLOURS = {"focused": GREEN, "blurred": RED}  # of the rectangles, by kind of crop


@dataclass(frozen=True)
class Origin:
    """Origin of a crop."""

    scene: str
    frame: int
    box: Box


@dataclass(frozen=True, eq=False)
class TrainingPair:
    """Origins of a focused and a blurred crop."""

    name: str
    origins: dict[str, Origin]  # by kind; without crops that no frame contains
    frames: tuple[NDArray[Any], ...]  # frames of the focused crop's scene


def find_training_pairs(crops: Iterable[SceneImages], scenes: Sequence[SceneImages]) -> list[TrainingPair]:
    """Search all frames of all scenes for the crops, by equal grey values."""
    planes = [
        (scene.name, k, matlab_gray(frame) if frame.ndim == 3 else frame)
        for scene in scenes
        for k, frame in enumerate(scene.frames)
    ]
    frames = {scene.name: tuple(scene.frames) for scene in scenes}
    pairs = []
    for pair in crops:
        origins = {}
        for kind, crop in zip(COLOURS, pair.frames, strict=True):
            found = (Origin(scene, k, box) for scene, k, gray in planes if (box := find_crop(crop, gray)))
            if origin := next(found, None):
                origins[kind] = origin
        scene = origins["focused"].scene if "focused" in origins else None
        pairs.append(TrainingPair(pair.name, origins, frames[scene] if scene else ()))
    return pairs


def find_crop(crop: NDArray[Any], image: NDArray[Any]) -> Box | None:
    """Return the first position where an image contains a crop exactly; None if there is none."""
    height, width = crop.shape
    room = image[: len(image) - height + 1, : image.shape[1] - width + 1]
    if 0 in room.shape:
        return None
    rows, cols = np.nonzero(room == crop[0, 0])
    # A few scattered pixels exclude nearly all candidates before the full comparison.
    for i, j in zip(
        np.linspace(0, height - 1, 9).astype(int), np.linspace(width - 1, 0, 9).astype(int), strict=True
    ):
        fits = image[rows + i, cols + j] == crop[i, j]
        rows, cols = rows[fits], cols[fits]
    for row, col in zip(rows.tolist(), cols.tolist(), strict=True):
        if np.array_equal(image[row : row + height, col : col + width], crop):
            return Box(row, col, height, width)
    return None


def training_scenes(pairs: Iterable[TrainingPair]) -> list[str]:
    """Return the scenes that contain a crop."""
    return list(dict.fromkeys(origin.scene for pair in pairs for origin in pair.origins.values()))


def section(pairs: Sequence[TrainingPair], table_sets: Collection[str]) -> Section:
    """Show the crops as rectangles on the frames: focused green, blurred red, as in the paper."""
    figures = []
    for pair in pairs:
        for k, frame in enumerate(pair.frames):
            scene = pair.origins["focused"].scene
            boxes = {
                COLOURS[kind]: origin.box
                for kind, origin in pair.origins.items()
                if (origin.scene, origin.frame) == (scene, k)
            }
            name = f"{scene}, frame {LETTERS[k]}"
            figures.append(figure(embed_image(draw_boxes(frame, boxes), name), f"{pair.name}: {name}"))
    n_crops, n_found = len(COLOURS) * len(pairs), sum(len(pair.origins) for pair in pairs)
    counted = f"All {n_crops}" if n_found == n_crops else f"{n_found} of {n_crops}"
    both = [name for name in training_scenes(pairs) if name in table_sets]
    overlap = (
        f"Crops come from {' and '.join(both)}: this part of the tables is not an independent test."
        if both
        else "No image of the tables contains a crop."
    )
    return Section(
        "training data",
        "Fig. 2: training data",
        paragraph(
            f"{counted} training crops are exact cut-outs of frames. All Lytro pairs and the images of the "
            "tables were searched for equal values (grey by MATLAB's rgb2gray). Green: focused, red: "
            f"blurred. {overlap}"
        )
        + gallery(*figures)
        + plain_table(
            ["crop", *COLOURS],
            [(pair.name, *(_describe(pair.origins.get(kind)) for kind in COLOURS)) for pair in pairs],
        ),
        tuple(
            Number(pair.name, f"{kind} in {origin.scene}, frame {LETTERS[origin.frame]}", measure, value)
            for pair in pairs
            for kind, origin in pair.origins.items()
            for measure, value in vars(origin.box).items()
        ),
    )


def _describe(origin: Origin | None) -> str:
    if origin is None:
        return "in no frame"
    box = origin.box
    return (
        f"{origin.scene}, frame {LETTERS[origin.frame]}: rows {box.top} to {box.top + box.height - 1}, "
        f"columns {box.left} to {box.left + box.width - 1}"
    )
