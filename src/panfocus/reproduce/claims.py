"""What the paper claims, and what this run says to it. Verdicts are computed; none is written by hand."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from panfocus.refine import PAPER_STRENGTH
from panfocus.reproduce.coding import READINGS
from panfocus.reproduce.coupled_or_separate import gains
from panfocus.reproduce.dictionaries import KINDS
from panfocus.reproduce.draws import SEPARATE, Draws
from panfocus.reproduce.elements import Section, paragraph, table, tag, text
from panfocus.reproduce.equations import SHARES, Findings
from panfocus.reproduce.masks import Masks
from panfocus.reproduce.paper import MEASURES, best_three
from panfocus.reproduce.parameters import BEST_EPS, BEST_W, Curve, Curves
from panfocus.reproduce.plan import Plan
from panfocus.reproduce.reconstruction import Reconstructions
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import GREY_SETS
from panfocus.reproduce.sweep import Sweep
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
    tested: str  # what the verdict is about; empty where nothing could be tested
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
            tag("th", text(claim.statement), _tested(claim), scope="row"),
            tag("td", claim.verdict, class_=claim.verdict.split()[0]),
            tag("td", text(claim.figures)),
        )
        for claim in claims
    ]
    return Section(
        "claims",
        "The paper's claims",
        paragraph(
            "Verdicts are computed from the figures below; under each claim stands what is tested. A claim "
            f"about every set is refuted by one set against it; what is said to hold is confirmed if it does "
            f"in {AS_A_RULE:.0%} of the cases. “Significantly”, “slightly” and “to a high degree” have no "
            "measure in the paper: the direction alone is tested, and no verdict says that a gain is large "
            "or small."
        )
        + tag("div", table([head], rows), class_="claims"),
    )


def _tested(claim: Claim) -> str:
    return tag("small", text(f"Tested: {claim.tested}.")) if claim.tested else ""


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
        leads = [PROPOSED in methods for methods in best.values()]
        yield Claim(
            f"The proposed method has the best {SYMBOLS[measure]} of all methods on every grey set",
            "no other method has a better value, on every set that has one",
            _verdict(leads),
            f"best on {sum(leads)} of {len(leads)}: "
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
        f"Masks of the proposed method have the error of those of {RIVAL} reduced to a high degree",
        "fewer connected regions on every scene, by however few",
        _verdict(ours < theirs for theirs, ours in fewer.values()),
        "connected regions: "
        + ", ".join(f"{scene} {theirs:,} → {ours:,}" for scene, (theirs, ours) in fewer.items()),
    )


def _of_the_parameters(curves: Curves, plan: Plan) -> Iterator[Claim]:
    low, high = BEST_W
    for measure in MEASURES:
        best = curves.w.best(TABLES_READING, measure)
        yield Claim(
            f"w between {low:g} and {high:g} gives the best {SYMBOLS[measure]}",
            f"the largest mean over the grey sets is there, {_among(curves.w)}",
            _verdict([low <= best <= high]),
            _best_points(curves.w, "w", measure, plan.w),
        )
    yield Claim(
        f"Q_AB/F is best at eps = {BEST_EPS:g}",
        f"the largest mean over the grey sets is there, {_among(curves.eps)}",
        _verdict([curves.eps.best(TABLES_READING, "QABF") == BEST_EPS]),
        _best_points(curves.eps, "eps", "QABF", plan.eps),
    )
    yield Claim(
        "NMI grows with eps",
        f"the mean over the grey sets falls at no step, {_among(curves.eps)}",
        _verdict(_steps_up(curves.eps, "NMI")),
        _best_points(curves.eps, "eps", "NMI", plan.eps),
    )
    for measure in MEASURES:
        means = curves.patch_size.means[TABLES_READING, measure]
        yield Claim(
            f"Larger patches give slightly better {SYMBOLS[measure]}",
            f"the mean over the grey sets falls at no step, {_among(curves.patch_size)}; "
            "not how much it gains",
            _verdict(_steps_up(curves.patch_size, measure)),
            ", ".join(
                f"{size:g} px {mean:.4f}" for size, mean in zip(curves.patch_size.x, means, strict=True)
            ),
        )


def _of_the_equations(findings: Findings) -> Iterator[Claim]:
    draws = f"{len(findings.seeds)} draws of the training patches"
    coupled, separate = ({label: findings.of_draws(kind, label) for label in SHARES} for kind in KINDS)
    yield Claim(
        "Over a coupled dictionary the best atom of a focused patch is a focused one, and that of its "
        "blurred partner a blurred one, (2) to (4)",
        f"it is for at least {AS_A_RULE:.0%} of the patches of either kind, in {draws}",
        _verdict(share >= AS_A_RULE for share in (*coupled["focused"], *coupled["blurred"])),
        f"focused {_percent(coupled['focused'])}, blurred {_percent(coupled['blurred'])}, both of a pair "
        f"{_percent(coupled['both'])}",
    )
    for label, words in SHARES.items():
        yield Claim(
            f"Coupled learning makes this so more than separate learning does: {words}",
            f"a larger share in each of {draws}",
            _verdict(a > b for a, b in zip(coupled[label], separate[label], strict=True)),
            f"{_percent(coupled[label])} against {_percent(separate[label])}",
        )
    sharp, soft = (findings.codes["separate", label] for label in ("focused", "blurred"))
    by_both = "by the mean and by the median over all patches"
    pairs = ((soft.mean, sharp.mean), (soft.median, sharp.median))
    yield Claim(
        "With separate learning, codes of blurred patches are sparser than those of focused ones, with "
        "larger entries",
        f"fewer atoms and larger non-zero entries, {by_both}",
        _verdict(a.atoms < b.atoms and a.entry > b.entry for a, b in pairs),
        "; ".join(
            f"{name}: blurred {a.atoms:.2f} atoms of magnitude {a.entry:.3f}, focused {b.atoms:.2f} of "
            f"{b.entry:.3f}; l1 norms {a.l1:.3f} and {b.l1:.3f}"
            for name, (a, b) in zip(("mean", "median"), pairs, strict=True)
        ),
    )
    yield Claim(
        "With separate learning, blurred patches correlate more with atoms of D_B than focused ones with "
        "atoms of D_F",
        f"a larger correlation with the best atom, {by_both}",
        _verdict(a.correlation > b.correlation for a, b in pairs),
        "; ".join(
            f"{name}: blurred {a.correlation:.3f}, focused {b.correlation:.3f}"
            for name, (a, b) in zip(("mean", "median"), pairs, strict=True)
        ),
    )


def _of_the_reconstruction(reconstructions: Reconstructions) -> Claim:
    steps = [
        (reconstructions.made[name, 0.0], reconstructions.made[name, PAPER_STRENGTH])
        for name in reconstructions.sets
    ]
    return Claim(
        "After global reconstruction contrast and details are significantly better",
        "8-bit values change and the average gradient grows, on every grey set",
        _verdict(
            after.changed_share > 0 and after.scores["AG"] > before.scores["AG"] for before, after in steps
        ),
        f"largest change {max((after.largest_change for _, after in steps), default=0):.4f} of 255 levels; "
        f"8-bit values changed: {max((after.changed_share for _, after in steps), default=0):.1%}",
    )


def _of_what_is_missing(grey: Results) -> Iterator[Claim]:
    absent = [s.name for s in GREY_SETS if s.name not in grey.sets]
    if absent:
        yield Claim(
            f"The results on {' and '.join(absent)}",
            "",
            "not testable here",
            "no public source of the frames",
        )
    yield Claim(
        "Details such as a cloud, a trace of water, a strand of hair are visible in the proposed results "
        "only",
        "",
        "not testable here",
        "needs an eye, and the paper's rectangles: see the fused pictures",
    )


def _ahead_everywhere(statement: str, ahead: Mapping[str, float]) -> Claim:
    leads = [difference > 0 for difference in ahead.values()]
    return Claim(
        statement,
        "a larger value on every set, by however little",
        _verdict(leads),
        f"ahead on {sum(leads)} of {len(leads)}: {_list(ahead)}",
    )


def _over_draws(draws: Draws, other: str, measure: str) -> str:
    leads = [lead for name in draws.sets for lead in draws.leads(other, measure, name)]
    return (
        f"on the grey sets, with {len(draws.seeds)} draws of training patches, ahead in "
        f"{sum(lead > 0 for lead in leads)} of {len(leads)} cases"
    )


def _list(differences: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {signed(difference)}" for name, difference in differences.items())


def _percent(shares: Iterable[float]) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares) + " %"


def _among(curve: Curve) -> str:
    return f"among {len(curve.x)} values from {curve.x[0]:g} to {curve.x[-1]:g}"


def _best_points(curve: Curve, name: str, measure: str, usual: float) -> str:
    points = []
    for reading in READINGS:
        best = curve.best(reading, measure)
        points.append(
            f"contrast {reading}: {curve.at(reading, measure, best):.4f} at {name} = {best:g}, "
            f"{curve.at(reading, measure, usual):.4f} at {usual:g}"
        )
    return "; ".join(points)


def _steps_up(curve: Curve, measure: str) -> list[bool]:
    return [b >= a for a, b in pairwise(curve.means[TABLES_READING, measure])]


def _verdict(cases: Iterable[bool]) -> Verdict:
    """Confirm what holds in all cases; without a case nothing is known."""
    held = list(cases)
    if not held:
        return "not testable here"
    return "confirmed" if all(held) else "refuted"
