"""docs/reproduction.md has the computed values."""

import importlib.util
from pathlib import Path

import pytest

from panfocus.methods import get_method
from panfocus.pipeline import fuse
from panfocus.reproduce.image_sets import GREY_SETS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check():
    path = ROOT / "scripts" / "check_reproduction_doc.py"
    spec = importlib.util.spec_from_file_location("check_reproduction_doc", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DOC = """Words.

| NMI | Lab |
|---|---|
| PCA | 1.0273 (+0.0003) |

| | SSIM, Lab | MSE, Lab |
|---|---|---|
| PCA | 0.9483 (+0.0015) | 49.76 (−4.65) |

| | Diver |
|---|---|
| Proposed, Q_AB/F | 0.6275 (+0.0028) |

| the paper says | here | figures |
|---|---|---|
| this | confirmed | 3 |
| that | **refuted** | 4 |
"""


def number(part, method, measure, image_set, value, paper):
    cell = {"part": part, "variant": method, "measure": measure, "subject": image_set}
    return cell | {"value": value, "paper": paper}


@pytest.fixture
def run():
    return {
        "numbers": [
            number("table 1", "PCA", "NMI", "Lab", 1.02731, 1.0270),
            number("table 1", "PCA", "SSIM", "Lab", 0.94829, 0.9468),
            number("table 1", "PCA", "MSE", "Lab", 49.7601, 54.4139),
            number("table 2", "Proposed", "QABF", "Diver", 0.62749, 0.6247),
            number("draws", "Proposed, seed 1", "NMI", "Lab", 1.1, None),
        ],
        "claims": [
            {"statement": "This", "verdict": "confirmed"},
            {"statement": "That", "verdict": "refuted"},
        ],
    }


def test_a_matching_doc_has_no_differences(check, run):
    assert list(check.differences(DOC, run)) == []


def test_differences_are_listed(check, run):
    run["numbers"][2]["value"] = 50.1
    run["numbers"].append(number("table 1", "PCA", "NMI", "Disk", 0.8375, 0.8372))
    run["claims"][0]["verdict"] = "depends on the draw"
    run["claims"].append({"statement": "More", "verdict": "refuted"})
    assert list(check.differences(DOC, run)) == [
        "table 1, PCA, MSE, Lab: the doc says 49.76 (−4.65), the run 50.10 (−4.31)",
        "table 1, PCA, NMI, Disk: the doc says None, the run 0.8375 (+0.0003)",
        "the doc has 2 claims, the run 3",
        "This: the doc says confirmed, the run depends on the draw",
    ]


@pytest.mark.parametrize("method", ["DWT", "PCA", "DSIFT"])
def test_doc_rows_without_learning_are_reproduced(check, data_dir, method):
    """Other rows need a complete run; scripts/check_reproduction_doc.py checks them."""
    settings = {"refinement": "none"} if method == "DSIFT" else {}
    stated = {}
    for head, *rows in check.tables((ROOT / "docs" / "reproduction.md").read_text("utf-8")):
        stated |= {
            cell: words.split()[0]
            for row in rows
            for heading, words in zip(head[1:], row[1:], strict=True)
            if row[0] == method and (cell := check.cell_of(head[0], row[0], heading))
        }
    computed = {}
    for image_set in GREY_SETS:
        if image_set.public:
            scene = image_set.read(data_dir)
            fused = fuse(scene.frames, get_method(method.lower(), **settings)).image
            for key, value in scene.score(fused, ("NMI", "QABF", "SSIM", "MSE")).items():
                computed["table 1", method, key, image_set.name] = f"{value:.{2 if key == 'MSE' else 4}f}"
    assert len(computed) == 12
    assert stated == computed
