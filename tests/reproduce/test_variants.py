import pytest

from panfocus.reproduce.variants import Variant, nearest


def test_the_first_choice_of_a_row_is_the_one_of_table_1(reproduction):
    evidence = reproduction.evidence
    seen = set()
    for variant in evidence.variants:
        if variant.row not in seen:
            for (measure, name), difference in variant.differences.items():
                printed = evidence.grey.scores[variant.row, measure, name] - difference
                assert printed == pytest.approx(table_1_value(reproduction, variant.row, measure, name))
        seen.add(variant.row)
    assert len(seen) == 5


def table_1_value(reproduction, method, measure, name):
    (number,) = (
        number
        for section in reproduction.sections
        for number in section.numbers
        if (number.part, number.variant, number.measure, number.subject) == ("table 1", method, measure, name)
    )
    return number.paper


def test_the_nearest_is_nearest_on_average_whatever_the_sign():
    far = Variant("DWT", "a", {("NMI", "Lab"): 0.1, ("NMI", "Disk"): -0.1})
    near = Variant("DWT", "b", {("NMI", "Lab"): -0.05, ("NMI", "Disk"): -0.06})
    other = Variant("PCA", "c", {("NMI", "Lab"): 3.0, ("NMI", "Disk"): 3.0})
    assert nearest([far, near, other]) == {"DWT": near, "PCA": other}
    assert far.distance == pytest.approx(0.1)
