"""Verdicts follow from the measurements: contradicting values refute a claim."""

from dataclasses import replace

import pytest

from panfocus.reproduce.claims import judge
from panfocus.reproduce.draws import SEPARATE
from panfocus.reproduce.equations import CodeSizes, CodeSummary
from panfocus.reproduce.parameters import READINGS, Curve


@pytest.fixture
def verdict_of(reproduction):
    def verdict_of(name, **changes):
        claims = judge(replace(reproduction.evidence, **changes))
        (found,) = (claim.verdict for claim in claims if claim.name == name)
        return found

    return verdict_of


@pytest.fixture
def drawn(reproduction):
    """Draws whose means differ by 0.05: curves must differ by more."""
    draws = reproduction.evidence.draws
    return replace(draws, scores={key: [0.0, 0.05] for key in draws.scores})


def curve(x, nmi, qabf):
    return Curve(x, {(reading, key): y for reading in READINGS for key, y in (("NMI", nmi), ("QABF", qabf))})


def curves(changes=None):
    rising = (0.1, 0.2, 0.3)
    usual = {
        "w": curve((0.5, 0.55, 0.6), (0.1, 0.3, 0.2), (0.1, 0.3, 0.2)),
        "eps": curve((0.05, 0.1, 0.2), rising, (0.1, 0.3, 0.2)),
        "patch size": curve((4, 8, 12), rising, rising),
    }
    return usual | (changes or {})


@pytest.mark.parametrize(
    ("name", "refuting", "too_close"),
    [
        (
            "w-NMI",
            {"w": curve((0.5, 0.55), (2, 1), (1, 2))},
            {"w": curve((0.5, 0.55), (0.14, 0.10), (1, 2))},
        ),
        (
            "w-QABF",
            {"w": curve((0.55, 0.6), (2, 1), (1, 2))},
            {"w": curve((0.55, 0.6), (2, 1), (0.14, 0.10))},
        ),
        (
            "eps-QABF",
            {"eps": curve((0.1, 0.2), (1, 2), (1, 2))},
            {"eps": curve((0.1, 0.2), (1, 2), (0.14, 0.10))},
        ),
        (
            "eps-growth-NMI",
            {"eps": curve((0.1, 0.2, 0.3), (1, 3, 2), (2, 1, 1))},
            {"eps": curve((0.1, 0.2, 0.3), (0.10, 0.11, 0.12), (2, 1, 1))},
        ),
        (
            "patch-size-growth-NMI",
            {"patch size": curve((4, 8, 12), (1, 3, 2), (1, 2, 3))},
            {"patch size": curve((4, 8, 12), (0.10, 0.13, 0.09), (1, 2, 3))},
        ),
        (
            "patch-size-growth-QABF",
            {"patch size": curve((4, 8, 12), (1, 2, 3), (3, 2, 3))},
            {"patch size": curve((4, 8, 12), (1, 2, 3), (0.10, 0.06, 0.13))},
        ),
    ],
)
def test_claims_about_parameters_follow_from_the_curves(verdict_of, drawn, name, refuting, too_close):
    """Differences below the range of the draws, 0.05 here, are inconclusive."""
    assert verdict_of(name, curves=curves(), draws=drawn) == "confirmed"
    assert verdict_of(name, curves=curves(refuting), draws=drawn) == "refuted"
    assert verdict_of(name, curves=curves(too_close), draws=drawn) == "inconclusive"


def test_a_small_fall_does_not_refute_a_rise(verdict_of, drawn):
    shaky = {"patch size": curve((4, 8, 12), (0.1, 0.5, 0.46), (0.1, 0.5, 0.44))}
    assert verdict_of("patch-size-growth-NMI", curves=curves(shaky), draws=drawn) == "confirmed"
    assert verdict_of("patch-size-growth-QABF", curves=curves(shaky), draws=drawn) == "refuted"


@pytest.mark.parametrize(("claim", "other"), [("lead", "SR-KSVD"), ("coupling", SEPARATE)])
@pytest.mark.parametrize("measure", ["NMI", "QABF"])
def test_a_lead_must_hold_in_every_draw(reproduction, verdict_of, claim, other, measure):
    draws = reproduction.evidence.draws

    def verdict(*clocks):
        """Judge leads of 0.01, except on Clocks, where there is one lead per draw."""
        scores = dict(draws.scores)
        for name in draws.sets_against(other):
            leads = clocks if name == "Clocks" else (0.01, 0.01)
            theirs = scores[other, measure, name]
            scores["Proposed", measure, name] = [a + b for a, b in zip(theirs, leads, strict=True)]
        return verdict_of(f"{claim}-{measure}", draws=replace(draws, scores=scores))

    assert verdict(0.01, 0.02) == "confirmed"
    assert verdict(0.01, -0.02) == "depends on the draw"
    assert verdict(-0.01, 0.02) == "depends on the draw"  # in either order
    assert verdict(-0.01, -0.02) == "refuted"
    assert verdict(0.01, 0.00004) == "depends on the draw"  # rounds to 0.0000: a tie
    assert verdict(0.00004, -0.01) == "refuted"


def test_colour_sets_count_like_grey_sets(reproduction, verdict_of):
    draws = reproduction.evidence.draws
    ahead = {key: [float(key[0] == "Proposed")] * 2 for key in draws.scores}
    behind = ahead | {("SR-KSVD", "NMI", "Seals"): [2.0, 2.0]}
    assert verdict_of("lead-NMI", draws=replace(draws, scores=ahead)) == "confirmed"
    assert verdict_of("lead-NMI", draws=replace(draws, scores=behind)) == "refuted"


@pytest.mark.parametrize(("measure", "best", "worst"), [("NMI", 9, 0), ("QABF", 9, 0), ("MSE", 0, 900)])
def test_best_of_all_methods_must_hold_on_every_set_in_every_draw(
    reproduction, verdict_of, measure, best, worst
):
    draws = reproduction.evidence.draws
    own = {key: [best, best] for key in draws.scores if key[:2] == ("Proposed", measure)}

    def verdict(*lab):
        changed = own | {("Proposed", measure, "Lab"): lab}
        return verdict_of(f"best-{measure}", draws=replace(draws, scores=draws.scores | changed))

    assert verdict(best, best) == "confirmed"
    assert verdict(best, worst) == "depends on the draw"
    assert verdict(worst, worst) == "refuted"


def test_values_that_round_to_the_best_share_its_rank(reproduction, verdict_of):
    evidence = reproduction.evidence
    top = {cell: 1.00004 if cell[0] == "DSIFT" else 0.5 for cell in evidence.grey.scores if cell[1] == "NMI"}
    scores = evidence.draws.scores
    own = {key: [1.0 if key[0] == "Proposed" else 0.5] * 2 for key in scores if key[1] == "NMI"}
    grey = replace(evidence.grey, scores=evidence.grey.scores | top)
    draws = replace(evidence.draws, scores=scores | own)
    assert verdict_of("best-NMI", grey=grey, draws=draws) == "confirmed"


def test_masks_are_judged_by_their_accuracy(reproduction, verdict_of):
    masks = reproduction.evidence.masks

    def verdict(*ours):
        right = {"Proposed": ours, "SR-KSVD": [0.9, 0.9]}
        return verdict_of("masks", masks=replace(masks, accuracy=right))

    assert verdict(0.91, 0.92) == "confirmed"
    assert verdict(0.91, 0.89) == "depends on the draw"
    assert verdict(0.88, 0.89) == "refuted"
    assert verdict(0.90003, 0.90004) == "refuted"  # both round to 90.00 %
    many = {key: 900 if key[0] == "Proposed" else 1 for key in masks.regions}
    before = verdict_of("masks")
    assert verdict_of("masks", masks=replace(masks, regions=many)) == before


def test_equations_must_hold_for_95_percent(reproduction, verdict_of):
    findings = reproduction.evidence.findings

    def verdict(focused, blurred):
        measured = findings.shares | {("coupled", "focused"): focused, ("coupled", "blurred"): blurred}
        return verdict_of("best-atoms", findings=replace(findings, shares=measured))

    assert verdict([0.96, 0.95], [0.97, 0.96]) == "confirmed"
    assert verdict([0.96, 0.94], [0.97, 0.99]) == "depends on the draw"
    assert verdict([0.94, 0.94], [0.99, 0.99]) == "refuted"


def test_shares_are_compared_by_kind_of_patch_in_every_draw(reproduction, verdict_of):
    findings = reproduction.evidence.findings
    measured = {
        ("coupled", "focused"): [0.64, 0.62],
        ("separate", "focused"): [0.55, 0.56],
        ("coupled", "blurred"): [0.68, 0.69],
        ("separate", "blurred"): [0.72, 0.71],
        ("coupled", "both"): [0.35, 0.32],
        ("separate", "both"): [0.34, 0.33],
    }
    given = replace(findings, shares=measured)
    assert verdict_of("share-focused", findings=given) == "confirmed"
    assert verdict_of("share-blurred", findings=given) == "refuted"
    assert verdict_of("share-both", findings=given) == "depends on the draw"
    ahead = {key: [0.9, 0.9] if key[0] == "coupled" else value for key, value in measured.items()}
    for label in ("focused", "blurred", "both"):
        assert verdict_of(f"share-{label}", findings=replace(findings, shares=ahead)) == "confirmed"


def test_codes_must_be_sparser_and_larger(reproduction, verdict_of):
    findings = reproduction.evidence.findings

    def codes(focused, *blurred):
        new = {("separate", "focused"): [focused, focused], ("separate", "blurred"): blurred}
        return replace(findings, codes=findings.codes | new)

    sharp = CodeSizes(atoms=6.0, l1=3.0, entry=0.5, correlation=0.7)
    right, smaller_entries, denser = (
        CodeSizes(3.0, 2.4, 0.8, 0.9), CodeSizes(3.0, 1.2, 0.4, 0.9), CodeSizes(7.0, 5.6, 0.8, 0.6),
    )  # fmt: skip
    for mean, median, sparser, closer in (
        (right, right, "confirmed", "confirmed"),
        (smaller_entries, smaller_entries, "refuted", "confirmed"),
        (denser, denser, "refuted", "refuted"),
        (right, denser, "refuted", "refuted"),  # by the median
        (denser, right, "refuted", "refuted"),  # by the mean
    ):
        of_both = CodeSummary(mean, median)
        given = codes(CodeSummary(sharp, sharp), of_both, of_both)
        assert verdict_of("sparser-codes", findings=given) == sparser
        assert verdict_of("correlation", findings=given) == closer
    given = codes(CodeSummary(sharp, sharp), CodeSummary(right, right), CodeSummary(denser, denser))
    for name in ("sparser-codes", "correlation"):
        assert verdict_of(name, findings=given) == "depends on the draw"


def test_a_reconstruction_without_changes_is_no_improvement(reproduction, verdict_of):
    assert verdict_of("reconstruction") == "refuted"
    steps = reproduction.evidence.reconstructions
    sharper = {
        key: replace(step, changed_share=0.5, scores=step.scores | {"AG": step.scores["AG"] + (key[1] > 0)})
        for key, step in steps.items()
    }
    assert verdict_of("reconstruction", reconstructions=sharper) == "confirmed"


def test_sets_without_a_public_source_are_not_testable(verdict_of):
    assert verdict_of("missing-sets") == "not testable here"


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_claims_without_measurements_are_not_confirmed(reproduction, verdict_of):
    evidence = reproduction.evidence
    none = {
        "grey": replace(evidence.grey, sets={}, scores={}),
        "draws": replace(evidence.draws, grey=(), colour=(), scores={}),
        "sweep": replace(evidence.sweep, sets=()),
        "masks": replace(evidence.masks, accuracy={"Proposed": [], "SR-KSVD": []}),
    }
    for name in ("lead-NMI", "best-MSE", "coupling-QABF", "masks"):
        assert verdict_of(name, **none) == "not testable here"
    assert verdict_of("eps-growth-NMI", **none) == "inconclusive"


def test_every_claim_has_its_own_name_and_if_tested_a_criterion(reproduction):
    assert len({claim.name for claim in reproduction.claims}) == len(reproduction.claims)
    for claim in reproduction.claims:
        assert bool(claim.tested) == (claim.verdict != "not testable here")
