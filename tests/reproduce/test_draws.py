from dataclasses import replace

import pytest

from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import build_methods, learn_dictionaries
from panfocus.reproduce.draws import SEPARATE, build_draw_methods
from panfocus.reproduce.image_sets import read_inputs


def test_the_first_draw_is_used_in_tables_and_figures(reproduction):
    evidence = reproduction.evidence
    first = replace(evidence.draws, seeds=evidence.draws.seeds[:1])
    for measure in ("NMI", "QABF"):
        separate = evidence.sweep.coupling_gains("restored", measure)
        for name in ("Clocks", "Lab", "Pepsi", "Disk"):
            values = evidence.grey.by_method(measure, name)
            assert first.leads("SR-KSVD", measure, name) == [values["Proposed"] - values["SR-KSVD"]]
            assert first.leads(SEPARATE, measure, name) == pytest.approx([separate[name]], abs=0)


def test_scores_reused_from_the_tables_are_the_same(reproduction, small_data):
    evidence = reproduction.evidence
    inputs = read_inputs(small_data)
    learned = learn_dictionaries(*inputs.crops, evidence.experiment, lambda stage, done: None)
    methods = build_draw_methods(build_methods(learned, evidence.experiment), learned.draws[0])
    for scene in (inputs.grey[0], inputs.colour[0]):
        for variant in ("Proposed", "SR-KSVD"):
            fused = fuse(scene.frames, methods[variant]).image
            for key, value in scene.score(fused, ("NMI", "QABF")).items():
                assert evidence.draws.scores[0, variant, key, scene.name] == value


def test_every_set_of_both_tables_has_every_draw(reproduction):
    draws = reproduction.evidence.draws
    assert draws.seeds == (0, 1)
    assert draws.grey == ("Clocks", "Lab", "Pepsi", "Disk")
    assert draws.colour == ("Diver", "Keyboard", "Folders", "Seals")
    for name in (*draws.grey, *draws.colour):
        assert len(set(draws.leads("SR-KSVD", "NMI", name))) == 2  # the draws differ


def test_range_of_means_is_over_the_grey_sets(reproduction):
    draws = reproduction.evidence.draws
    by_hand = {
        (0, "Clocks"): 1.0, (0, "Lab"): 2.0, (0, "Pepsi"): 3.0, (0, "Disk"): 4.0,
        (1, "Clocks"): 1.0, (1, "Lab"): 1.0, (1, "Pepsi"): 3.0, (1, "Disk"): 4.6,
    }  # fmt: skip
    changed = {(seed, "Proposed", "NMI", name): value for (seed, name), value in by_hand.items()}
    assert replace(draws, scores=draws.scores | changed).range_of_means("NMI") == pytest.approx(0.1)
