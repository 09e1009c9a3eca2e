"""Influence of the draw of training patches: the sets of both tables with dictionaries from other draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from panfocus._progress import Progress, track
from panfocus.dictionary import CoupledDictionary
from panfocus.methods import FusionMethod
from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.elements import Number, Section, paragraph, plain_table
from panfocus.reproduce.paper import MEASURES, PROPOSED, RIVAL, TABLE_1, table_axes
from panfocus.reproduce.tables import SYMBOLS, TableResults, format_signed

PART = "draws"
SEPARATE = f"{PROPOSED} over separate dictionaries"


@dataclass(frozen=True)
class Draws:
    """Scores by seed, variant, measure and set."""

    seeds: tuple[int, ...]
    grey: tuple[str, ...]
    colour: tuple[str, ...]  # not compared with separate dictionaries
    scores: dict[tuple[int, str, str, str], float]

    def leads(self, other: str, measure: str, image_set: str) -> list[float]:
        """Return the lead of the proposed method over another variant, for each draw."""
        return [
            self.scores[seed, PROPOSED, measure, image_set] - self.scores[seed, other, measure, image_set]
            for seed in self.seeds
        ]

    def sets_against(self, other: str) -> tuple[str, ...]:
        """Return the sets on which the proposed method is compared with another variant."""
        return self.grey if other == SEPARATE else (*self.grey, *self.colour)

    def range_of_means(self, measure: str) -> float:
        """Return the range over the draws of the proposed method's mean over the grey sets."""
        means = [
            np.mean([self.scores[seed, PROPOSED, measure, name] for name in self.grey]) for seed in self.seeds
        ]
        return float(np.ptp(means))


def build_draw_methods(
    methods: Mapping[str, FusionMethod], kinds: Mapping[str, CoupledDictionary]
) -> dict[str, FusionMethod]:
    """Return the methods that depend on the draw, with the dictionaries of one draw."""
    proposed: Any = methods[PROPOSED]  # dataclasses
    rival: Any = methods[RIVAL]
    return {
        PROPOSED: replace(proposed, dictionary=kinds["coupled"]),
        SEPARATE: replace(proposed, dictionary=kinds["separate"]),
        RIVAL: replace(rival, dictionary=kinds["separate"]),
    }


def run_draws(
    grey: TableResults,
    colour: TableResults,
    learned: Dictionaries,
    methods: Mapping[str, FusionMethod],
    progress: Progress,
) -> Draws:
    """Fuse the sets with the dictionaries of every draw. Results of the tables are reused."""
    _, measures, _ = table_axes(TABLE_1)
    draws = Draws(tuple(learned.draws), tuple(grey.sets), tuple(colour.sets), {})
    for seed, kinds in track(learned.draws.items(), PART, progress):
        for name, method in build_draw_methods(methods, kinds).items():
            for image_set in draws.sets_against(name):
                results = grey if image_set in grey.sets else colour
                if seed == draws.seeds[0] and name in methods:
                    scores = results.by_measure(name, image_set)
                else:
                    scene = results.sets[image_set]
                    scores = scene.score(fuse(scene.frames, method).image, measures)
                draws.scores.update({(seed, name, key, image_set): value for key, value in scores.items()})
    return draws


def section(draws: Draws) -> Section:
    """Show the smallest and the largest lead over all draws."""
    columns = list(product((RIVAL, SEPARATE), MEASURES))

    def lead(name: str, other: str, measure: str) -> str:
        return format_range(draws.leads(other, measure, name)) if name in draws.sets_against(other) else ""

    rows = [(name, *(lead(name, *column) for column in columns)) for name in draws.sets_against(RIVAL)]
    changes = " and ".join(f"{SYMBOLS[m]} by up to {draws.range_of_means(m):.4f}" for m in MEASURES)
    return Section(
        PART,
        "Influence of the draw of training patches",
        paragraph(
            f"The lead of the proposed method, smallest and largest of {len(draws.seeds)} draws (seeds "
            f"{', '.join(map(str, draws.seeds))}); the tables use the first. A lead whose sign changes "
            "between draws is chance. The proposed method's mean over the grey sets changes between draws: "
            f"{changes}."
        )
        + plain_table(
            ["set", *(f"{SYMBOLS[measure]}, lead over {other}" for other, measure in columns)], rows
        ),
        tuple(
            Number(name, f"{variant}, seed {seed}", measure, value)
            for (seed, variant, measure, name), value in draws.scores.items()
        ),
    )


def format_range(leads: Sequence[float]) -> str:
    """Format the smallest and the largest lead."""
    return f"{format_signed(min(leads))} to {format_signed(max(leads))}"
