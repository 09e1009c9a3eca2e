"""Verdicts follow the figures: each claim is turned over by the figures that contradict it, and back."""

from dataclasses import replace

import pytest

from panfocus.reproduce.claims import judge
from panfocus.reproduce.coding import READINGS
from panfocus.reproduce.equations import AtomShares, Codes, Sizes
from panfocus.reproduce.parameters import Curve, Curves

READING, OTHER = READINGS


@pytest.fixture
def verdict_of(reproduction):
    def verdict_of(beginning, **changes):
        claims = judge(replace(reproduction.evidence, **changes))
        (found,) = (claim.verdict for claim in claims if claim.statement.startswith(beginning))
        return found

    return verdict_of


def curve(x, nmi, qabf):
    return Curve(x, {(reading, key): y for reading in READINGS for key, y in (("NMI", nmi), ("QABF", qabf))})


def curves(**changes):
    rising = (0.1, 0.2, 0.3)
    usual = {
        "w": curve((0.5, 0.55, 0.6), (0.1, 0.3, 0.2), (0.1, 0.3, 0.2)),
        "eps": curve((0.05, 0.1, 0.2), rising, (0.1, 0.3, 0.2)),
        "patch_size": curve((4, 8, 12), rising, rising),
    }
    return Curves(**(usual | changes))


@pytest.mark.parametrize(
    ("beginning", "changes"),
    [
        ("w between 0.54 and 0.56 gives the best NMI", {"w": curve((0.5, 0.55), (2, 1), (1, 2))}),
        ("w between 0.54 and 0.56 gives the best Q_AB/F", {"w": curve((0.55, 0.6), (2, 1), (1, 2))}),
        ("Q_AB/F is best at eps = 0.1", {"eps": curve((0.1, 0.2), (1, 2), (1, 2))}),
        ("NMI grows with eps", {"eps": curve((0.1, 0.2, 0.3), (1, 3, 2), (2, 1, 1))}),
        ("Larger patches give slightly better NMI", {"patch_size": curve((4, 8, 12), (1, 3, 2), (1, 2, 3))}),
        ("Larger patches give slightly better Q", {"patch_size": curve((4, 8, 12), (1, 2, 3), (3, 2, 3))}),
    ],
)
def test_claims_about_parameters_follow_the_curves(verdict_of, beginning, changes):
    assert verdict_of(beginning, curves=curves()) == "confirmed"
    assert verdict_of(beginning, curves=curves(**changes)) == "refuted"


@pytest.mark.parametrize(("measure", "symbol"), [("NMI", "NMI"), ("QABF", "Q_AB/F")])
def test_one_set_against_it_refutes_a_claim_about_every_set(reproduction, verdict_of, measure, symbol):
    statement = f"The proposed method is ahead of SR-KSVD in {symbol}"
    ahead = {
        table: replace(results, scores=lead(results.scores, measure))
        for table, results in (("grey", reproduction.evidence.grey), ("colour", reproduction.evidence.colour))
    }
    assert verdict_of(statement, **ahead) == "confirmed"
    behind = ahead["colour"].scores | {("Proposed", measure, "Seals"): 0.0}
    ahead["colour"] = replace(ahead["colour"], scores=behind)
    assert verdict_of(statement, **ahead) == "refuted"


def lead(scores, measure):
    """Scores in which the proposed method is best."""
    return {cell: 9.0 if cell[:2] == ("Proposed", measure) else value for cell, value in scores.items()}


@pytest.mark.parametrize(
    ("measure", "symbol", "best", "worst"),
    [("NMI", "NMI", 9, 0), ("QABF", "Q_AB/F", 9, 0), ("MSE", "MSE", 0, 900)],
)
def test_the_best_of_all_methods_is_the_best_on_every_set(
    reproduction, verdict_of, measure, symbol, best, worst
):
    grey = reproduction.evidence.grey
    statement = f"The proposed method has the best {symbol}"
    own = {cell: best for cell in grey.scores if cell[:2] == ("Proposed", measure)}
    assert verdict_of(statement, grey=replace(grey, scores=grey.scores | own)) == "confirmed"
    lost = grey.scores | own | {("Proposed", measure, "Lab"): worst}
    assert verdict_of(statement, grey=replace(grey, scores=lost)) == "refuted"


@pytest.mark.parametrize(("measure", "symbol"), [("NMI", "NMI"), ("QABF", "Q_AB/F")])
def test_coupled_against_separate_is_judged_in_the_reading_of_the_tables(
    reproduction, verdict_of, measure, symbol
):
    sweep = reproduction.evidence.sweep
    statement = f"A coupled dictionary is ahead of separately learned ones in {symbol}"

    def with_gain(reading, gain):
        scores = {
            key: gain * (key[0].dictionary == "coupled") if key[1] == reading else value
            for key, value in sweep.scores.items()
        }
        return replace(sweep, scores=scores)

    assert verdict_of(statement, sweep=with_gain(READING, 0.1)) == "confirmed"
    assert verdict_of(statement, sweep=with_gain(READING, -0.1)) == "refuted"
    before = verdict_of(statement)
    assert verdict_of(statement, sweep=with_gain(OTHER, 0.1)) == before
    assert verdict_of(statement, sweep=with_gain(OTHER, -0.1)) == before


def test_masks_are_judged_by_their_regions(reproduction, verdict_of):
    masks = reproduction.evidence.masks
    fewer = {key: 3 if key[0] == "Proposed" else 7 for key in masks.regions}
    assert verdict_of("Masks of", masks=replace(masks, regions=fewer)) == "confirmed"
    one_more = fewer | {("Proposed", "lytro-05"): 8}
    assert verdict_of("Masks of", masks=replace(masks, regions=one_more)) == "refuted"


def test_equations_must_hold_as_a_rule(reproduction, verdict_of):
    findings = reproduction.evidence.findings

    def coupled(*shares):
        return replace(
            findings,
            shares={(seed, "coupled"): share for seed, share in enumerate(shares)}
            | {(seed, "separate"): AtomShares(0.5, 0.5, 0.2) for seed in range(len(shares))},
        )

    nearly, often = AtomShares(0.96, 0.97, 0.93), AtomShares(0.94, 0.99, 0.9)
    assert verdict_of("Over a coupled", findings=coupled(nearly, nearly)) == "confirmed"
    assert verdict_of("Over a coupled", findings=coupled(nearly, often)) == "refuted"  # one draw will do


def test_coupled_and_separate_shares_are_compared_by_kind_of_patch_in_every_draw(reproduction, verdict_of):
    findings = reproduction.evidence.findings
    shares = {
        (0, "coupled"): AtomShares(0.64, 0.68, 0.35),
        (0, "separate"): AtomShares(0.55, 0.72, 0.34),
        (1, "coupled"): AtomShares(0.62, 0.69, 0.32),
        (1, "separate"): AtomShares(0.56, 0.71, 0.33),
    }
    given = replace(findings, shares=shares)
    begin = "Coupled learning makes this so more than separate learning does:"
    assert verdict_of(f"{begin} focused patches", findings=given) == "confirmed"
    assert verdict_of(f"{begin} blurred patches", findings=given) == "refuted"
    assert verdict_of(f"{begin} both patches", findings=given) == "refuted"  # in the second draw
    ahead = {
        key: AtomShares(0.9, 0.9, 0.9) if key[1] == "coupled" else value for key, value in shares.items()
    }
    for label in ("focused", "blurred", "both"):
        assert verdict_of(f"{begin} {label}", findings=replace(findings, shares=ahead)) == "confirmed"


def test_sparser_and_larger_are_both_needed(reproduction, verdict_of):
    findings = reproduction.evidence.findings

    def codes(focused, blurred):
        new = {("separate", "focused"): focused, ("separate", "blurred"): blurred}
        return replace(findings, codes=findings.codes | new)

    sharp = Sizes(atoms=6.0, l1=3.0, entry=0.5, correlation=0.7)
    right, smaller_entries, denser = (
        Sizes(3.0, 2.4, 0.8, 0.9), Sizes(3.0, 1.2, 0.4, 0.9), Sizes(7.0, 5.6, 0.8, 0.6),
    )  # fmt: skip
    for mean, median, sparser, closer in (
        (right, right, "confirmed", "confirmed"),
        (smaller_entries, smaller_entries, "refuted", "confirmed"),
        (denser, denser, "refuted", "refuted"),
        (right, denser, "refuted", "refuted"),  # by the median
        (denser, right, "refuted", "refuted"),  # by the mean
    ):
        given = codes(Codes(sharp, sharp), Codes(mean, median))
        assert verdict_of("With separate learning, codes", findings=given) == sparser
        assert verdict_of("With separate learning, blurred patches", findings=given) == closer


def test_a_reconstruction_that_changes_no_value_is_no_improvement(reproduction, verdict_of):
    assert verdict_of("After global reconstruction") == "refuted"
    steps = reproduction.evidence.reconstructions
    sharper = {
        key: replace(step, changed_share=0.5, scores=step.scores | {"AG": step.scores["AG"] + (key[1] > 0)})
        for key, step in steps.made.items()
    }
    assert verdict_of("After global", reconstructions=replace(steps, made=sharper)) == "confirmed"


def test_what_has_no_public_source_is_not_testable(verdict_of):
    assert verdict_of("The results on Jug and Doll") == "not testable here"


def test_without_evidence_nothing_is_confirmed(reproduction, verdict_of):
    """Of no sets, all sets are ahead."""
    evidence = reproduction.evidence
    none = {
        "grey": replace(evidence.grey, sets={}, scores={}),
        "colour": replace(evidence.colour, sets={}, scores={}),
        "sweep": replace(evidence.sweep, sets=()),
        "masks": replace(evidence.masks, scenes={}),
    }
    for beginning in (
        "The proposed method is ahead of SR-KSVD in NMI",
        "The proposed method has the best MSE",
        "A coupled dictionary is ahead of separately learned ones in Q_AB/F",
        "Masks of",
    ):
        assert verdict_of(beginning, **none) == "not testable here"


def test_every_verdict_says_what_it_is_about(reproduction):
    """Also where the paper's word has no measure: then it says that the size of a gain is not judged."""
    for claim in reproduction.claims:
        assert bool(claim.tested) == (claim.verdict != "not testable here")
    said = {claim.statement: claim.tested for claim in reproduction.claims}
    (masks,) = (tested for statement, tested in said.items() if "to a high degree" in statement)
    assert masks.endswith("by however few")
    slightly = [tested for statement, tested in said.items() if "slightly" in statement]
    assert len(slightly) == 2
    assert all(tested.endswith("not how much it gains") for tested in slightly)
