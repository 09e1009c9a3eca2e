"""How much of a lead is chance: the sets of both tables again, with other draws of training patches."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from panfocus._progress import Progress
from panfocus.dictionary import CoupledDictionary
from panfocus.methods import FusionMethod
from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.elements import Section, paragraph, plain_table
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.paper import MEASURES, TABLE_1, axes
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.tables import SYMBOLS, Results, signed

PART = "draws"
SEPARATE = f"{PROPOSED} over separate dictionaries"


@dataclass(frozen=True)
class Draws:
    """Scores by seed, variant, measure and set."""

    seeds: tuple[int, ...]
    grey: tuple[str, ...]
    colour: tuple[str, ...]  # sets on which nothing is compared with separate dictionaries
    scores: dict[tuple[int, str, str, str], float]

    def leads(self, other: str, measure: str, image_set: str) -> list[float]:
        """Return by how much the proposed method is ahead of another variant, for each draw."""
        return [
            self.scores[seed, PROPOSED, measure, image_set] - self.scores[seed, other, measure, image_set]
            for seed in self.seeds
        ]

    def sets_against(self, other: str) -> tuple[str, ...]:
        """Return the sets on which the proposed method is held against another variant."""
        return self.grey if other == SEPARATE else (*self.grey, *self.colour)

    def range_of_means(self, measure: str) -> float:
        """Return how far draws are apart in the proposed method's mean over the grey sets."""
        means = [
            np.mean([self.scores[seed, PROPOSED, measure, name] for name in self.grey]) for seed in self.seeds
        ]
        return float(np.ptp(means))


def methods_of_draw(
    methods: Mapping[str, FusionMethod], kinds: Mapping[str, CoupledDictionary]
) -> dict[str, FusionMethod]:
    """Return what depends on the draw, with the dictionaries of one."""
    proposed: Any = methods[PROPOSED]  # dataclasses, as all methods are
    rival: Any = methods[RIVAL]
    return {
        PROPOSED: replace(proposed, dictionary=kinds["coupled"]),
        SEPARATE: replace(proposed, dictionary=kinds["separate"]),
        RIVAL: replace(rival, dictionary=kinds["separate"]),
    }


def run_draws(
    grey: Results,
    colour: Results,
    learned: Dictionaries,
    methods: Mapping[str, FusionMethod],
    progress: Progress,
) -> Draws:
    """Fuse the sets by the dictionaries of every draw; what the tables hold is known."""
    _, measures, _ = axes(TABLE_1)
    draws = Draws(tuple(learned.draws), tuple(grey.sets), tuple(colour.sets), {})
    progress(PART, 0.0)
    for i, (seed, kinds) in enumerate(learned.draws.items()):
        for name, method in methods_of_draw(methods, kinds).items():
            for image_set in draws.sets_against(name):
                results = grey if image_set in grey.sets else colour
                if i == 0 and name in methods:
                    found = results.of(name, image_set)
                else:
                    pictures = results.sets[image_set]
                    found = pictures.score(fuse(pictures.frames, method).image, measures)
                draws.scores.update({(seed, name, key, image_set): value for key, value in found.items()})
        progress(PART, (i + 1) / len(learned.draws))
    return draws


def section(draws: Draws) -> Section:
    """Show the least and the largest lead over all draws."""
    columns = [(other, measure) for other in (RIVAL, SEPARATE) for measure in MEASURES]
    rows = [
        (
            name,
            *(
                _range(draws.leads(other, measure, name)) if name in draws.sets_against(other) else ""
                for other, measure in columns
            ),
        )
        for name in draws.sets_against(RIVAL)
    ]
    moves = " and ".join(f"{SYMBOLS[m]} by up to {draws.range_of_means(m):.4f}" for m in MEASURES)
    return Section(
        PART,
        "How much the draw of the training patches matters",
        paragraph(
            f"The lead of the proposed method, least and largest of {len(draws.seeds)} draws (seeds "
            f"{', '.join(map(str, draws.seeds))}); the tables are made with the first. A lead whose sign "
            "changes from draw to draw is chance. Between draws the proposed method's mean over the grey "
            f"sets changes in {moves}."
        )
        + plain_table(
            ["set", *(f"{SYMBOLS[measure]}, ahead of {other}" for other, measure in columns)], rows
        ),
        tuple(
            Number(PART, name, f"{variant}, seed {seed}", measure, value)
            for (seed, variant, measure, name), value in draws.scores.items()
        ),
    )


def _range(leads: list[float]) -> str:
    return f"{signed(min(leads))} to {signed(max(leads))}"
