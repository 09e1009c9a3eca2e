"""Verdicts follow from the measurements: contradicting values refute a claim."""

from dataclasses import replace

import pytest

from panfocus.reproduce.claims import judge
from panfocus.reproduce.draws import SEPARATE
from panfocus.reproduce.equations import SHARES, CodeSizes, CodeSummary
from panfocus.reproduce.parameters import READINGS, Curve


@pytest.fixture
def verdict_of(reproduction):
    def verdict_of(beginning, **changes):
        claims = judge(replace(reproduction.evidence, **changes))
        (found,) = (claim.verdict for claim in claims if claim.statement.startswith(beginning))
        return found

    return verdict_of


@pytest.fixture
def drawn(reproduction):
    """Draws whose means differ by 0.05: curves must differ by more."""
    draws = reproduction.evidence.draws
    return replace(draws, scores={key: 0.05 * key[0] for key in draws.scores})


def curve(x, nmi, qabf):
    return Curve(x, {(reading, key): y for reading in READINGS for key, y in (("NMI", nmi), ("QABF", qabf))})


def shares(*values):
    return dict(zip(SHARES, values, strict=True))


def curves(changes=None):
    rising = (0.1, 0.2, 0.3)
    usual = {
        "w": curve((0.5, 0.55, 0.6), (0.1, 0.3, 0.2), (0.1, 0.3, 0.2)),
        "eps": curve((0.05, 0.1, 0.2), rising, (0.1, 0.3, 0.2)),
        "patch size": curve((4, 8, 12), rising, rising),
    }
    return usual | (changes or {})


@pytest.mark.parametrize(
    ("beginning", "refuting", "too_close"),
    [
        (
            "NMI is best at w between 0.54 and 0.56",
            {"w": curve((0.5, 0.55), (2, 1), (1, 2))},
            {"w": curve((0.5, 0.55), (0.14, 0.10), (1, 2))},
        ),
        (
            "Q_AB/F is best at w between 0.54 and 0.56",
            {"w": curve((0.55, 0.6), (2, 1), (1, 2))},
            {"w": curve((0.55, 0.6), (2, 1), (0.14, 0.10))},
        ),
        (
            "Q_AB/F is best at eps = 0.1",
            {"eps": curve((0.1, 0.2), (1, 2), (1, 2))},
            {"eps": curve((0.1, 0.2), (1, 2), (0.14, 0.10))},
        ),
        (
            "NMI grows with eps",
            {"eps": curve((0.1, 0.2, 0.3), (1, 3, 2), (2, 1, 1))},
            {"eps": curve((0.1, 0.2, 0.3), (0.10, 0.11, 0.12), (2, 1, 1))},
        ),
        (
            "Larger patches give slightly better NMI",
            {"patch size": curve((4, 8, 12), (1, 3, 2), (1, 2, 3))},
            {"patch size": curve((4, 8, 12), (0.10, 0.13, 0.09), (1, 2, 3))},
        ),
        (
            "Larger patches give slightly better Q",
            {"patch size": curve((4, 8, 12), (1, 2, 3), (3, 2, 3))},
            {"patch size": curve((4, 8, 12), (1, 2, 3), (0.10, 0.06, 0.13))},
        ),
    ],
)
def test_claims_about_parameters_follow_from_the_curves(verdict_of, drawn, beginning, refuting, too_close):
    """Differences below the range of the draws, 0.05 here, are inconclusive."""
    assert verdict_of(beginning, curves=curves(), draws=drawn) == "confirmed"
    assert verdict_of(beginning, curves=curves(refuting), draws=drawn) == "refuted"
    assert verdict_of(beginning, curves=curves(too_close), draws=drawn) == "inconclusive"


def test_a_small_fall_does_not_refute_a_rise(verdict_of, drawn):
    shaky = {"patch size": curve((4, 8, 12), (0.1, 0.5, 0.46), (0.1, 0.5, 0.44))}
    assert (
        verdict_of("Larger patches give slightly better NMI", curves=curves(shaky), draws=drawn)
        == "confirmed"
    )
    assert verdict_of("Larger patches give slightly better Q", curves=curves(shaky), draws=drawn) == "refuted"


@pytest.mark.parametrize("other", ["SR-KSVD", SEPARATE])
@pytest.mark.parametrize(("measure", "symbol"), [("NMI", "NMI"), ("QABF", "Q_AB/F")])
def test_a_lead_must_hold_in_every_draw(reproduction, verdict_of, other, measure, symbol):
    draws = reproduction.evidence.draws
    beginning = {
        "SR-KSVD": f"The proposed method is ahead of SR-KSVD in {symbol}",
        SEPARATE: f"A coupled dictionary is ahead of separately learned ones in {symbol}",
    }[other]

    def verdict(*clocks):
        """Judge leads of 0.01, except on Clocks, where there is one lead per draw."""
        scores = dict(draws.scores)
        for name in draws.sets_against(other):
            for seed in draws.seeds:
                lead = clocks[seed] if name == "Clocks" else 0.01
                scores[seed, "Proposed", measure, name] = scores[seed, other, measure, name] + lead
        return verdict_of(beginning, draws=replace(draws, scores=scores))

    assert verdict(0.01, 0.02) == "confirmed"
    assert verdict(0.01, -0.02) == "depends on the draw"
    assert verdict(-0.01, 0.02) == "depends on the draw"  # in either order
    assert verdict(-0.01, -0.02) == "refuted"
    assert verdict(0.01, 0.00004) == "depends on the draw"  # rounds to 0.0000: a tie
    assert verdict(0.00004, -0.01) == "refuted"


def test_colour_sets_count_like_grey_sets(reproduction, verdict_of):
    draws = reproduction.evidence.draws
    ahead = {key: float(key[1] == "Proposed") for key in draws.scores}
    behind = ahead | {(seed, "SR-KSVD", "NMI", "Seals"): 2.0 for seed in draws.seeds}
    beginning = "The proposed method is ahead of SR-KSVD in NMI"
    assert verdict_of(beginning, draws=replace(draws, scores=ahead)) == "confirmed"
    assert verdict_of(beginning, draws=replace(draws, scores=behind)) == "refuted"


@pytest.mark.parametrize(
    ("measure", "symbol", "best", "worst"),
    [("NMI", "NMI", 9, 0), ("QABF", "Q_AB/F", 9, 0), ("MSE", "MSE", 0, 900)],
)
def test_best_of_all_methods_must_hold_on_every_set_in_every_draw(
    reproduction, verdict_of, measure, symbol, best, worst
):
    draws = reproduction.evidence.draws
    statement = f"The proposed method has the best {symbol}"
    own = {key: best for key in draws.scores if key[1:3] == ("Proposed", measure)}

    def verdict(**lost):
        changed = {(int(seed[-1]), "Proposed", measure, "Lab"): worst for seed in lost}
        return verdict_of(statement, draws=replace(draws, scores=draws.scores | own | changed))

    assert verdict() == "confirmed"
    assert verdict(seed_1=True) == "depends on the draw"
    assert verdict(seed_0=True, seed_1=True) == "refuted"


def test_values_that_round_to_the_best_share_its_rank(reproduction, verdict_of):
    evidence = reproduction.evidence
    top = {cell: 1.00004 if cell[0] == "DSIFT" else 0.5 for cell in evidence.grey.scores if cell[1] == "NMI"}
    own = {key: 1.0 if key[1] == "Proposed" else 0.5 for key in evidence.draws.scores if key[2] == "NMI"}
    grey = replace(evidence.grey, scores=evidence.grey.scores | top)
    draws = replace(evidence.draws, scores=evidence.draws.scores | own)
    assert verdict_of("The proposed method has the best NMI", grey=grey, draws=draws) == "confirmed"


def test_masks_are_judged_by_their_accuracy(reproduction, verdict_of):
    masks = reproduction.evidence.masks

    def verdict(*ours):
        right = {(seed, "Proposed"): share for seed, share in enumerate(ours)}
        right |= {(seed, "SR-KSVD"): 0.9 for seed in range(len(ours))}
        return verdict_of("Masks of", masks=replace(masks, accuracy=right))

    assert verdict(0.91, 0.92) == "confirmed"
    assert verdict(0.91, 0.89) == "depends on the draw"
    assert verdict(0.88, 0.89) == "refuted"
    assert verdict(0.90003, 0.90004) == "refuted"  # both round to 90.00 %
    many = {key: 900 if key[0] == "Proposed" else 1 for key in masks.regions}
    before = verdict_of("Masks of")
    assert verdict_of("Masks of", masks=replace(masks, regions=many)) == before


def test_equations_must_hold_for_95_percent(reproduction, verdict_of):
    findings = reproduction.evidence.findings

    def coupled(*draws):
        measured = {(seed, "coupled"): draw for seed, draw in enumerate(draws)}
        measured |= {(seed, "separate"): shares(0.5, 0.5, 0.2) for seed in range(len(draws))}
        return replace(findings, shares=measured)

    nearly, often = shares(0.96, 0.97, 0.93), shares(0.94, 0.99, 0.9)
    assert verdict_of("Over a coupled", findings=coupled(nearly, nearly)) == "confirmed"
    assert verdict_of("Over a coupled", findings=coupled(nearly, often)) == "depends on the draw"
    assert verdict_of("Over a coupled", findings=coupled(often, often)) == "refuted"


def test_shares_are_compared_by_kind_of_patch_in_every_draw(reproduction, verdict_of):
    findings = reproduction.evidence.findings
    measured = {
        (0, "coupled"): shares(0.64, 0.68, 0.35),
        (0, "separate"): shares(0.55, 0.72, 0.34),
        (1, "coupled"): shares(0.62, 0.69, 0.32),
        (1, "separate"): shares(0.56, 0.71, 0.33),
    }
    given = replace(findings, shares=measured)
    begin = "Coupled learning raises this share over separate learning:"
    assert verdict_of(f"{begin} focused patches", findings=given) == "confirmed"
    assert verdict_of(f"{begin} blurred patches", findings=given) == "refuted"
    assert verdict_of(f"{begin} both patches", findings=given) == "depends on the draw"
    ahead = {key: shares(0.9, 0.9, 0.9) if key[1] == "coupled" else value for key, value in measured.items()}
    for label in ("focused", "blurred", "both"):
        assert verdict_of(f"{begin} {label}", findings=replace(findings, shares=ahead)) == "confirmed"


def test_codes_must_be_sparser_and_larger(reproduction, verdict_of):
    findings = reproduction.evidence.findings

    def codes(focused, *blurred):
        new = {(seed, "separate", "blurred"): soft for seed, soft in enumerate(blurred)}
        new |= {(seed, "separate", "focused"): focused for seed in range(len(blurred))}
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
        assert verdict_of("With separate learning, codes", findings=given) == sparser
        assert verdict_of("With separate learning, blurred patches", findings=given) == closer
    given = codes(CodeSummary(sharp, sharp), CodeSummary(right, right), CodeSummary(denser, denser))
    for beginning in ("With separate learning, codes", "With separate learning, blurred patches"):
        assert verdict_of(beginning, findings=given) == "depends on the draw"


def test_a_reconstruction_without_changes_is_no_improvement(reproduction, verdict_of):
    assert verdict_of("After global reconstruction") == "refuted"
    steps = reproduction.evidence.reconstructions
    sharper = {
        key: replace(step, changed_share=0.5, scores=step.scores | {"AG": step.scores["AG"] + (key[1] > 0)})
        for key, step in steps.items()
    }
    assert verdict_of("After global", reconstructions=sharper) == "confirmed"


def test_sets_without_a_public_source_are_not_testable(verdict_of):
    assert verdict_of("The results on Jug and Doll") == "not testable here"


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_claims_without_measurements_are_not_confirmed(reproduction, verdict_of):
    evidence = reproduction.evidence
    none = {
        "grey": replace(evidence.grey, sets={}, scores={}),
        "draws": replace(evidence.draws, grey=(), colour=(), scores={}),
        "sweep": replace(evidence.sweep, sets=()),
        "masks": replace(evidence.masks, accuracy={}),
    }
    for beginning in (
        "The proposed method is ahead of SR-KSVD in NMI",
        "The proposed method has the best MSE",
        "A coupled dictionary is ahead of separately learned ones in Q_AB/F",
        "Masks of",
    ):
        assert verdict_of(beginning, **none) == "not testable here"
    assert verdict_of("NMI grows with eps", **none) == "inconclusive"


def test_every_tested_claim_has_a_criterion(reproduction):
    for claim in reproduction.claims:
        assert bool(claim.tested) == (claim.verdict != "not testable here")
