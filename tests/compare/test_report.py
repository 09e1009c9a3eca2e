import csv
import json
import re

import numpy as np
import pytest

from panfocus.compare.comparison_report import _encode_inline, _finite_or_none
from panfocus.compare.statistics import summarise
from panfocus.errors import FileError

METHODS = ["coupled:stride=4", "coupled:stride=7", "average"]


@pytest.fixture
def rows(report):
    with (report / "scores.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def data(report):
    return json.loads((report / "scores.json").read_text("utf-8"))


def test_the_table_has_one_row_per_score(rows):
    assert list(rows[0]) == ["group", "scene", "method", "metric", "value"]
    # three scenes with a reference; two without, of which one has no result by averaging
    assert len(rows) == 3 * 3 * 4 + (2 * 3 - 1) * 2
    assert {row["method"] for row in rows} == set(METHODS)


def test_table_and_data_agree_with_the_records(report, rows, data):
    record = json.loads((report / "results/average/scenes/cup.json").read_text())
    in_table = {
        row["metric"]: float(row["value"])
        for row in rows
        if (row["group"], row["scene"], row["method"]) == ("scenes", "cup", "average")
    }
    (scene,) = (scene for scene in data["groups"][0]["scenes"] if scene["name"] == "cup")
    assert in_table == scene["scores"]["average"] == record["scores"]


def test_the_data_contain_the_conditions(data):
    assert (data["crop"], data["jpeg"]) == (2, None)
    assert "rgb2gray" in data["grey"]
    assert list(data["methods"]) == METHODS
    assert "w=0.55" in data["methods"][METHODS[0]]
    assert data["metrics"]["MSE"]["better"] == "smaller"


def test_means_ranks_and_p_values_are_computed_over_scenes(data):
    group = data["groups"][0]
    scores = np.array([[scene["scores"][m]["MSE"] for m in METHODS] for scene in group["scenes"]])
    expected = summarise(scores, larger_is_better=False)
    for i, method in enumerate(METHODS):
        found = group["summary"]["MSE"][method]
        assert (found["n"], found["mean"], found["rank"]) == (3, expected.mean[i], expected.rank[i])
        assert (found["rank_n"], found["best"], found["proven"]) == (3, expected.best[i], False)
        assert found["against"] == {
            other: {"p": expected.p[j, i], "better": expected.ahead[j, i]}
            for j, other in enumerate(METHODS)
            if j != i
        }


def test_groups_without_references_have_no_reference_metrics(data):
    assert list(data["groups"][0]["summary"]) == ["NMI", "QABF", "MSE", "PSNR", "s/MP"]
    assert list(data["groups"][1]["summary"]) == ["NMI", "QABF", "s/MP"]


def test_only_panfocus_methods_are_timed(data):
    for scene in data["groups"][0]["scenes"]:
        assert all(scene["scores"][method]["s/MP"] >= 0 for method in METHODS if method != "average")
        assert "s/MP" not in scene["scores"]["average"]


def test_a_missing_result_is_left_out(data):
    others = data["groups"][1]
    assert "average" not in others["scenes"][1]["scores"]
    assert others["summary"]["NMI"]["average"]["n"] == 1
    assert others["summary"]["NMI"][METHODS[0]]["n"] == 2


def test_the_page_is_self_contained(report):
    page = (report / "index.html").read_text("utf-8")
    assert "{{" not in page
    assert not re.search(r"(src|href)=(?!\"data:)", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none';")
    assert "http" not in policy
    assert page.count('<script type="application/json" id="pictures-') == 5


def test_an_existing_report_is_not_overwritten(report, scenes_dir):
    from panfocus.compare import Comparison, Conditions, find_groups, write_report

    before = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    nothing = Comparison(find_groups([scenes_dir]), [], Conditions(metrics=("NMI",)), {})
    with pytest.raises(FileError):
        write_report(nothing, report)
    assert {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()} == before


def test_inline_data_cannot_close_its_element():
    name = "</script><script>alert(1)</script>"
    assert "<" not in _encode_inline([name])
    assert json.loads(_encode_inline([name])) == [name]


def test_values_without_json_form_are_null():
    assert [_finite_or_none(value) for value in (1.5, np.inf, np.nan)] == [1.5, None, None]
