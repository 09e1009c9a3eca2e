"""The summary of a batch as JSON, as CSV, and as a page that loads nothing from elsewhere."""

import csv
import json

import numpy as np
import pytest

from panfocus.batch.stack_task import StackOutcome
from panfocus.batch.summary import Summary
from panfocus.io.encode import write_image

STACKS = ("plate 1/A01", "B<b>&", "C#3?", "waiting stack")


@pytest.fixture
def summary(tmp_path, rng):
    outcomes = {}
    for name in (STACKS[0], STACKS[2]):
        (tmp_path / name).mkdir(parents=True)
        for file in ("fused.png", "thumbnail.png"):
            write_image(tmp_path / name / file, rng.integers(0, 256, (90, 120, 3), np.uint8))
        outcomes[name] = StackOutcome(
            name=name,
            seconds=1.25,
            frames=5,
            width=120,
            height=90,
            files=("fused.png", "report.json", "thumbnail.png"),
            warnings=("Skipped z9.png.",) if name == STACKS[2] else (),
        )
    outcomes[STACKS[1]] = StackOutcome(name=STACKS[1], error="x.png: The file is truncated <script>.")
    Summary(tmp_path, STACKS, run=1).write(outcomes)
    return tmp_path


def test_table_has_a_row_for_each_stack(summary):
    rows = list(csv.DictReader((summary / "summary.csv").read_text().splitlines()))
    assert [(row["stack"], row["state"]) for row in rows] == [
        ("plate 1/A01", "done"),
        ("B<b>&", "failed"),
        ("C#3?", "done"),
        ("waiting stack", "waiting"),
    ]
    assert (rows[0]["picture"], rows[0]["frames"], rows[0]["seconds"]) == (
        "plate 1/A01/fused.png",
        "5",
        "1.25",
    )
    assert rows[1]["error"] == "x.png: The file is truncated <script>."
    assert rows[2]["warnings"] == "Skipped z9.png."


def test_json_counts_states(summary):
    data = json.loads((summary / "summary.json").read_text())
    assert data["counts"] == {"done": 2, "failed": 1, "waiting": 1}
    assert [entry["stack"] for entry in data["stacks"]] == list(STACKS)


def test_page_lists_all_stacks_and_requests_only_their_pictures(summary, open_file):
    page = open_file(summary / "index.html")
    assert page.locator("tbody th").all_text_contents() == [
        "B<b>&",  # failed stacks come first
        "plate 1/A01",
        "C#3?",
        "waiting stack",
    ]
    loaded = "Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth)))"
    assert page.evaluate(loaded) == [120, 120]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('.wide')).overflowX") == "auto"
    assert page.context.requests
    assert all(address.startswith(summary.as_uri()) for address in page.context.requests)
