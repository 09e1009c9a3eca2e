"""Fig. 7: decision masks over a single and over the coupled dictionary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import label

from panfocus._float import IntArray
from panfocus._progress import Progress
from panfocus.compare.pictures import decision_map
from panfocus.methods import FusionMethod
from panfocus.pipeline import fuse
from panfocus.reproduce.elements import Section, figure, gallery, paragraph, plain_table, shown
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import Pictures

PART = "masks"
METHODS = (RIVAL, PROPOSED)


@dataclass(frozen=True, eq=False)
class Masks:
    """Labels by method and scene, and how many regions they fall into."""

    scenes: dict[str, Pictures]
    labels: dict[tuple[str, str], IntArray]
    regions: dict[tuple[str, str], int]


def make_masks(scenes: Sequence[Pictures], methods: Mapping[str, FusionMethod], progress: Progress) -> Masks:
    """Fuse Lytro pairs and keep which frame each pixel is from."""
    masks = Masks({pictures.name: pictures for pictures in scenes}, {}, {})
    progress(PART, 0.0)
    for pictures in scenes:
        for method in METHODS:
            labels = fuse(pictures.frames, methods[method]).labels
            assert labels is not None  # both methods decide by patch
            masks.labels[method, pictures.name] = labels
            masks.regions[method, pictures.name] = count_regions(labels)
            progress(PART, len(masks.labels) / (len(scenes) * len(METHODS)))
    return masks


def count_regions(labels: IntArray) -> int:
    """Count the connected regions of equal labels; neighbours share a side."""
    return sum(int(label(labels == frame)[1]) for frame in np.unique(labels))


def section(masks: Masks) -> Section:
    """Show frames and masks side by side."""
    rows = ""
    for name, pictures in masks.scenes.items():
        frames = [
            figure(shown(frame, f"{name}, frame {letter}"), f"{name}, frame {letter}")
            for letter, frame in zip("AB", pictures.frames, strict=True)
        ]
        decided = [
            figure(
                shown(
                    decision_map(masks.labels[method, name], len(pictures.frames)),
                    f"mask of {method} on {name}",
                ),
                f"{method}: {masks.regions[method, name]:,} regions",
            )
            for method in METHODS
        ]
        rows += gallery(*frames, *decided)
    return Section(
        PART,
        "Fig. 7: decision masks",
        paragraph(
            "Which frame most of each pixel is from: blue frame A, orange frame B. The paper does not "
            "name its scene; these are not trained on. Scattered decisions show as many connected "
            "regions, which can be counted."
        )
        + rows
        + plain_table(
            ["connected regions", *METHODS],
            [(name, *(f"{masks.regions[method, name]:,}" for method in METHODS)) for name in masks.scenes],
        ),
        tuple(Number(PART, name, method, "regions", n) for (method, name), n in masks.regions.items()),
    )
