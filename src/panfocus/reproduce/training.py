"""Fig. 2: where in the Lytro pairs the training patches come from."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.metrics import matlab_gray
from panfocus.reproduce.drawing import BLURRED, FOCUSED, Box, outlined
from panfocus.reproduce.elements import Section, figure, gallery, paragraph, plain_table, shown
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.sets import Pictures

PART = "training data"
LETTERS = "ABC"  # of the frames of a scene


@dataclass(frozen=True)
class Origin:
    """Where a crop was cut out."""

    scene: str
    frame: int
    box: Box


@dataclass(frozen=True, eq=False)
class TrainingPair:
    """A crop in both states, and its origins; None where no frame holds it."""

    name: str
    focused: Origin | None
    blurred: Origin | None
    frames: tuple[NDArray[Any], ...] = ()  # of the scene of the focused one


def find_training_pairs(crops: Iterable[Pictures], scenes: Sequence[Pictures]) -> list[TrainingPair]:
    """Search all frames of all scenes for the crops, focused and blurred, by equal grey values."""
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
    found = (Origin(scene, k, box) for scene, k, gray in planes if (box := locate(crop, gray)))
    return next(found, None)


def locate(crop: NDArray[Any], image: NDArray[Any]) -> Box | None:
    """Return the first place where an image holds a crop, value for value."""
    height, width = crop.shape
    room = image[: len(image) - height + 1, : image.shape[1] - width + 1]
    if 0 in room.shape:
        return None
    rows, cols = np.nonzero(room == crop[0, 0])
    # A few scattered pixels leave hardly a place to look at in full.
    for i, j in zip(
        np.linspace(0, height - 1, 9).astype(int), np.linspace(width - 1, 0, 9).astype(int), strict=True
    ):
        fits = image[rows + i, cols + j] == crop[i, j]
        rows, cols = rows[fits], cols[fits]
    for row, col in zip(rows.tolist(), cols.tolist(), strict=True):
        if np.array_equal(image[row : row + height, col : col + width], crop):
            return Box(row, col, height, width)
    return None


def trained_on(pairs: Iterable[TrainingPair]) -> list[str]:
    """Return the scenes that hold a crop."""
    origins = (origin for pair in pairs for origin in (pair.focused, pair.blurred) if origin)
    return list(dict.fromkeys(origin.scene for origin in origins))


def section(pairs: Sequence[TrainingPair], of_the_tables: Collection[str]) -> Section:
    """Draw the rectangles on the frames: focused green, blurred red, as in the paper."""
    figures = []
    for pair in pairs:
        for k, frame in enumerate(pair.frames):
            boxes = {
                colour: origin.box
                for colour, origin in ((FOCUSED, pair.focused), (BLURRED, pair.blurred))
                if origin and pair.focused and (origin.scene, origin.frame) == (pair.focused.scene, k)
            }
            name = f"{pair.focused.scene if pair.focused else ''}, frame {LETTERS[k]}"
            figures.append(figure(shown(outlined(frame, boxes), name), f"{pair.name}: {name}"))
    return Section(
        PART,
        "Fig. 2: training data",
        paragraph(
            f"{_found(pairs)}, by comparing values (grey by MATLAB's rgb2gray) with all Lytro pairs and the "
            f"pictures of the tables. Green: focused, red: blurred. {_tested_on(pairs, of_the_tables)}"
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


def _found(pairs: Sequence[TrainingPair]) -> str:
    crops = [origin for pair in pairs for origin in (pair.focused, pair.blurred)]
    n_found = sum(origin is not None for origin in crops)
    if n_found == len(crops):
        return f"All {len(crops)} training crops were found as exact cut-outs of frames"
    return f"{n_found} of {len(crops)} training crops were found as exact cut-outs of frames"


def _tested_on(pairs: Sequence[TrainingPair], of_the_tables: Collection[str]) -> str:
    both = [name for name in trained_on(pairs) if name in of_the_tables]
    if both:
        return f"Crops of {' and '.join(both)} are trained on: that part of the tables is not a test."
    return "No picture of the tables holds one."


def _place(origin: Origin | None) -> str:
    if origin is None:
        return "found in no frame"
    box = origin.box
    return (
        f"{origin.scene}, frame {LETTERS[origin.frame]}: rows {box.top} to {box.top + box.height - 1}, "
        f"columns {box.left} to {box.left + box.width - 1}"
    )
