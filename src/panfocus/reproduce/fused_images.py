"""Source images, Fig. 3 and 4; fused images, Fig. 8 to 12; effect of the global reconstruction, Eq. (9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import IntensityScale
from panfocus._progress import Progress, track
from panfocus.refine import PAPER_STRENGTH, refine_tv
from panfocus.reproduce.elements import (
    Number,
    Section,
    embed_image,
    escape,
    figure,
    figure_with_details,
    find_differences,
    gallery,
    paragraph,
    plain_table,
    tag,
)
from panfocus.reproduce.image_sets import SceneImages
from panfocus.reproduce.paper import MEASURES, PROPOSED, RIVAL
from panfocus.reproduce.tables import SYMBOLS, TableResults

RECONSTRUCTION_PART = "global reconstruction"
STRONGER = 0.01  # strength with visible smoothing
STRENGTHS = (0.0, PAPER_STRENGTH, 0.001, STRONGER)
SCORED = (*MEASURES, "AG", "SSIM", "MSE")
LABELS = SYMBOLS | {"AG": "average gradient"}
AFTER = "Proposed, after global reconstruction"
GREY_FIGURES = {"Clocks": "Fig. 8", "Doll": "Fig. 9", "Pepsi": "Fig. 10"}
COLOUR_FIGURES = {"Diver": "Fig. 11", "Keyboard": "Fig. 12"}
# Order of the paper's figures.
ORDER = ("DWT", "PCA", "SR-FM", "DSIFT", "SR-CM", RIVAL, PROPOSED)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A fused image after reconstruction with one strength."""

    image: NDArray[Any]
    largest_change: float  # in grey levels of 255, before rounding
    changed_share: float  # of the 8-bit values
    scores: dict[str, float]


Reconstructions = Mapping[tuple[str, float], Reconstruction]  # by set and strength


def reconstruct(results: TableResults, progress: Progress) -> Reconstructions:
    """Apply Eq. (9) to the results of the proposed method on the grey sets, by set and strength."""
    made = {}
    for name, strength in track(product(results.sets, STRENGTHS), RECONSTRUCTION_PART, progress):
        before = results.fused[PROPOSED, name]
        scale = IntensityScale.of(before.dtype)
        unit = scale.to_unit(before).astype(np.float64)
        after = refine_tv(unit, strength=strength).image if strength else unit
        image = scale.from_unit(after) if strength else before
        made[name, strength] = Reconstruction(
            image,
            float(np.abs(after - unit).max() * 255),
            float(np.mean(image != before)),
            results.sets[name].score(image, SCORED),
        )
    return made


def reconstruction_section(steps: Reconstructions) -> Section:
    """Show the images before and after, and the scores."""
    shown = next(name for name, _ in steps)
    boxes = find_differences([steps[shown, 0.0].image, steps[shown, STRONGER].image], 2)
    rows = [
        (
            name,
            _strength(strength),
            f"{step.largest_change:.4f}",
            f"{step.changed_share:.1%}",
            *(f"{step.scores[key]:.4f}" if key in step.scores else "-" for key in SCORED),
        )
        for (name, strength), step in steps.items()
    ]
    return Section(
        RECONSTRUCTION_PART,
        "Global reconstruction",
        paragraph(
            f"The paper's weight of the total variation is {PAPER_STRENGTH:.5f}. On intensities of 0 to 1 no "
            "value can change by more than 3.42 times this weight, a hundredth of a grey level: the 8-bit "
            f"image stays the same. A weight of {STRONGER:g} shows what a stronger step does: it smooths. "
            f"Below, {shown}; red and green mark the largest changes."
        )
        + gallery(
            *(
                figure_with_details(
                    step.image,
                    boxes,
                    f"{_strength(strength)}: largest change {step.largest_change:.4f} of 255",
                    f"{shown}, {_strength(strength)}",
                )
                for (name, strength), step in steps.items()
                if name == shown and strength in (0.0, PAPER_STRENGTH, STRONGER)
            )
        )
        + plain_table(
            ["set", "strength", "largest change, levels of 255", "8-bit values changed",
             *(LABELS[key] for key in SCORED)],
            rows,
        ),
        tuple(
            Number(name, f"strength={strength:g}", measure, value)
            for (name, strength), step in steps.items()
            for measure, value in {
                "largest change in levels": step.largest_change,
                "share of 8-bit values changed": step.changed_share,
                **step.scores,
            }.items()
        ),
    )  # fmt: skip


def _strength(strength: float) -> str:
    if not strength:
        return "before"
    return f"strength {strength:.5f}".rstrip("0") + (" (the paper's)" if strength == PAPER_STRENGTH else "")


def source_section(grey: TableResults, colour: TableResults) -> Section:
    """Show the frames of all available sets, Fig. 3 and 4."""
    body = ""
    for title, sets in (("Fig. 3: grey pairs", grey.sets), ("Fig. 4: colour triples", colour.sets)):
        body += tag("h3", title) + gallery(
            *(
                figure(embed_image(frame, f"{name}, {caption}"), f"{name}, {caption}")
                for name, scene in sets.items()
                for caption, frame in _frames(scene).items()
            )
        )
    return Section("source images", "Fig. 3 and 4: the source images", body)


def fused_section(grey: TableResults, colour: TableResults, reconstructions: Reconstructions) -> Section:
    """Show the images of the paper's figures, for all available sets."""
    body = paragraph(
        "Red and green: the two regions in which the results differ most, chosen automatically and "
        "enlarged below each image. The paper's rectangles are not known."
    )
    for name, number in GREY_FIGURES.items():
        if name in grey.sets:
            results = {method: grey.fused[method, name] for method in ORDER}
            results[AFTER] = reconstructions[name, PAPER_STRENGTH].image
            body += _figures(f"{number}: {name}", grey.sets[name], results)
    for name, number in COLOUR_FIGURES.items():
        results = {method: colour.fused[method, name] for method in (RIVAL, PROPOSED)}
        body += _figures(f"{number}: {name}", colour.sets[name], results)
    return Section("fused images", "Fig. 8 to 12: fused images", body)


def _figures(title: str, scene: SceneImages, results: Mapping[str, NDArray[Any]]) -> str:
    boxes = find_differences(list(results.values()), 2)
    return tag("h3", escape(title)) + gallery(
        *(
            figure_with_details(image, boxes, name, f"{scene.name}, {name}")
            for name, image in (_frames(scene) | dict(results)).items()
        )
    )


def _frames(scene: SceneImages) -> dict[str, NDArray[Any]]:
    return {f"frame {letter}": frame for letter, frame in zip("ABC", scene.frames, strict=False)}
