"""Choices that the paper leaves open, and which comes closest to its rows of Table 1.

Measured on the sets whose public files are the paper's, so that differences do not come from the files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any

import numpy as np

from panfocus._progress import Progress, track
from panfocus.reproduce.elements import Number, Section, escape, paragraph, table, tag
from panfocus.reproduce.image_sets import EXACT_SETS
from panfocus.reproduce.paper import MEASURES, TABLE_1
from panfocus.reproduce.tables import SYMBOLS, TableResults, format_signed

PART = "variants"

# Choices by row of Table 1; the first is used in the table.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "DWT": tuple(
        {"details": details, "approximation": approximation}
        for approximation, details in product(
            ("mean", "choose-max", "window"), ("choose-max", "mean", "window")
        )
    ),
    "DSIFT": (
        {"refinement": "none"},
        {"refinement": "sharpness"},
        {"refinement": "matching"},
        {"refinement": "none", "cell": 2},
        {"refinement": "none", "window": 1},
        {"refinement": "none", "window": 16},
    ),
    "SR-CM": ({"reconstruct": "pixels"}, {"reconstruct": "codes"}),
    "SR-KSVD": ({"reconstruct": "pixels"}, {"reconstruct": "codes"}),
    "Proposed": ({"contrast": "restored"}, {"contrast": "normalised"}),
}


@dataclass(frozen=True)
class Variant:
    """A choice and its differences from the paper (ours - paper), by measure and set."""

    row: str
    settings: str
    differences: dict[tuple[str, str], float]

    @property
    def distance(self) -> float:
        """Mean absolute difference in NMI and Q_AB/F, which need no reference."""
        return float(np.mean([abs(d) for (key, _), d in self.differences.items() if key in MEASURES]))


def run_variants(results: TableResults, progress: Progress) -> list[Variant]:
    """Fuse the sets whose files are the paper's with every variant of the table's methods."""
    choices = [(row, settings) for row, several in VARIANTS.items() for settings in several]
    found = []
    for row, settings in track(choices, PART, progress):
        method: Any = results.methods[row]  # a dataclass
        differences = {
            (key, name): value - TABLE_1[row, key, name].value
            for name in EXACT_SETS
            if name in results.sets
            for key, value in results.score(name, replace(method, **settings)).items()
        }
        words = ", ".join(f"{setting}={value}" for setting, value in settings.items())
        found.append(Variant(row, words, differences))
    return found


def section(variants: Sequence[Variant]) -> Section:
    """Show the difference of every choice from the paper."""
    columns = sorted(variants[0].differences, key=lambda column: list(SYMBOLS).index(column[0]))
    headings = [tag("th", heading, scope="col", class_="word") for heading in ("Row", "Choice")]
    headings += [tag("th", f"{SYMBOLS[key]}, {name}", scope="col") for key, name in columns]
    headings.append(tag("th", "mean absolute, NMI and Q_AB/F", scope="col"))
    body = []
    for row, group in groupby(variants, key=lambda variant: variant.row):
        choices = list(group)
        closest = min(variant.distance for variant in choices)
        for i, variant in enumerate(choices):
            body.append(
                tag(
                    "tr",
                    tag("th", "" if i else escape(row), scope="row"),
                    tag("th", escape(variant.settings), scope="row"),
                    *(tag("td", _difference(variant, *column)) for column in columns),
                    tag(
                        "td",
                        f"{variant.distance:.4f}",
                        class_="nearest" if variant.distance == closest else None,
                    ),
                    class_=None if i else "first",
                )
            )
    return Section(
        PART,
        "What the paper leaves open",
        paragraph(
            f"Our value minus the paper's on {' and '.join(EXACT_SETS)}, whose public files are the "
            "paper's; MSE in percent. The first choice of a row is used in Table 1; the choice closest to "
            "the paper in NMI and Q_AB/F is bold."
        )
        + table([tag("tr", *headings)], body),
        tuple(
            Number(name, f"{v.row}: {v.settings}", f"{key}, ours - paper", difference)
            for v in variants
            for (key, name), difference in v.differences.items()
        ),
    )


def _difference(variant: Variant, measure: str, image_set: str) -> str:
    difference = variant.differences[measure, image_set]
    if measure != "MSE":
        return format_signed(difference)
    return f"{format_signed(100 * difference / TABLE_1[variant.row, measure, image_set].value, digits=0)} %"
