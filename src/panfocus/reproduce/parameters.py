"""Fig. 6 and 13 to 15: coupled or separate dictionaries, w, eps and the patch size."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from panfocus.reproduce.dictionaries import KINDS
from panfocus.reproduce.elements import (
    Number,
    Section,
    embed_svg,
    escape,
    figure,
    paragraph,
    plain_table,
    tag,
)
from panfocus.reproduce.paper import MEASURES, Experiment
from panfocus.reproduce.plots import bars, curves
from panfocus.reproduce.sweep import READINGS, Sweep, SweepPoint
from panfocus.reproduce.tables import SYMBOLS, format_signed

PART = "parameters"
COUPLING_PART = "coupled or separate"
BEST_W = (0.54, 0.56)  # best values by the paper
BEST_EPS = 0.1


@dataclass(frozen=True)
class Curve:
    """Means over the grey sets for the values of one parameter."""

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
    """The three curves of the paper."""

    w: Curve
    eps: Curve
    patch_size: Curve


def compute_curves(sweep: Sweep, experiment: Experiment) -> Curves:
    """Return the mean curves of a sweep."""

    def curve(parameter: str, values: tuple[float, ...]) -> Curve:
        changes: list[dict[str, Any]] = [{parameter: value} for value in values]
        settings = [replace(SweepPoint.default(experiment), **change) for change in changes]
        return Curve(
            values,
            {
                (reading, measure): tuple(sweep.mean(setting, reading, measure) for setting in settings)
                for reading in READINGS
                for measure in MEASURES
            },
        )

    return Curves(
        curve("w", experiment.w_values),
        curve("eps", experiment.eps_values),
        curve("patch_size", experiment.patch_sizes),
    )


def curve_section(found: Curves, sweep: Sweep) -> Section:
    """Show the curves and their best points, Fig. 13 to 15."""
    parts: tuple[tuple[str, str, Curve, str, dict[str, Any]], ...] = (
        ("Fig. 13", "w", found.w, "weight w of the focused atoms", {"band": BEST_W}),
        (
            "Fig. 14",
            "eps",
            found.eps,
            "tolerance eps of the codes",
            {"log_ticks": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5), "band": (BEST_EPS, BEST_EPS)},
        ),
        (
            "Fig. 15",
            "patch size",
            found.patch_size,
            "side d of the patches in pixels, 4 d² atoms per half",
            {},
        ),
    )
    body = paragraph(
        f"Means over {', '.join(sweep.sets)}, in both readings of the norm. The best point of a curve is "
        "filled. Grey band: the best values by the paper. "
        f"The largest w is {found.w.x[-1]:g}: the paper defines Eq. (7) for w below 1, and at 1 the blurred "
        "atoms would have no weight."
    )
    numbers = []
    for title, name, curve, label, options in parts:
        panels: dict[str, dict[str, tuple[float, ...]]] = {
            SYMBOLS[measure]: {reading: curve.means[reading, measure] for reading in READINGS}
            for measure in MEASURES
        }
        body += tag("h3", escape(f"{title}: {label}"))
        body += figure(
            embed_svg(curves(curve.x, panels, x_label=name, **options), f"curves against {name}"),
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


def coupling_gains(sweep: Sweep, experiment: Experiment, reading: str, measure: str) -> dict[str, float]:
    """Return the lead of the coupled dictionary, by set."""
    coupled, separate = (
        sweep.by_set(replace(SweepPoint.default(experiment), dictionary=kind), reading, measure)
        for kind in KINDS
    )
    return {name: a - b for name, a, b in zip(sweep.sets, coupled, separate, strict=True)}


def coupling_section(sweep: Sweep, experiment: Experiment) -> Section:
    """Compare coupled and separate dictionaries as bars and numbers, Fig. 6."""
    scores = {
        (f"{kind}, {reading}", measure): sweep.by_set(
            replace(SweepPoint.default(experiment), dictionary=kind), reading, measure
        )
        for reading in READINGS
        for kind in KINDS
        for measure in MEASURES
    }
    panels = {
        SYMBOLS[measure]: {name: values for (name, key), values in scores.items() if key == measure}
        for measure in MEASURES
    }
    rows = []
    for reading in READINGS:
        for measure in MEASURES:
            ahead = list(coupling_gains(sweep, experiment, reading, measure).values())
            rows.append(
                (
                    f"{SYMBOLS[measure]}, {reading}",
                    *map(format_signed, ahead),
                    format_signed(float(np.mean(ahead))),
                )
            )
    return Section(
        COUPLING_PART,
        "Fig. 6: coupled against separately learned dictionaries",
        paragraph(
            "Both readings of step 2 in the paper: activity of the original patch (restored, close to the "
            "paper's tables) and of the patch scaled to norm one (normalised, the literal Algorithm 1)."
        )
        + figure(
            embed_svg(bars(sweep.sets, panels), "bars of NMI and Q_AB/F by set"),
            "NMI and Q_AB/F by set.",
            "drawn",
        )
        + plain_table(["coupled − separate", *sweep.sets, "mean"], rows, "Lead of the coupled dictionary"),
        tuple(
            Number(COUPLING_PART, name, variant, measure, value)
            for (variant, measure), values in scores.items()
            for name, value in zip(sweep.sets, values, strict=True)
        ),
    )
