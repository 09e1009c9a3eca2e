"""The paper's claims and their verdicts, which are computed from the measurements of this run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from panfocus.refine import PAPER_STRENGTH
from panfocus.reproduce.dictionaries import KINDS
from panfocus.reproduce.draws import SEPARATE, Draws, format_range
from panfocus.reproduce.elements import Section, escape, head_row, paragraph, table, tag
from panfocus.reproduce.equations import SHARES, CodeSizes, Findings
from panfocus.reproduce.fused_images import Reconstructions
from panfocus.reproduce.image_sets import GREY_SETS
from panfocus.reproduce.masks import Masks
from panfocus.reproduce.noise import NoiseSweep
from panfocus.reproduce.paper import MEASURES, PROPOSED, RIVAL, Experiment, rank_best_three
from panfocus.reproduce.parameters import BEST_EPS, BEST_W, READINGS, Curve, Sweep
from panfocus.reproduce.tables import DIGITS, SYMBOLS, TableResults, format_signed
from panfocus.reproduce.variants import Variant

Verdict = Literal["confirmed", "refuted", "depends on the draw", "inconclusive", "not testable here"]

TABLES_READING, OTHER_READING = READINGS  # the claims are about the reading of the tables
AS_A_RULE = 0.95  # share of patches for which a claim must hold


@dataclass(frozen=True)
class Evidence:
    """All measurements of a reproduction."""

    experiment: Experiment
    grey: TableResults
    colour: TableResults
    variants: list[Variant]
    draws: Draws
    sweep: Sweep
    curves: dict[str, Curve]
    masks: Masks
    reconstructions: Reconstructions
    findings: Findings
    noise: NoiseSweep


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and its verdict."""

    name: str  # short and stable, for programs
    statement: str
    tested: str  # the criterion of the verdict; empty if nothing could be tested
    verdict: Verdict
    figures: str


def judge(evidence: Evidence) -> list[Claim]:
    """Judge every claim."""
    return [
        *_judge_tables(evidence),
        *_judge_dictionaries(evidence),
        *_judge_parameters(evidence),
        *_judge_equations(evidence.findings),
        _judge_reconstruction(evidence.reconstructions),
        *_list_untestable(evidence.grey),
    ]


def section(claims: list[Claim]) -> Section:
    """Show the claims with their verdicts."""
    headings = ("The paper says", "Here", "Figures of this run")
    rows = []
    for claim in claims:
        tested = tag("small", escape(f"Tested: {claim.tested}.")) if claim.tested else ""
        rows.append(
            tag(
                "tr",
                tag("th", escape(claim.statement), tested, scope="row"),
                tag("td", claim.verdict, class_=claim.verdict.split()[0]),
                tag("td", escape(claim.figures)),
            )
        )
    return Section(
        "claims",
        "The paper's claims",
        paragraph(
            "Verdicts are computed from the figures below. The criterion is under each claim. Learning "
            "depends on the draw of training patches. With several draws, a claim must hold in all of them; "
            "if it holds in some, it depends on the draw. A claim about every set is refuted by a set on "
            "which it holds in no draw. With one draw, as for the curves, differences smaller than the range "
            "of the draws are inconclusive. A lead that rounds to zero does not count. A claim about "
            f"patches is confirmed if it holds for {AS_A_RULE:.0%} of them. The paper does not define "
            "“significantly”, “slightly” and “to a high degree”: only the direction is tested."
        )
        + tag("div", table([head_row(headings)], rows), class_="claims"),
    )


def _judge_tables(evidence: Evidence) -> Iterator[Claim]:
    draws = evidence.draws
    for measure in MEASURES:
        statement = f"The proposed method is ahead of {RIVAL} in {SYMBOLS[measure]} on every set"
        yield _ahead_everywhere(f"lead-{measure}", statement, draws, RIVAL, measure)
    for measure in (*MEASURES, "MSE"):
        best = {
            name: [_best_methods(evidence, i, measure, name) for i in range(len(draws.seeds))]
            for name in evidence.grey.sets
            if evidence.grey.by_method(measure, name)
        }
        leads = {name: [PROPOSED in methods for methods in several] for name, several in best.items()}
        yield Claim(
            f"best-{measure}",
            f"The proposed method has the best {SYMBOLS[measure]} of all methods on every grey set",
            f"no other method has a better value, on every set that has one, in {_count_draws(draws.seeds)}",
            _judge_sets(map(_judge_draws, leads.values())),
            f"{_cases(leads, 'best')}; in the table: "
            + ", ".join(f"{name} {' and '.join(methods)}" for name, (methods, *_) in best.items()),
        )


def _best_methods(evidence: Evidence, draw: int, measure: str, image_set: str) -> list[str]:
    """Return the methods with the best rounded value; learned methods use this draw."""
    drawn = {method: evidence.draws.scores[method, measure, image_set][draw] for method in (PROPOSED, RIVAL)}
    values = {
        method: round(value, DIGITS)
        for method, value in (evidence.grey.by_method(measure, image_set) | drawn).items()
    }
    return [method for method, place in rank_best_three(values, measure).items() if place == 1]


def _judge_dictionaries(evidence: Evidence) -> Iterator[Claim]:
    for measure in MEASURES:
        symbol = SYMBOLS[measure]
        statement = f"A coupled dictionary is ahead of separately learned ones in {symbol} on every grey set"
        claim = _ahead_everywhere(f"coupling-{measure}", statement, evidence.draws, SEPARATE, measure)
        gains = evidence.sweep.coupling_gains(OTHER_READING, measure)
        leads = ", ".join(f"{name} {format_signed(gain)}" for name, gain in gains.items())
        yield replace(claim, figures=f"{claim.figures}; contrast {OTHER_READING}, first draw: {leads}")
    masks = evidence.masks
    ours, theirs = masks.accuracy[PROPOSED], masks.accuracy[RIVAL]
    regions = ", ".join(
        f"{scene} {masks.regions[RIVAL, scene]:,} → {masks.regions[PROPOSED, scene]:,}"
        for scene in masks.scenes
    )
    yield Claim(
        "masks",
        f"Masks of the proposed method have the error of those of {RIVAL} reduced to a high degree",
        "more of the patches labelled by ground truth are taken from the right frame, by any amount, "
        f"in {_count_draws(masks.seeds)}",
        _judge_draws(_is_larger(100 * a, 100 * b, digits=2) for a, b in zip(ours, theirs, strict=True)),
        f"right: {_percent(ours, digits=2)} against {_percent(theirs, digits=2)}; connected regions of the "
        f"masks shown: {regions}",
    )


def _judge_parameters(evidence: Evidence) -> Iterator[Claim]:
    for measure in MEASURES:
        yield _best_within(evidence, "w", BEST_W, measure)
    yield _best_within(evidence, "eps", (BEST_EPS, BEST_EPS), "QABF")
    claim = _grows(evidence, "eps", "NMI", "NMI grows with eps")
    yield replace(claim, figures=f"{claim.figures}; {_best_points(evidence, 'eps', 'NMI')}")
    for measure in MEASURES:
        statement = f"Larger patches give slightly better {SYMBOLS[measure]}"
        claim = _grows(evidence, "patch size", measure, statement)
        curve = evidence.curves["patch size"]
        sizes = zip(curve.x, curve.means[TABLES_READING, measure], strict=True)
        yield replace(
            claim,
            tested=f"{claim.tested}; the size of the gain is not tested",
            figures=f"{claim.figures}; {', '.join(f'{size:g} px {mean:.4f}' for size, mean in sizes)}",
        )


def _best_within(evidence: Evidence, name: str, band: tuple[float, float], measure: str) -> Claim:
    """Judge whether the best point of a curve lies in a range of its parameter."""
    curve = evidence.curves[name]
    low, high = band
    points = list(zip(curve.x, curve.means[TABLES_READING, measure], strict=True))
    within = [mean for x, mean in points if low <= x <= high]
    beyond = [mean for x, mean in points if not low <= x <= high]
    lead = max(within) - max(beyond)
    chance = evidence.draws.range_of_means(measure)
    where = f"{name} = {low:g}" if low == high else f"{name} between {low:g} and {high:g}"
    return Claim(
        f"{name}-{measure}",
        f"{SYMBOLS[measure]} is best at {where}",
        f"the largest mean over the grey sets is there, among {_values(curve)}, by more than the range of "
        "this mean over the draws",
        _judge_lead(lead, chance),
        f"there {format_signed(lead)} against the best elsewhere, range over the draws {chance:.4f}; "
        f"{_best_points(evidence, name, measure)}",
    )


def _grows(evidence: Evidence, name: str, measure: str, statement: str) -> Claim:
    """Judge whether a curve rises and never falls."""
    curve = evidence.curves[name]
    means = curve.means[TABLES_READING, measure]
    rise = means[-1] - means[0]
    fall = max((before - after for before, after in combinations(means, 2)), default=0.0)
    chance = evidence.draws.range_of_means(measure)
    return Claim(
        f"{name}-growth-{measure}".replace(" ", "-"),
        statement,
        f"over {_values(curve)}, the mean over the grey sets is larger at the end than at the start and "
        "never decreases, by more than its range over the draws",
        "refuted" if fall > chance else _judge_lead(rise, chance),
        f"{format_signed(rise)} from first to last, largest fall {max(fall, 0):.4f}, range over the draws "
        f"{chance:.4f}",
    )


def _judge_equations(findings: Findings) -> Iterator[Claim]:
    draws = _count_draws(findings.seeds)
    coupled, separate = ({label: findings.shares[kind, label] for label in SHARES} for kind in KINDS)
    yield Claim(
        "best-atoms",
        "Over a coupled dictionary the best atom of a focused patch is a focused one, and that of its "
        "blurred partner a blurred one, (2) to (4)",
        f"it is for at least {AS_A_RULE:.0%} of the patches of either kind, in {draws}",
        _judge_draws(
            min(shares) >= AS_A_RULE for shares in zip(coupled["focused"], coupled["blurred"], strict=True)
        ),
        f"focused {_percent(coupled['focused'])}, blurred {_percent(coupled['blurred'])}, both of a pair "
        f"{_percent(coupled['both'])}",
    )
    for label, words in SHARES.items():
        yield Claim(
            f"share-{label}",
            f"Coupled learning raises this share over separate learning: {words}",
            f"a larger share in {draws}",
            _judge_draws(
                _is_larger(100 * a, 100 * b, digits=1)
                for a, b in zip(coupled[label], separate[label], strict=True)
            ),
            f"{_percent(coupled[label])} against {_percent(separate[label])}",
        )
    pairs = [
        [(blurred.mean, focused.mean), (blurred.median, focused.median)]
        for focused, blurred in zip(
            findings.codes["separate", "focused"], findings.codes["separate", "blurred"], strict=True
        )
    ]

    def claim(
        name: str,
        statement: str,
        tested: str,
        holds: Callable[[CodeSizes, CodeSizes], bool],
        describe: Callable[[CodeSizes, CodeSizes], str],
    ) -> Claim:
        first = zip(("mean", "median"), pairs[0], strict=True)
        return Claim(
            name,
            f"With separate learning, {statement}",
            f"{tested}, by the mean and by the median over all patches, in {draws}",
            _judge_draws(all(holds(a, b) for a, b in pair) for pair in pairs),
            "first draw: " + "; ".join(f"{average}: {describe(a, b)}" for average, (a, b) in first),
        )

    yield claim(
        "sparser-codes",
        "codes of blurred patches are sparser than those of focused ones, with larger entries",
        "fewer atoms and larger non-zero entries",
        lambda a, b: _is_larger(b.atoms, a.atoms, digits=2) and _is_larger(a.entry, b.entry, digits=3),
        lambda a, b: (
            f"blurred {a.atoms:.2f} atoms of magnitude {a.entry:.3f}, focused {b.atoms:.2f} of "
            f"{b.entry:.3f}; l1 norms {a.l1:.3f} and {b.l1:.3f}"
        ),
    )
    yield claim(
        "correlation",
        "blurred patches correlate more with atoms of D_B than focused ones with atoms of D_F",
        "a larger correlation with the best atom",
        lambda a, b: _is_larger(a.correlation, b.correlation, digits=3),
        lambda a, b: f"blurred {a.correlation:.3f}, focused {b.correlation:.3f}",
    )


def _judge_reconstruction(reconstructions: Reconstructions) -> Claim:
    steps = [
        (before, reconstructions[name, PAPER_STRENGTH])
        for (name, strength), before in reconstructions.items()
        if not strength
    ]
    return Claim(
        "reconstruction",
        "After global reconstruction contrast and details are significantly better",
        "8-bit values change and the average gradient grows, on every grey set. This is unlikely: the step "
        "lowers the total variation, which is nearly the average gradient",
        _judge_sets(
            "confirmed"
            if after.changed_share > 0 and _is_larger(after.scores["AG"], before.scores["AG"])
            else "refuted"
            for before, after in steps
        ),
        f"largest change {max((after.largest_change for _, after in steps), default=0):.4f} of 255 levels; "
        f"8-bit values changed: {max((after.changed_share for _, after in steps), default=0):.1%}",
    )


def _list_untestable(grey: TableResults) -> Iterator[Claim]:
    absent = [s.name for s in GREY_SETS if s.name not in grey.sets]
    if absent:
        statement = f"The results on {' and '.join(absent)}"
        yield Claim("missing-sets", statement, "", "not testable here", "no public source of the frames")
    yield Claim(
        "visible-details",
        "Details such as a cloud, a trace of water, a strand of hair are visible in the proposed results "
        "only",
        "",
        "not testable here",
        "needs visual inspection and the paper's rectangles; see the fused images",
    )


def _ahead_everywhere(name: str, statement: str, draws: Draws, other: str, measure: str) -> Claim:
    leads = {images: draws.leads(other, measure, images) for images in draws.sets_against(other)}
    ahead = {images: [_is_larger(lead, 0) for lead in several] for images, several in leads.items()}
    ranges = (f"{images} {format_range(several)}" for images, several in leads.items())
    return Claim(
        name,
        statement,
        f"a larger value on every set, by any amount, in {_count_draws(draws.seeds)}",
        _judge_sets(map(_judge_draws, ahead.values())),
        f"{_cases(ahead, 'ahead')}: {', '.join(ranges)}",
    )


def _cases(held: Mapping[str, Sequence[bool]], word: str) -> str:
    """Count the cases in which a claim holds, and the sets on which it holds with every draw."""
    flat = [case for several in held.values() for case in several]
    always = sum(map(all, held.values()))
    return f"{word} in {sum(flat)} of {len(flat)} cases, on {always} of {len(held)} sets with every draw"


def _count_draws(seeds: Sequence[int]) -> str:
    return f"each of {len(seeds)} draws of the training patches"


def _percent(shares: Iterable[float], digits: int = 1) -> str:
    return ", ".join(f"{100 * share:.{digits}f}" for share in shares) + " %"


def _values(curve: Curve) -> str:
    return f"{len(curve.x)} values from {curve.x[0]:g} to {curve.x[-1]:g}"


def _best_points(evidence: Evidence, name: str, measure: str) -> str:
    curve, usual = evidence.curves[name], getattr(evidence.experiment, name)
    points = []
    for reading in READINGS:
        best = curve.best(reading, measure)
        points.append(
            f"contrast {reading}: {curve.at(reading, measure, best):.4f} at {name} = {best:g}, "
            f"{curve.at(reading, measure, usual):.4f} at {usual:g}"
        )
    return "; ".join(points)


def _is_larger(a: float, b: float, digits: int = DIGITS) -> bool:
    """Return whether a - b is positive after rounding to the shown digits."""
    return round(a - b, digits) > 0


def _judge_lead(lead: float, chance: float) -> Verdict:
    """Judge a lead by the difference that chance alone explains."""
    if lead > chance:
        return "confirmed"
    return "refuted" if lead < -chance else "inconclusive"


def _judge_draws(held: Iterable[bool]) -> Verdict:
    """Judge a claim by whether it holds in each draw."""
    cases = list(held)
    if not cases:
        return "not testable here"
    if all(cases):
        return "confirmed"
    return "depends on the draw" if any(cases) else "refuted"


def _judge_sets(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge a claim about every set by the verdict of the worst set."""
    verdicts = set(verdicts)
    order: tuple[Verdict, ...] = ("refuted", "depends on the draw", "confirmed")
    return next((verdict for verdict in order if verdict in verdicts), "not testable here")
