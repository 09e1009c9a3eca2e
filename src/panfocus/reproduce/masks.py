"""Fig. 7: decision masks with a single and with the coupled dictionary, and their accuracy.

The accuracy needs ground truth. It is measured on labelled patches of held-out scenes, as in `equations`. The
regions of the masks are an illustration.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from panfocus._intensity import FloatArray, IntArray
from panfocus._progress import Progress, track
from panfocus.compare.pictures import encode_label_map
from panfocus.methods import FusionMethod
from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.draws import build_draw_methods
from panfocus.reproduce.elements import Number, Section, embed_image, figure, gallery, paragraph, plain_table
from panfocus.reproduce.equations import LabelledPatches
from panfocus.reproduce.image_sets import MASK_SCENES, SceneImages
from panfocus.reproduce.paper import PROPOSED, RIVAL

PART = "masks"
METHODS = (RIVAL, PROPOSED)


@dataclass(frozen=True, eq=False)
class Masks:
    """Label maps by method and scene, their number of regions, and the accuracy on labelled patches."""

    scenes: dict[str, SceneImages]
    labels: dict[tuple[str, str], IntArray]
    regions: dict[tuple[str, str], int]
    seeds: tuple[int, ...]
    accuracy: dict[str, list[float]]  # share of patches decided right by a method, for each seed


def make_masks(
    scenes: Sequence[SceneImages],
    patches: LabelledPatches,
    learned: Dictionaries,
    methods: Mapping[str, FusionMethod],
    progress: Progress,
) -> Masks:
    """Return the label maps of Lytro pairs, and the accuracy on labelled patches."""
    draws = [build_draw_methods(methods, kinds) for kinds in learned.draws.values()]
    accuracy = {name: [measure_accuracy(patches, draw[name]) for draw in draws] for name in METHODS}
    shown = {scene.name: scene for scene in scenes if scene.name in MASK_SCENES}
    masks = Masks(shown, {}, {}, tuple(learned.draws), accuracy)
    for scene in track(shown.values(), PART, progress):
        for method in METHODS:
            labels = _labels(scene.frames, methods[method])
            masks.labels[method, scene.name] = labels
            masks.regions[method, scene.name] = count_regions(labels)
    return masks


def measure_accuracy(patches: LabelledPatches, method: FusionMethod) -> float:
    """Return the share of pairs of patches for which a method chooses the focused one; ties are wrong.

    The patches are fused as one image, side by side and without overlap.
    """
    focused, blurred = map(_side_by_side, patches.grey)
    size = len(focused)
    dataclass_method: Any = method
    labels = _labels(np.stack([blurred, focused]), replace(dataclass_method, stride=size))
    return float(np.mean(labels[0, ::size] == 1))  # the first frame wins ties


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


def section(masks: Masks, training_scenes: Collection[str]) -> Section:
    """Show frames and masks, and the accuracy of each method."""
    rows = ""
    for name, scene in masks.scenes.items():
        frames = {
            f"{name}, frame {letter}": embed_image(frame, f"{name}, frame {letter}")
            for letter, frame in zip("AB", scene.frames, strict=True)
        }
        decided = {
            f"{method}: {masks.regions[method, name]:,} regions": embed_image(
                encode_label_map(masks.labels[method, name], len(scene.frames)), f"mask of {method} on {name}"
            )
            for method in METHODS
        }
        rows += gallery(*(figure(image, caption) for caption, image in (frames | decided).items()))
    overlap = [name for name in masks.scenes if name in training_scenes]
    training = (
        f"Training crops were cut from {' and '.join(overlap)}."
        if overlap
        else "No training crop comes from these scenes."
    )
    return Section(
        PART,
        "Fig. 7: decision masks",
        paragraph(
            "The frame with the largest share in each pixel: blue frame A, orange frame B. The paper does "
            f"not name its scene. {training} Scattered decisions give many connected regions, but not every "
            "region is an error."
        )
        + rows
        + plain_table(
            ["connected regions", *METHODS],
            [(name, *(f"{masks.regions[method, name]:,}" for method in METHODS)) for name in masks.scenes],
        )
        + paragraph(
            "Accuracy: the share of the labelled patches of the held-out scenes (see equations (2) to (4)) "
            "that are taken from the frame in focus."
        )
        + plain_table(
            ["decided right", *(f"seed {seed}" for seed in masks.seeds)],
            [(method, *(f"{share:.2%}" for share in masks.accuracy[method])) for method in METHODS],
        ),
        (
            *(Number(name, method, "regions", n) for (method, name), n in masks.regions.items()),
            *(
                Number("labelled patches", f"{method}, seed {seed}", "share decided right", shares[i])
                for i, seed in enumerate(masks.seeds)
                for method, shares in masks.accuracy.items()
            ),
        ),
    )
