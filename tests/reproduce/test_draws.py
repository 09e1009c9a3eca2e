import pytest

from panfocus.reproduce.coupled_or_separate import gains
from panfocus.reproduce.draws import SEPARATE, Draws


def test_the_first_draw_is_that_of_the_tables_and_figures(reproduction):
    evidence = reproduction.evidence
    first = Draws(evidence.draws.seeds[:1], evidence.draws.sets, evidence.draws.scores)
    for measure in ("NMI", "QABF"):
        separate = gains(evidence.sweep, evidence.plan, "restored", measure)
        for name in ("Clocks", "Lab", "Pepsi", "Disk"):
            values = evidence.grey.values(measure, name)
            assert first.leads("SR-KSVD", measure, name) == [values["Proposed"] - values["SR-KSVD"]]
            assert first.leads(SEPARATE, measure, name) == pytest.approx([separate[name]], abs=0)


def test_another_draw_gives_other_scores(reproduction):
    draws = reproduction.evidence.draws
    assert draws.seeds == (0, 1)
    for name in draws.sets:
        assert len(set(draws.leads("SR-KSVD", "NMI", name))) == 2
