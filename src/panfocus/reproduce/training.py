"""Fig. 2: origin of the training patches in the Lytro pairs."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.metrics import matlab_gray
from panfocus.reproduce.elements import (
    BLURRED,
    FOCUSED,
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

PART = "training data"
LETTERS = "ABC"  # names of the frames of a scene


@dataclass(frozen=True)
class Origin:
    """Origin of a crop."""

    scene: str
    frame: int
    box: Box


@dataclass(frozen=True, eq=False)
class TrainingPair:
    """Origins of a focused and a blurred crop; None if no frame contains the crop."""

    name: str
    focused: Origin | None
    blurred: Origin | None
    frames: tuple[NDArray[Any], ...] = ()  # frames of the focused crop's scene


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
        focused, blurred = (_origin(crop, planes) for crop in pair.frames)
        pairs.append(TrainingPair(pair.name, focused, blurred, frames[focused.scene] if focused else ()))
    return pairs


def _origin(crop: NDArray[Any], planes: Iterable[tuple[str, int, NDArray[Any]]]) -> Origin | None:
    found = (Origin(scene, k, box) for scene, k, gray in planes if (box := find_crop(crop, gray)))
    return next(found, None)


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
    origins = (origin for pair in pairs for origin in (pair.focused, pair.blurred) if origin)
    return list(dict.fromkeys(origin.scene for origin in origins))


def section(pairs: Sequence[TrainingPair], table_sets: Collection[str]) -> Section:
    """Show the crops as rectangles on the frames: focused green, blurred red, as in the paper."""
    figures = []
    for pair in pairs:
        for k, frame in enumerate(pair.frames):
            boxes = {
                colour: origin.box
                for colour, origin in ((FOCUSED, pair.focused), (BLURRED, pair.blurred))
                if origin and pair.focused and (origin.scene, origin.frame) == (pair.focused.scene, k)
            }
            name = f"{pair.focused.scene if pair.focused else ''}, frame {LETTERS[k]}"
            figures.append(figure(embed_image(draw_boxes(frame, boxes), name), f"{pair.name}: {name}"))
    return Section(
        PART,
        "Fig. 2: training data",
        paragraph(
            f"{_summarise(pairs)} All Lytro pairs and the images of the tables were searched for equal "
            "values (grey by MATLAB's rgb2gray). Green: focused, red: blurred. "
            f"{_table_overlap(pairs, table_sets)}"
        )
        + gallery(*figures)
        + plain_table(
            ["crop", "focused", "blurred"],
            [(pair.name, _place(pair.focused), _place(pair.blurred)) for pair in pairs],
        ),
        tuple(
            Number(
                PART, pair.name, f"{kind} in {origin.scene}, frame {LETTERS[origin.frame]}", measure, value
            )
            for pair in pairs
            for kind, origin in (("focused", pair.focused), ("blurred", pair.blurred))
            if origin
            for measure, value in vars(origin.box).items()
        ),
    )


def _summarise(pairs: Sequence[TrainingPair]) -> str:
    crops = [origin for pair in pairs for origin in (pair.focused, pair.blurred)]
    n_matched = sum(origin is not None for origin in crops)
    if n_matched == len(crops):
        return f"All {len(crops)} training crops are exact cut-outs of frames."
    return f"{n_matched} of {len(crops)} training crops are exact cut-outs of frames."


def _table_overlap(pairs: Sequence[TrainingPair], table_sets: Collection[str]) -> str:
    both = [name for name in training_scenes(pairs) if name in table_sets]
    if both:
        return f"Crops come from {' and '.join(both)}: this part of the tables is not an independent test."
    return "No image of the tables contains a crop."


def _place(origin: Origin | None) -> str:
    if origin is None:
        return "in no frame"
    box = origin.box
    return (
        f"{origin.scene}, frame {LETTERS[origin.frame]}: rows {box.top} to {box.top + box.height - 1}, "
        f"columns {box.left} to {box.left + box.width - 1}"
    )
