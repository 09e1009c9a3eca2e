"""What the paper claims, and what this run says to it. Verdicts are computed; none is written by hand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from panfocus.refine import PAPER_STRENGTH
from panfocus.reproduce.coding import READINGS
from panfocus.reproduce.coupled_or_separate import gains
from panfocus.reproduce.draws import SEPARATE, Draws
from panfocus.reproduce.elements import Section, paragraph, table, tag, text
from panfocus.reproduce.equations import Findings
from panfocus.reproduce.masks import Masks
from panfocus.reproduce.paper import best_three
from panfocus.reproduce.parameters import BEST_EPS, BEST_W, Curve, Curves
from panfocus.reproduce.plan import Plan
from panfocus.reproduce.reconstruction import Reconstructions
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import GREY_SETS
from panfocus.reproduce.sweep import MEASURES, Sweep
from panfocus.reproduce.tables import SYMBOLS, Results, signed
from panfocus.reproduce.variants import Variant

Verdict = Literal["confirmed", "refuted", "not testable here"]

TABLES_READING = READINGS[0]  # the claims are about the tables' method
AS_A_RULE = 0.95  # share of the cases in which what "holds" must hold


@dataclass(frozen=True)
class Evidence:
    """All that was measured."""

    plan: Plan
    grey: Results
    colour: Results
    variants: list[Variant]
    draws: Draws
    sweep: Sweep
    curves: Curves
    masks: Masks
    reconstructions: Reconstructions
    findings: Findings


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and what became of it."""

    statement: str
    verdict: Verdict
    figures: str


def judge(evidence: Evidence) -> list[Claim]:
    """Judge every claim."""
    return [
        *_of_the_tables(evidence),
        *_of_the_dictionaries(evidence),
        *_of_the_parameters(evidence.curves, evidence.plan),
        *_of_the_equations(evidence.findings),
        _of_the_reconstruction(evidence.reconstructions),
        *_of_what_is_missing(evidence.grey),
    ]


def section(claims: list[Claim]) -> Section:
    """Show the claims with their verdicts."""
    head = tag(
        "tr", *(tag("th", name, scope="col") for name in ("The paper says", "Here", "Figures of this run"))
    )
    rows = [
        tag(
            "tr",
            tag("th", text(claim.statement), scope="row"),
            tag("td", claim.verdict, class_=claim.verdict.split()[0]),
            tag("td", text(claim.figures)),
        )
        for claim in claims
    ]
    return Section(
        "claims",
        "The paper's claims",
        paragraph(
            "Verdicts are computed from the figures below. A claim about every set is refuted by one set "
            f"against it; what is said to hold is confirmed if it does in {AS_A_RULE:.0%} of the cases."
        )
        + tag("div", table([head], rows), class_="claims"),
    )


def _of_the_tables(evidence: Evidence) -> Iterator[Claim]:
    for measure in MEASURES:
        ahead = {
            name: values[PROPOSED] - values[RIVAL]
            for results in (evidence.grey, evidence.colour)
            for name in results.sets
            for values in [results.values(measure, name)]
        }
        claim = _ahead_everywhere(
            f"The proposed method is ahead of {RIVAL} in {SYMBOLS[measure]} on every set", ahead
        )
        yield replace(claim, figures=f"{claim.figures}; {_over_draws(evidence.draws, RIVAL, measure)}")
    for measure in (*MEASURES, "MSE"):
        columns = {name: evidence.grey.values(measure, name) for name in evidence.grey.sets}
        best = {
            name: [method for method, place in best_three(values, measure).items() if place == 1]
            for name, values in columns.items()
            if values
        }
        statement = f"The proposed method has the best {SYMBOLS[measure]} of all methods on every grey set"
        if not best:
            yield Claim(statement, "not testable here", "no set has a reference")
            continue
        lead = sum(PROPOSED in methods for methods in best.values())
        yield Claim(
            statement,
            _verdict(lead == len(best)),
            f"best on {lead} of {len(best)}: "
            + ", ".join(f"{name} {' and '.join(methods)}" for name, methods in best.items()),
        )


def _of_the_dictionaries(evidence: Evidence) -> Iterator[Claim]:
    for measure in MEASURES:
        by_reading = {r: gains(evidence.sweep, evidence.plan, r, measure) for r in READINGS}
        claim = _ahead_everywhere(
            f"A coupled dictionary is ahead of separately learned ones in {SYMBOLS[measure]} on every grey "
            "set",
            by_reading[TABLES_READING],
        )
        others = "; ".join(
            f"contrast {reading}: {_list(ahead)}"
            for reading, ahead in by_reading.items()
            if reading != TABLES_READING
        )
        drawn = _over_draws(evidence.draws, SEPARATE, measure)
        yield replace(claim, figures=f"{claim.figures}; {drawn}; {others}")
    regions = evidence.masks.regions
    fewer = {scene: (regions[RIVAL, scene], regions[PROPOSED, scene]) for scene in evidence.masks.scenes}
    yield Claim(
        f"Masks of the proposed method have much less scattered error than those of {RIVAL}",
        _verdict(all(ours < theirs for theirs, ours in fewer.values())),
        "connected regions: "
        + ", ".join(f"{scene} {theirs:,} → {ours:,}" for scene, (theirs, ours) in fewer.items()),
    )


def _of_the_parameters(curves: Curves, plan: Plan) -> Iterator[Claim]:
    low, high = BEST_W
    for measure in MEASURES:
        best = curves.w.best(TABLES_READING, measure)
        yield Claim(
            f"w between {low:g} and {high:g} gives the best {SYMBOLS[measure]}",
            _verdict(low <= best <= high),
            _best_points(curves.w, "w", measure, plan.w),
        )
    yield Claim(
        f"Q_AB/F is best at eps = {BEST_EPS:g}",
        _verdict(curves.eps.best(TABLES_READING, "QABF") == BEST_EPS),
        _best_points(curves.eps, "eps", "QABF", plan.eps),
    )
    yield Claim(
        "NMI grows with eps",
        _verdict(_never_falls(curves.eps.means[TABLES_READING, "NMI"])),
        _best_points(curves.eps, "eps", "NMI", plan.eps),
    )
    for measure in MEASURES:
        means = curves.patch_size.means[TABLES_READING, measure]
        yield Claim(
            f"Larger patches give slightly better {SYMBOLS[measure]}",
            _verdict(_never_falls(means)),
            ", ".join(
                f"{size:g} px {mean:.4f}" for size, mean in zip(curves.patch_size.x, means, strict=True)
            ),
        )


def _of_the_equations(findings: Findings) -> Iterator[Claim]:
    coupled, separate = findings.shares["coupled"], findings.shares["separate"]
    yield Claim(
        "Over a coupled dictionary the best atom of a focused patch is a focused one, and that of its "
        "blurred partner a blurred one, (2) to (4)",
        _verdict(min(coupled.focused, coupled.blurred) >= AS_A_RULE),
        f"focused {coupled.focused:.1%}, blurred {coupled.blurred:.1%}, both of a pair {coupled.both:.1%}",
    )
    yield Claim(
        "Coupled learning makes this so more than separate learning does",
        _verdict(coupled.focused + coupled.blurred > separate.focused + separate.blurred),
        f"mean of the two shares {(coupled.focused + coupled.blurred) / 2:.1%} against "
        f"{(separate.focused + separate.blurred) / 2:.1%}; both of a pair {coupled.both:.1%} against "
        f"{separate.both:.1%}",
    )
    sharp, soft = (findings.codes["separate", label] for label in ("focused", "blurred"))
    yield Claim(
        "With separate learning, codes of blurred patches are sparser than those of focused ones, with "
        "larger entries",
        _verdict(soft.atoms < sharp.atoms and soft.entry > sharp.entry),
        f"blurred {soft.atoms:.2f} atoms of magnitude {soft.entry:.3f}, focused {sharp.atoms:.2f} of "
        f"{sharp.entry:.3f}; l1 norms {soft.l1:.3f} and {sharp.l1:.3f}",
    )
    yield Claim(
        "With separate learning, blurred patches correlate more with atoms of D_B than focused ones with "
        "atoms of D_F",
        _verdict(soft.correlation > sharp.correlation),
        f"largest correlation: blurred {soft.correlation:.3f}, focused {sharp.correlation:.3f}",
    )


def _of_the_reconstruction(reconstructions: Reconstructions) -> Claim:
    steps = {name: reconstructions.made[name, PAPER_STRENGTH] for name in reconstructions.sets}
    before = {name: reconstructions.made[name, 0.0] for name in reconstructions.sets}
    sharper = all(step.scores["AG"] > before[name].scores["AG"] for name, step in steps.items())
    visible = all(step.changed_share > 0 for step in steps.values())
    return Claim(
        "After global reconstruction contrast and details are significantly better",
        _verdict(visible and sharper),
        f"largest change {max(step.largest_change for step in steps.values()):.4f} of 255 levels; 8-bit "
        f"values changed: {max(step.changed_share for step in steps.values()):.1%}",
    )


def _of_what_is_missing(grey: Results) -> Iterator[Claim]:
    absent = [s.name for s in GREY_SETS if s.name not in grey.sets]
    if absent:
        yield Claim(
            f"The results on {' and '.join(absent)}", "not testable here", "no public source of the frames"
        )
    yield Claim(
        "Details such as a cloud, a trace of water, a strand of hair are visible in the proposed results "
        "only",
        "not testable here",
        "needs an eye, and the paper's rectangles: see the fused pictures",
    )


def _ahead_everywhere(statement: str, ahead: Mapping[str, float]) -> Claim:
    n = sum(difference > 0 for difference in ahead.values())
    return Claim(statement, _verdict(n == len(ahead)), f"ahead on {n} of {len(ahead)}: {_list(ahead)}")


def _over_draws(draws: Draws, other: str, measure: str) -> str:
    leads = [lead for name in draws.sets for lead in draws.leads(other, measure, name)]
    return (
        f"on the grey sets, with {len(draws.seeds)} draws of training patches, ahead in "
        f"{sum(lead > 0 for lead in leads)} of {len(leads)} cases"
    )


def _list(differences: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {signed(difference)}" for name, difference in differences.items())


def _best_points(curve: Curve, name: str, measure: str, usual: float) -> str:
    points = []
    for reading in READINGS:
        best = curve.best(reading, measure)
        points.append(
            f"contrast {reading}: {curve.at(reading, measure, best):.4f} at {name} = {best:g}, "
            f"{curve.at(reading, measure, usual):.4f} at {usual:g}"
        )
    return "; ".join(points)


def _never_falls(values: tuple[float, ...]) -> bool:
    return all(b >= a for a, b in pairwise(values))


def _verdict(holds: bool) -> Verdict:
    return "confirmed" if holds else "refuted"
