import re
from itertools import product
from typing import get_args

import pytest

from panfocus.methods.dwt import Rule
from panfocus.reproduce.paper import TABLE_1
from panfocus.reproduce.variants import Variant, section


def test_the_first_choice_of_a_row_is_used_in_table_1(reproduction):
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
    (table,) = (section for section in reproduction.sections if section.identity == "table 1")
    (number,) = (
        number
        for number in table.numbers
        if (number.variant, number.measure, number.subject) == (method, measure, name)
    )
    return number.paper


def test_closest_choice_of_a_row_is_marked_by_its_mean_absolute_difference():
    far = Variant("DWT", "a", {("NMI", "Lab"): 0.1, ("NMI", "Disk"): -0.1})
    near = Variant("DWT", "b", {("NMI", "Lab"): -0.05, ("NMI", "Disk"): -0.06})
    other = Variant("PCA", "c", {("NMI", "Lab"): 3.0, ("NMI", "Disk"): 3.0})
    marked = re.findall(r'<td class="nearest">([\d.]+)</td>', section([far, near, other]).body)
    assert marked == ["0.0550", "3.0000"]
    assert far.distance == pytest.approx(0.1)


def test_choices_are_scored_by_four_measures_and_ranked_by_two(reproduction):
    for variant in reproduction.evidence.variants:
        assert set(variant.differences) == set(product(("NMI", "QABF", "SSIM", "MSE"), ("Lab", "Disk")))
    far_in_mse = Variant("DWT", "a", {("NMI", "Lab"): 0.1, ("QABF", "Lab"): -0.3, ("MSE", "Lab"): 50.0})
    assert far_in_mse.distance == pytest.approx(0.2)


def test_every_pair_of_wavelet_rules_is_tried_once(reproduction):
    rules = get_args(Rule)
    tried = [variant.settings for variant in reproduction.evidence.variants if variant.row == "DWT"]
    assert sorted(tried) == sorted(f"details={a}, approximation={b}" for a, b in product(rules, rules))


def test_mse_differences_are_shown_in_percent(reproduction):
    (shown,) = (part for part in reproduction.sections if part.identity == "variants")
    first = reproduction.evidence.variants[0]
    papers = TABLE_1["DWT", "MSE", "Lab"].value
    percent = f"{100 * first.differences['MSE', 'Lab'] / papers:+.0f} %".replace("-", "−")
    assert f"<td>{percent}</td>" in shown.body
