"""The last step, Eq. (9): what the paper's global reconstruction changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import IntensityScale
from panfocus._progress import Progress
from panfocus.refine import PAPER_STRENGTH, refine_tv
from panfocus.reproduce.drawing import most_different
from panfocus.reproduce.elements import Section, gallery, paragraph, plain_table, with_details
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.paper import MEASURES
from panfocus.reproduce.rivals import PROPOSED
from panfocus.reproduce.tables import SYMBOLS, Results

PART = "global reconstruction"
STRONGER = 0.01  # where smoothing is plain to see
STRENGTHS = (0.0, PAPER_STRENGTH, 0.001, STRONGER)
SCORED = (*MEASURES, "AG", "SSIM", "MSE")
SYMBOLS_HERE = SYMBOLS | {"AG": "average gradient"}


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A fused picture after reconstruction at one strength."""

    image: NDArray[Any]
    largest_change: float  # in grey levels of 255, before rounding
    changed_share: float  # of the 8-bit values
    scores: dict[str, float]


@dataclass(frozen=True, eq=False)
class Reconstructions:
    """By set and strength."""

    made: dict[tuple[str, float], Reconstruction]
    sets: tuple[str, ...]


def reconstruct(results: Results, progress: Progress) -> Reconstructions:
    """Apply Eq. (9) to the proposed method's pictures of the grey sets."""
    made = {}
    progress(PART, 0.0)
    for name, pictures in results.sets.items():
        before = results.fused[PROPOSED, name].image
        scale = IntensityScale.of(before.dtype)
        unit = scale.to_unit(before).astype(np.float64)
        for strength in STRENGTHS:
            after = refine_tv(unit, strength=strength).image if strength else unit
            image = scale.from_unit(after) if strength else before
            made[name, strength] = Reconstruction(
                image,
                float(np.abs(after - unit).max() * 255),
                float(np.mean(image != before)),
                pictures.score(image, SCORED),
            )
        progress(PART, len(made) / (len(results.sets) * len(STRENGTHS)))
    return Reconstructions(made, tuple(results.sets))


def section(reconstructions: Reconstructions) -> Section:
    """Show before and after, and the figures."""
    shown_set = reconstructions.sets[0]
    steps = {strength: reconstructions.made[shown_set, strength] for strength in STRENGTHS}
    boxes = most_different([steps[0.0].image, steps[STRONGER].image], 2)
    rows = []
    for (name, strength), step in reconstructions.made.items():
        rows.append(
            (
                name,
                _strength(strength),
                f"{step.largest_change:.4f}",
                f"{step.changed_share:.1%}",
                *(f"{step.scores[key]:.4f}" if key in step.scores else "-" for key in SCORED),
            )
        )
    return Section(
        PART,
        "Global reconstruction",
        paragraph(
            f"The paper's weight of the total variation is {PAPER_STRENGTH:.5f}. On intensities of 0 to 1 no "
            "value can move by more than 3.42 times that, a hundredth of a grey level: the 8-bit picture "
            f"stays as it is. A weight of {STRONGER:g} beside it shows what the step does where it does "
            "anything: it smooths. "
            f"Below, {shown_set}; red and green are the places that it changes most."
        )
        + gallery(
            *(
                with_details(
                    steps[strength].image,
                    boxes,
                    f"{_strength(strength)}: largest change {steps[strength].largest_change:.4f} of 255",
                    f"{shown_set}, {_strength(strength)}",
                )
                for strength in (0.0, PAPER_STRENGTH, STRONGER)
            )
        )
        + plain_table(
            ["set", "strength", "largest change, levels of 255", "8-bit values changed",
             *(SYMBOLS_HERE[key] for key in SCORED)],
            rows,
        ),
        tuple(_numbers(reconstructions)),
    )  # fmt: skip


def _numbers(reconstructions: Reconstructions) -> Sequence[Number]:
    return [
        Number(PART, name, f"strength={strength:g}", measure, value)
        for (name, strength), step in reconstructions.made.items()
        for measure, value in {
            "largest change in levels": step.largest_change,
            "share of 8-bit values changed": step.changed_share,
            **step.scores,
        }.items()
    ]


def _strength(strength: float) -> str:
    if not strength:
        return "before"
    return f"strength {strength:.5f}".rstrip("0") + (" (the paper's)" if strength == PAPER_STRENGTH else "")
