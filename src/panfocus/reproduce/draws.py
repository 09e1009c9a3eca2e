"""Influence of the draw of training patches: the sets of both tables with dictionaries from other draws."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from panfocus._progress import Progress, track
from panfocus.dictionary import CoupledDictionary
from panfocus.methods import FusionMethod
from panfocus.reproduce.dictionaries import Dictionaries
from panfocus.reproduce.elements import Number, Section, paragraph, plain_table
from panfocus.reproduce.paper import MEASURES, PROPOSED, RIVAL
from panfocus.reproduce.tables import SYMBOLS, TableResults, format_signed

PART = "draws"
SEPARATE = f"{PROPOSED} over separate dictionaries"


@dataclass(frozen=True)
class Draws:
    """Scores by variant, measure and set, one for each seed."""

    seeds: tuple[int, ...]
    grey: tuple[str, ...]
    colour: tuple[str, ...]  # not compared with separate dictionaries
    scores: Mapping[tuple[str, str, str], list[float]]

    def leads(self, other: str, measure: str, image_set: str) -> list[float]:
        """Return the lead of the proposed method over another variant, for each draw."""
        both = (self.scores[variant, measure, image_set] for variant in (PROPOSED, other))
        return [a - b for a, b in zip(*both, strict=True)]

    def sets_against(self, other: str) -> tuple[str, ...]:
        """Return the sets on which the proposed method is compared with another variant."""
        return self.grey if other == SEPARATE else (*self.grey, *self.colour)

    def range_of_means(self, measure: str) -> float:
        """Return the range over the draws of the proposed method's mean over the grey sets."""
        by_set = [self.scores[PROPOSED, measure, name] for name in self.grey]
        return float(np.ptp(np.mean(by_set, axis=0)))


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


def run_draws(grey: TableResults, colour: TableResults, learned: Dictionaries, progress: Progress) -> Draws:
    """Fuse the sets with the dictionaries of every draw."""
    scores: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    draws = Draws(tuple(learned.draws), tuple(grey.sets), tuple(colour.sets), scores)
    for kinds in track(learned.draws.values(), PART, progress):
        for variant, method in build_draw_methods(grey.methods, kinds).items():
            for image_set in draws.sets_against(variant):
                results = grey if image_set in grey.sets else colour
                for key, value in results.score(image_set, method).items():
                    scores[variant, key, image_set].append(value)
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
            Number(name, f"{variant}, seed {seed}", measure, values[i])
            for i, seed in enumerate(draws.seeds)
            for (variant, measure, name), values in draws.scores.items()
        ),
    )


def format_range(leads: Sequence[float]) -> str:
    """Format the smallest and the largest lead."""
    return f"{format_signed(min(leads))} to {format_signed(max(leads))}"
