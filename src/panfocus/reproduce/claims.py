"""What the paper claims, and what this run says to it. Verdicts are computed; none is written by hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
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
from panfocus.reproduce.reconstruction import Reconstructions
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import GREY_SETS
from panfocus.reproduce.settings import Plan
from panfocus.reproduce.sweep import Sweep
from panfocus.reproduce.tables import DIGITS, SYMBOLS, Results, signed
from panfocus.reproduce.variants import Variant

Verdict = Literal["confirmed", "refuted", "depends on the draw", "not told apart", "not testable here"]

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
        *_of_the_parameters(evidence.curves, evidence.plan, evidence.draws),
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
            "Verdicts are computed from the figures below; under each claim stands what is tested. What is "
            "learned depends on which training patches are drawn: where there are several draws, a claim "
            "must hold in all of them; one that holds in some depends on the draw. A claim about every set "
            "is refuted by a set on which it holds in no draw. Where there is one draw only, as for the "
            "curves, what is smaller than the difference between draws is not told apart. A lead that is "
            "zero in the digits shown is none. What is said to hold of patches is confirmed if it does for "
            f"{AS_A_RULE:.0%} of them. “Significantly”, “slightly” and “to a high degree” have no measure in "
            "the paper: the direction alone is tested, and no verdict says that a gain is large or small."
        )
        + tag("div", table([head], rows), class_="claims"),
    )


def _tested(claim: Claim) -> str:
    return tag("small", text(f"Tested: {claim.tested}.")) if claim.tested else ""


def _of_the_tables(evidence: Evidence) -> Iterator[Claim]:
    draws = evidence.draws
    for measure in MEASURES:
        yield _ahead_everywhere(
            f"The proposed method is ahead of {RIVAL} in {SYMBOLS[measure]} on every set",
            draws,
            RIVAL,
            measure,
        )
    for measure in (*MEASURES, "MSE"):
        best = {
            name: [_best_methods(evidence, seed, measure, name) for seed in draws.seeds]
            for name in evidence.grey.sets
            if evidence.grey.values(measure, name)
        }
        leads = {name: [PROPOSED in methods for methods in several] for name, several in best.items()}
        yield Claim(
            f"The proposed method has the best {SYMBOLS[measure]} of all methods on every grey set",
            f"no other method has a better value, on every set that has one, in {_counted(draws.seeds)}",
            _of_all(map(_of_draws, leads.values())),
            f"{_cases(leads, 'best')}; in the table: "
            + ", ".join(f"{name} {' and '.join(methods)}" for name, (methods, *_) in best.items()),
        )


def _best_methods(evidence: Evidence, seed: int, measure: str, image_set: str) -> list[str]:
    """Return the methods of the best value, in the digits shown; those that are learned from a draw's."""
    drawn = {method: evidence.draws.scores[seed, method, measure, image_set] for method in (PROPOSED, RIVAL)}
    values = {
        method: round(value, DIGITS)
        for method, value in (evidence.grey.values(measure, image_set) | drawn).items()
    }
    return [method for method, place in best_three(values, measure).items() if place == 1]


def _of_the_dictionaries(evidence: Evidence) -> Iterator[Claim]:
    for measure in MEASURES:
        claim = _ahead_everywhere(
            f"A coupled dictionary is ahead of separately learned ones in {SYMBOLS[measure]} on every grey "
            "set",
            evidence.draws,
            SEPARATE,
            measure,
        )
        others = "; ".join(
            f"contrast {reading}, first draw: {_list(gains(evidence.sweep, evidence.plan, reading, measure))}"
            for reading in READINGS
            if reading != TABLES_READING
        )
        yield replace(claim, figures=f"{claim.figures}; {others}")
    masks = evidence.masks
    ours, theirs = masks.of_draws(PROPOSED), masks.of_draws(RIVAL)
    regions = ", ".join(
        f"{scene} {masks.regions[RIVAL, scene]:,} → {masks.regions[PROPOSED, scene]:,}"
        for scene in masks.scenes
    )
    yield Claim(
        f"Masks of the proposed method have the error of those of {RIVAL} reduced to a high degree",
        "a larger share of the patches labelled by ground truth goes to the right frame, by however little, "
        f"in {_counted(masks.seeds)}",
        _of_draws(_is_more(100 * a, 100 * b, digits=2) for a, b in zip(ours, theirs, strict=True)),
        f"right: {_percent(ours, digits=2)} against {_percent(theirs, digits=2)}; connected regions of the "
        f"masks shown: {regions}",
    )


def _of_the_parameters(curves: Curves, plan: Plan, draws: Draws) -> Iterator[Claim]:
    for measure in MEASURES:
        yield _best_within(curves.w, "w", BEST_W, measure, plan.w, draws)
    yield _best_within(curves.eps, "eps", (BEST_EPS, BEST_EPS), "QABF", plan.eps, draws)
    claim = _grows(curves.eps, "NMI grows with eps", "NMI", draws)
    yield replace(claim, figures=f"{claim.figures}; {_best_points(curves.eps, 'eps', 'NMI', plan.eps)}")
    for measure in MEASURES:
        claim = _grows(
            curves.patch_size, f"Larger patches give slightly better {SYMBOLS[measure]}", measure, draws
        )
        means = curves.patch_size.means[TABLES_READING, measure]
        sizes = zip(curves.patch_size.x, means, strict=True)
        yield replace(
            claim,
            tested=f"{claim.tested}; not how much it gains",
            figures=f"{claim.figures}; {', '.join(f'{size:g} px {mean:.4f}' for size, mean in sizes)}",
        )


def _best_within(
    curve: Curve, name: str, band: tuple[float, float], measure: str, usual: float, draws: Draws
) -> Claim:
    """Judge whether the best point of a curve lies in a band of its parameter."""
    low, high = band
    points = list(zip(curve.x, curve.means[TABLES_READING, measure], strict=True))
    within = [mean for x, mean in points if low <= x <= high]
    beyond = [mean for x, mean in points if not low <= x <= high]
    lead = max(within) - max(beyond)
    where = f"{name} = {low:g}" if low == high else f"{name} between {low:g} and {high:g}"
    return Claim(
        f"{SYMBOLS[measure]} is best at {where}",
        f"the largest mean over the grey sets is there, among {_values(curve)}, by more than draws of the "
        "training patches differ in such a mean",
        _told_apart(lead, draws.range_of_means(measure)),
        f"there {signed(lead)} against the best elsewhere, {_draws_differ(draws, measure)}; "
        f"{_best_points(curve, name, measure, usual)}",
    )


def _grows(curve: Curve, statement: str, measure: str, draws: Draws) -> Claim:
    """Judge whether a curve rises, and nowhere falls back."""
    means = curve.means[TABLES_READING, measure]
    rise = means[-1] - means[0]
    fall = max((before - after for before, after in combinations(means, 2)), default=0.0)
    difference = draws.range_of_means(measure)
    return Claim(
        statement,
        f"over {_values(curve)}, the mean over the grey sets is larger at the end than at the beginning, and "
        "nowhere smaller than before, by more than draws of the training patches differ in it",
        "refuted" if fall > difference else _told_apart(rise, difference),
        f"{signed(rise)} from first to last, largest fall {max(fall, 0):.4f}, "
        f"{_draws_differ(draws, measure)}",
    )


def _of_the_equations(findings: Findings) -> Iterator[Claim]:
    draws = _counted(findings.seeds)
    coupled, separate = ({label: findings.of_draws(kind, label) for label in SHARES} for kind in KINDS)
    yield Claim(
        "Over a coupled dictionary the best atom of a focused patch is a focused one, and that of its "
        "blurred partner a blurred one, (2) to (4)",
        f"it is for at least {AS_A_RULE:.0%} of the patches of either kind, in {draws}",
        _of_draws(
            min(shares) >= AS_A_RULE for shares in zip(coupled["focused"], coupled["blurred"], strict=True)
        ),
        f"focused {_percent(coupled['focused'])}, blurred {_percent(coupled['blurred'])}, both of a pair "
        f"{_percent(coupled['both'])}",
    )
    for label, words in SHARES.items():
        yield Claim(
            f"Coupled learning makes this so more than separate learning does: {words}",
            f"a larger share in {draws}",
            _of_draws(
                _is_more(100 * a, 100 * b, digits=1)
                for a, b in zip(coupled[label], separate[label], strict=True)
            ),
            f"{_percent(coupled[label])} against {_percent(separate[label])}",
        )
    by_both = f"by the mean and by the median over all patches, in {draws}"
    pairs = [
        [(soft.mean, sharp.mean), (soft.median, sharp.median)]
        for seed in findings.seeds
        for sharp, soft in [[findings.codes[seed, "separate", label] for label in ("focused", "blurred")]]
    ]
    yield Claim(
        "With separate learning, codes of blurred patches are sparser than those of focused ones, with "
        "larger entries",
        f"fewer atoms and larger non-zero entries, {by_both}",
        _of_draws(
            all(
                _is_more(b.atoms, a.atoms, digits=2) and _is_more(a.entry, b.entry, digits=3) for a, b in pair
            )
            for pair in pairs
        ),
        "first draw: "
        + "; ".join(
            f"{name}: blurred {a.atoms:.2f} atoms of magnitude {a.entry:.3f}, focused {b.atoms:.2f} of "
            f"{b.entry:.3f}; l1 norms {a.l1:.3f} and {b.l1:.3f}"
            for name, (a, b) in zip(("mean", "median"), pairs[0], strict=True)
        ),
    )
    yield Claim(
        "With separate learning, blurred patches correlate more with atoms of D_B than focused ones with "
        "atoms of D_F",
        f"a larger correlation with the best atom, {by_both}",
        _of_draws(all(_is_more(a.correlation, b.correlation, digits=3) for a, b in pair) for pair in pairs),
        "first draw: "
        + "; ".join(
            f"{name}: blurred {a.correlation:.3f}, focused {b.correlation:.3f}"
            for name, (a, b) in zip(("mean", "median"), pairs[0], strict=True)
        ),
    )


def _of_the_reconstruction(reconstructions: Reconstructions) -> Claim:
    steps = [
        (reconstructions.made[name, 0.0], reconstructions.made[name, PAPER_STRENGTH])
        for name in reconstructions.sets
    ]
    return Claim(
        "After global reconstruction contrast and details are significantly better",
        "8-bit values change and the average gradient grows, on every grey set. It hardly can: the step "
        "lowers the total variation, which is the average gradient but for rounding and the border",
        _of_all(
            "confirmed"
            if after.changed_share > 0 and _is_more(after.scores["AG"], before.scores["AG"])
            else "refuted"
            for before, after in steps
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


def _ahead_everywhere(statement: str, draws: Draws, other: str, measure: str) -> Claim:
    leads = {name: draws.leads(other, measure, name) for name in draws.sets_against(other)}
    ahead = {name: [_is_more(lead, 0) for lead in several] for name, several in leads.items()}
    ranges = (f"{name} {signed(min(several))} to {signed(max(several))}" for name, several in leads.items())
    return Claim(
        statement,
        f"a larger value on every set, by however little, in {_counted(draws.seeds)}",
        _of_all(map(_of_draws, ahead.values())),
        f"{_cases(ahead, 'ahead')}: {', '.join(ranges)}",
    )


def _cases(held: Mapping[str, Sequence[bool]], word: str) -> str:
    """Count the cases in which something holds, and the sets on which it always does."""
    flat = [case for several in held.values() for case in several]
    always = sum(map(all, held.values()))
    return f"{word} in {sum(flat)} of {len(flat)} cases, on {always} of {len(held)} sets with every draw"


def _counted(seeds: Sequence[int]) -> str:
    return f"each of {len(seeds)} draws of the training patches"


def _draws_differ(draws: Draws, measure: str) -> str:
    return f"draws differ by {draws.range_of_means(measure):.4f}"


def _list(differences: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {signed(difference)}" for name, difference in differences.items())


def _percent(shares: Iterable[float], digits: int = 1) -> str:
    return ", ".join(f"{100 * share:.{digits}f}" for share in shares) + " %"


def _values(curve: Curve) -> str:
    return f"{len(curve.x)} values from {curve.x[0]:g} to {curve.x[-1]:g}"


def _best_points(curve: Curve, name: str, measure: str, usual: float) -> str:
    points = []
    for reading in READINGS:
        best = curve.best(reading, measure)
        points.append(
            f"contrast {reading}: {curve.at(reading, measure, best):.4f} at {name} = {best:g}, "
            f"{curve.at(reading, measure, usual):.4f} at {usual:g}"
        )
    return "; ".join(points)


def _is_more(a: float, b: float, digits: int = DIGITS) -> bool:
    """Tell whether a is more than b in the digits that are shown."""
    return round(a - b, digits) > 0


def _told_apart(lead: float, difference: float) -> Verdict:
    """Judge a lead by how much chance alone makes out."""
    if lead > difference:
        return "confirmed"
    return "refuted" if lead < -difference else "not told apart"


def _of_draws(held: Iterable[bool]) -> Verdict:
    """Judge what holds, or does not, in each draw."""
    cases = list(held)
    if not cases:
        return "not testable here"
    if all(cases):
        return "confirmed"
    return "depends on the draw" if any(cases) else "refuted"


def _of_all(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge a claim about every set: by the set that is most against it; without a set nothing is known."""
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("refuted", "depends on the draw", "confirmed")
    return next((verdict for verdict in order if verdict in found), "not testable here")
