import json
import sys

import pytest
from benchmarks._data import Cost, measure_in_turns, measure_process, save_figures

from benchmarks import _data

TAKE = "import sys; taken = b'x' * int(sys.argv[1])"  # writes to every page of it


def take(size):
    return [sys.executable, "-c", TAKE, size]


def test_peak_memory_excludes_the_parent():
    ours = b"x" * 400_000_000
    bare, more = (measure_process(take(size)).megabytes for size in (0, 200_000_000))
    del ours
    assert bare < 100
    assert more - bare == pytest.approx(200, abs=5)


def test_process_time_is_wall_time():
    seconds = measure_process([sys.executable, "-S", "-c", "import time; time.sleep(0.5)"]).seconds
    assert 0.5 <= seconds < 5


def test_a_failed_process_raises_with_its_last_line():
    command = [sys.executable, "-c", "print('fine'); raise SystemExit('first\\nno such frame')"]
    with pytest.raises(RuntimeError, match="no such frame"):
        measure_process(command)


def test_commands_run_in_turns(monkeypatch):
    costs = {"a": iter([Cost(1, 10), Cost(9, 30), Cost(2, 20)]), "b": iter([Cost(5, 1)] * 3)}
    order = []

    def measured(command):
        order.append(command[0])
        return next(costs[command[0]])

    monkeypatch.setattr(_data, "measure_process", measured)
    assert measure_in_turns({"ours": ["a"], "theirs": ["b"]}) == {"ours": (2, 30), "theirs": (5, 1)}
    assert order == ["a", "b"] * 3


def test_figures_can_be_added_to_existing_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(_data, "ROOT", tmp_path)
    monkeypatch.setattr(_data, "LATEST", tmp_path / "results" / "latest.json")
    save_figures({"a_time": 1.0, "b_time": 2.0}, keep=False)
    save_figures({"b_time": 3.0}, keep=True)
    assert json.loads(_data.LATEST.read_text()) == {"a_time": 1.0, "b_time": 3.0}
    save_figures({"c_time": 4.0}, keep=False)
    assert json.loads(_data.LATEST.read_text()) == {"c_time": 4.0}
