"""Fig. 7: decision masks over a single and over the coupled dictionary, and how often they are right.

A mask's error needs the truth: patches are labelled on held-out scenes, as for equations (2) to (4). The
regions of the masks that are shown are an illustration.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from panfocus._intensity import FloatArray, IntArray
from panfocus._progress import Progress
from panfocus.compare.pictures import decision_map
from panfocus.methods import FusionMethod
from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.draws import methods_of_draw
from panfocus.reproduce.elements import Section, figure, gallery, paragraph, plain_table, shown
from panfocus.reproduce.equations import LabelledPatches
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import Pictures

PART = "masks"
METHODS = (RIVAL, PROPOSED)


@dataclass(frozen=True, eq=False)
class Masks:
    """Labels by method and scene, their regions, and how often labelled patches are decided right."""

    scenes: dict[str, Pictures]
    labels: dict[tuple[str, str], IntArray]
    regions: dict[tuple[str, str], int]
    right: dict[tuple[int, str], float]  # share of the labelled patches, by seed of the draw and method

    @property
    def seeds(self) -> list[int]:
        """The draws of training patches, in their order."""
        return list(dict.fromkeys(seed for seed, _ in self.right))

    def of_draws(self, method: str) -> list[float]:
        """Return the share that a method decides right with every draw."""
        return [self.right[seed, method] for seed in self.seeds]


def make_masks(
    scenes: Sequence[Pictures],
    patches: LabelledPatches,
    learned: Dictionaries,
    methods: Mapping[str, FusionMethod],
    progress: Progress,
) -> Masks:
    """Fuse Lytro pairs and keep which frame each pixel is from; let labelled patches be decided."""
    masks = Masks({pictures.name: pictures for pictures in scenes}, {}, {}, {})
    progress(PART, 0.0)
    for pictures in scenes:
        for method in METHODS:
            labels = _labels(pictures.frames, methods[method])
            masks.labels[method, pictures.name] = labels
            masks.regions[method, pictures.name] = count_regions(labels)
            progress(PART, len(masks.labels) / ((len(scenes) + 1) * len(METHODS)))
    for seed, kinds in learned.draws.items():
        drawn = methods_of_draw(methods, kinds)
        for method in METHODS:
            masks.right[seed, method] = share_decided_right(patches, drawn[method])
    progress(PART, 1.0)
    return masks


def share_decided_right(patches: LabelledPatches, method: FusionMethod) -> float:
    """Return the share of the pairs of patches in which a method takes the focused one; ties count as wrong.

    The patches are fused as a picture in which they lie side by side, none over another.
    """
    focused, blurred = map(_side_by_side, patches.grey)
    size = len(focused)
    apart: Any = method  # a dataclass, as all methods are
    labels = _labels(np.stack([blurred, focused]), replace(apart, stride=size))
    return float(np.mean(labels[0, ::size] == 1))  # of frames that tie, the first is the label


def _side_by_side(patches: FloatArray) -> FloatArray:
    size = math.isqrt(len(patches))
    return np.asarray(patches.reshape(size, size, -1).transpose(0, 2, 1).reshape(size, -1))


def _labels(frames: NDArray[Any], method: FusionMethod) -> IntArray:
    labels = fuse(frames, method).labels
    assert labels is not None  # both methods decide by patch
    return labels


def count_regions(labels: IntArray) -> int:
    """Count the connected regions of equal labels; neighbours share a side."""
    return sum(int(label(labels == frame)[1]) for frame in np.unique(labels))


def section(masks: Masks, trained_on: Collection[str]) -> Section:
    """Show frames and masks side by side, and how often each method is right."""
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
            f"name its scene. {_also_trained_on(masks.scenes, trained_on)} Scattered decisions show as many "
            "connected regions, which can be counted, but not every region is an error."
        )
        + rows
        + plain_table(
            ["connected regions", *METHODS],
            [(name, *(f"{masks.regions[method, name]:,}" for method in METHODS)) for name in masks.scenes],
        )
        + paragraph(
            "How often they are right: the share of the labelled patches of the held-out scenes (see "
            "equations (2) to (4)) that are given to the frame that is in focus there."
        )
        + plain_table(
            ["decided right", *(f"seed {seed}" for seed in masks.seeds)],
            [(method, *(f"{share:.2%}" for share in masks.of_draws(method))) for method in METHODS],
        ),
        (
            *(Number(PART, name, method, "regions", n) for (method, name), n in masks.regions.items()),
            *(
                Number(PART, "labelled patches", f"{method}, seed {seed}", "share decided right", share)
                for (seed, method), share in masks.right.items()
            ),
        ),
    )


def _also_trained_on(scenes: Collection[str], trained_on: Collection[str]) -> str:
    both = [name for name in scenes if name in trained_on]
    return f"Training crops were cut from {' and '.join(both)}." if both else "None of these is trained on."
