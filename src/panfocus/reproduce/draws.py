"""How much of a lead is chance: the grey sets again, with other draws of training patches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from panfocus._progress import Progress
from panfocus.methods import FusionMethod
from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.elements import Section, paragraph, plain_table
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.paper import MEASURES
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import Pictures
from panfocus.reproduce.tables import SYMBOLS, signed

PART = "draws"
SEPARATE = f"{PROPOSED} over separate dictionaries"


@dataclass(frozen=True)
class Draws:
    """Scores by seed, variant, measure and set."""

    seeds: tuple[int, ...]
    sets: tuple[str, ...]
    scores: dict[tuple[int, str, str, str], float]

    def leads(self, other: str, measure: str, image_set: str) -> list[float]:
        """Return by how much the proposed method is ahead of another variant, for each draw."""
        return [
            self.scores[seed, PROPOSED, measure, image_set] - self.scores[seed, other, measure, image_set]
            for seed in self.seeds
        ]


def run_draws(
    sets: Sequence[Pictures], learned: Dictionaries, methods: Mapping[str, FusionMethod], progress: Progress
) -> Draws:
    """Fuse the grey sets by the dictionaries of every draw."""
    scores: dict[tuple[int, str, str, str], float] = {}
    proposed: Any = methods[PROPOSED]
    rival: Any = methods[RIVAL]
    progress(PART, 0.0)
    for i, (seed, kinds) in enumerate(learned.draws.items()):
        variants = {
            PROPOSED: replace(proposed, dictionary=kinds["coupled"]),
            SEPARATE: replace(proposed, dictionary=kinds["separate"]),
            RIVAL: replace(rival, dictionary=kinds["separate"]),
        }
        for pictures in sets:
            for name, method in variants.items():
                found = pictures.score(fuse(pictures.frames, method).image, MEASURES)
                scores.update({(seed, name, key, pictures.name): value for key, value in found.items()})
        progress(PART, (i + 1) / len(learned.draws))
    return Draws(tuple(learned.draws), tuple(pictures.name for pictures in sets), scores)


def section(draws: Draws) -> Section:
    """Show the least and the largest lead over all draws."""
    rows = []
    for other in (RIVAL, SEPARATE):
        for measure in MEASURES:
            leads = [draws.leads(other, measure, name) for name in draws.sets]
            rows.append(
                (
                    f"{SYMBOLS[measure]}, ahead of {other}",
                    *(f"{signed(min(lead))} to {signed(max(lead))}" for lead in leads),
                )
            )
    return Section(
        PART,
        "How much the draw of the training patches matters",
        paragraph(
            f"The lead of the proposed method on the grey sets, least and largest of {len(draws.seeds)} "
            f"draws (seeds {', '.join(map(str, draws.seeds))}); the tables are made with the first. A lead "
            "whose sign changes from draw to draw is chance."
        )
        + plain_table(["lead", *draws.sets], rows),
        tuple(
            Number(PART, name, f"{variant}, seed {seed}", measure, value)
            for (seed, variant, measure, name), value in draws.scores.items()
        ),
    )
