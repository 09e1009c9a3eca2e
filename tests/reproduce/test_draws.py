from dataclasses import replace

import pytest

from panfocus.pipeline import fuse
from panfocus.reproduce.coupled_or_separate import gains
from panfocus.reproduce.dictionaries import learn_dictionaries
from panfocus.reproduce.draws import SEPARATE, methods_of_draw
from panfocus.reproduce.rivals import methods_of_the_paper
from panfocus.reproduce.sets import read_inputs


def test_the_first_draw_is_that_of_the_tables_and_figures(reproduction):
    evidence = reproduction.evidence
    first = replace(evidence.draws, seeds=evidence.draws.seeds[:1])
    for measure in ("NMI", "QABF"):
        separate = gains(evidence.sweep, evidence.plan, "restored", measure)
        for name in ("Clocks", "Lab", "Pepsi", "Disk"):
            values = evidence.grey.values(measure, name)
            assert first.leads("SR-KSVD", measure, name) == [values["Proposed"] - values["SR-KSVD"]]
            assert first.leads(SEPARATE, measure, name) == pytest.approx([separate[name]], abs=0)


def test_what_the_tables_hold_is_not_computed_again_but_the_same(reproduction, small_data):
    evidence = reproduction.evidence
    inputs = read_inputs(small_data)
    learned = learn_dictionaries(*inputs.crops, evidence.plan, lambda stage, done: None)
    methods = methods_of_draw(methods_of_the_paper(learned, evidence.plan), learned.draws[0])
    for pictures in (inputs.grey[0], inputs.colour[0]):
        for variant in ("Proposed", "SR-KSVD"):
            fused = fuse(pictures.frames, methods[variant]).image
            for key, value in pictures.score(fused, ("NMI", "QABF")).items():
                assert evidence.draws.scores[0, variant, key, pictures.name] == value


def test_every_set_of_both_tables_has_every_draw(reproduction):
    draws = reproduction.evidence.draws
    assert draws.seeds == (0, 1)
    assert draws.grey == ("Clocks", "Lab", "Pepsi", "Disk")
    assert draws.colour == ("Diver", "Keyboard", "Folders", "Seals")
    for name in (*draws.grey, *draws.colour):
        assert len(set(draws.leads("SR-KSVD", "NMI", name))) == 2  # another draw gives other scores


def test_draws_differ_by_the_means_over_the_grey_sets(reproduction):
    draws = reproduction.evidence.draws
    by_hand = {
        (0, "Clocks"): 1.0, (0, "Lab"): 2.0, (0, "Pepsi"): 3.0, (0, "Disk"): 4.0,
        (1, "Clocks"): 1.0, (1, "Lab"): 1.0, (1, "Pepsi"): 3.0, (1, "Disk"): 4.6,
    }  # fmt: skip
    given = {(seed, "Proposed", "NMI", name): value for (seed, name), value in by_hand.items()}
    assert replace(draws, scores=draws.scores | given).range_of_means("NMI") == pytest.approx(0.1)
