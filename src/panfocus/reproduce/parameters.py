"""Fig. 13 to 15: averages over the grey sets against w, eps and the side of the patches."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from panfocus.reproduce.coding import READINGS
from panfocus.reproduce.elements import Section, drawing, figure, paragraph, plain_table, tag, text
from panfocus.reproduce.numbers import Number
from panfocus.reproduce.paper import MEASURES
from panfocus.reproduce.plots import curves
from panfocus.reproduce.settings import Plan
from panfocus.reproduce.sweep import Setting, Sweep
from panfocus.reproduce.tables import SYMBOLS

PART = "parameters"
BEST_W = (0.54, 0.56)  # what the paper found best
BEST_EPS = 0.1


@dataclass(frozen=True)
class Curve:
    """Means over the grey sets at the values of one parameter."""

    x: tuple[float, ...]
    means: dict[tuple[str, str], tuple[float, ...]]  # by reading and measure

    def best(self, reading: str, measure: str) -> float:
        """Return the value of the parameter with the largest mean."""
        return self.x[int(np.argmax(self.means[reading, measure]))]

    def at(self, reading: str, measure: str, x: float) -> float:
        """Return the mean at one value of the parameter."""
        return self.means[reading, measure][self.x.index(x)]


@dataclass(frozen=True)
class Curves:
    """The three of the paper."""

    w: Curve
    eps: Curve
    patch_size: Curve


def draw_curves(sweep: Sweep, plan: Plan) -> Curves:
    """Take the means out of a sweep."""

    def curve(parameter: str, values: tuple[float, ...]) -> Curve:
        changes: list[dict[str, Any]] = [{parameter: value} for value in values]
        settings = [replace(Setting.usual(plan), **change) for change in changes]
        return Curve(
            values,
            {
                (reading, measure): tuple(sweep.mean(setting, reading, measure) for setting in settings)
                for reading in READINGS
                for measure in MEASURES
            },
        )

    return Curves(
        curve("w", plan.w_values), curve("eps", plan.eps_values), curve("patch_size", plan.patch_sizes)
    )


def section(found: Curves, sweep: Sweep) -> Section:
    """Show the curves and their best points."""
    parts: tuple[tuple[str, str, Curve, str, dict[str, Any]], ...] = (
        ("Fig. 13", "w", found.w, "weight w of the focused atoms", {"band": BEST_W}),
        (
            "Fig. 14",
            "eps",
            found.eps,
            "tolerance eps of the codes",
            {"log_ticks": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5), "band": (BEST_EPS, BEST_EPS)},
        ),
        ("Fig. 15", "patch size", found.patch_size, "side d of the patches in pixels, 4 d² atoms a half", {}),
    )
    body = paragraph(
        f"Means over {', '.join(sweep.sets)}, in both readings of the norm. The best point of a curve is "
        "filled. Grey band: what the paper calls best. "
        f"The largest w is {found.w.x[-1]:g}: the paper defines Eq. (7) for w below 1, and at 1 the blurred "
        "atoms would have no say at all."
    )
    numbers = []
    for title, name, curve, label, options in parts:
        panels: dict[str, dict[str, tuple[float, ...]]] = {
            SYMBOLS[measure]: {reading: curve.means[reading, measure] for reading in READINGS}
            for measure in MEASURES
        }
        body += tag("h3", text(f"{title}: {label}"))
        body += figure(
            drawing(curves(curve.x, panels, x_label=name, **options), f"curves against {name}"),
            " ".join(
                f"{SYMBOLS[measure]} is best at {name} = "
                + " and ".join(f"{curve.best(reading, measure):g} ({reading})" for reading in READINGS)
                + "."
                for measure in MEASURES
            ),
            "drawn",
        )
        body += tag("details", tag("summary", "The values"), _values(name, curve))
        numbers += [
            Number(PART, "mean of grey sets", f"{name}={x:g}, contrast={reading}", measure, value)
            for (reading, measure), means in curve.means.items()
            for x, value in zip(curve.x, means, strict=True)
        ]
    return Section(PART, "Fig. 13 to 15: the main parameters", body, tuple(numbers))


def _values(name: str, curve: Curve) -> str:
    heads = [f"{SYMBOLS[measure]}, {reading}" for reading, measure in curve.means]
    rows = [
        (f"{x:g}", *(f"{value:.4f}" for value in values))
        for x, *values in zip(curve.x, *curve.means.values(), strict=True)
    ]
    return plain_table([name, *heads], rows)
