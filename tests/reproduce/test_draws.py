from dataclasses import replace

import pytest

from panfocus.pipeline import fuse
from panfocus.reproduce.dictionaries import build_methods, learn_dictionaries
from panfocus.reproduce.draws import SEPARATE, build_draw_methods
from panfocus.reproduce.image_sets import read_inputs


def test_the_first_draw_is_used_in_tables_and_figures(reproduction):
    evidence, draws = reproduction.evidence, reproduction.evidence.draws
    for measure in ("NMI", "QABF"):
        separate = evidence.sweep.coupling_gains("restored", measure)
        for name in ("Clocks", "Lab", "Pepsi", "Disk"):
            values = evidence.grey.by_method(measure, name)
            assert draws.leads("SR-KSVD", measure, name)[0] == values["Proposed"] - values["SR-KSVD"]
            assert draws.leads(SEPARATE, measure, name)[0] == pytest.approx(separate[name], abs=0)


def test_scores_reused_from_the_tables_are_the_same(reproduction, small_data):
    evidence = reproduction.evidence
    inputs = read_inputs(small_data)
    learned = learn_dictionaries(inputs.training, evidence.experiment, lambda stage, done: None)
    methods = build_draw_methods(build_methods(learned, evidence.experiment), learned.draws[0])
    for scene in (inputs.grey[0], inputs.colour[0]):
        for variant in ("Proposed", "SR-KSVD"):
            fused = fuse(scene.frames, methods[variant]).image
            for key, value in scene.score(fused, ("NMI", "QABF")).items():
                assert evidence.draws.scores[variant, key, scene.name][0] == value


def test_every_set_of_both_tables_has_every_draw(reproduction):
    draws = reproduction.evidence.draws
    assert draws.seeds == (0, 1)
    assert draws.grey == ("Clocks", "Lab", "Pepsi", "Disk")
    assert draws.colour == ("Diver", "Keyboard", "Folders", "Seals")
    for name in (*draws.grey, *draws.colour):
        assert len(set(draws.leads("SR-KSVD", "NMI", name))) == 2  # the draws differ


def test_range_of_means_is_over_the_grey_sets(reproduction):
    draws = reproduction.evidence.draws
    by_hand = {"Clocks": [1.0, 1.0], "Lab": [2.0, 1.0], "Pepsi": [3.0, 3.0], "Disk": [4.0, 4.6]}
    changed = {("Proposed", "NMI", name): values for name, values in by_hand.items()}
    assert replace(draws, scores=draws.scores | changed).range_of_means("NMI") == pytest.approx(0.1)
