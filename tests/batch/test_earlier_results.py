"""Batches started again: earlier results are kept, refused, or replaced with --force."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest
from stacks import METHOD, check_complete, plan_batch, run_tasks_of_batch, truncate, write_stacks

from panfocus.batch.batch_run import find_finished
from panfocus.batch.stack_task import fuse_stack

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture(scope="module")
def fused_once(tmp_path_factory):
    """Three stacks, and their results."""
    folder = tmp_path_factory.mktemp("batch")
    write_stacks(folder / "data", ["a", "b", "deep/c"])
    tasks = plan_batch(folder / "data", folder / "out")
    outcomes, warnings = run_tasks_of_batch(tasks, processes=1)
    assert [outcome.error for outcome in outcomes] == [None] * 3
    assert warnings == []
    return folder


@pytest.fixture
def fused(fused_once, tmp_path):
    """A copy of them. Stacks may be moved."""
    shutil.copytree(fused_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "data", tmp_path / "out"


@pytest.fixture
def run_again(fused, run):
    """Run the command on the copy, with the same settings and perhaps more."""
    data, output = fused
    return lambda *options: run("batch", data, "-o", output, "--method", METHOD, "--workers", 1, *options)


def states(output):
    return {
        stack["stack"]: stack["state"] if not stack.get("kept") else "kept"
        for stack in json.loads((output / "summary.json").read_text())["stacks"]
    }


def run_number(path):
    return json.loads(path.read_text())["run"]


def test_other_settings_are_refused_or_forced(fused, run_again, message):
    _, output = fused
    before = {path: path.read_bytes() for path in output.glob("**/fused.png")}
    assert len(before) == 3
    ran = run_again("--align", "off")
    assert ran.code == 1
    message("batch with other settings", ran.err, folder=output)
    assert {path: path.read_bytes() for path in before} == before
    ran = run_again("--align", "off", "--force")
    assert (ran.code, ran.err) == (0, "")
    assert set(states(output).values()) == {"done"}


@pytest.mark.parametrize("at", ["fused.png", "report.json"])
def test_forced_run_that_is_killed_between_two_files_leaves_no_result(tmp_path, monkeypatch, at):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a"])
    (before,) = plan_batch(data, output)
    run_tasks_of_batch([before], processes=1)
    (again,) = plan_batch(data, output, method="dwt")
    again = dataclasses.replace(again, run=2)
    replace = Path.replace

    def replace_or_die(self, target):
        replace(self, target)
        if target.name == at:
            raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Path, "replace", replace_or_die)
        fuse_stack(again)
    assert find_finished([before], force=False) == []
    assert find_finished([again], force=False) == []
    assert fuse_stack(dataclasses.replace(before, run=3)).error is None
    check_complete(data, output, tmp_path)


def test_stack_that_fails_with_force_keeps_its_result(fused, run_again):
    data, output = fused
    before = {path: path.read_bytes() for path in (output / "a").iterdir()}
    truncate(data / "a" / "b.png")
    ran = run_again("--force", "--format", "tif")
    assert ran.code == 1
    assert str(data / "a" / "b.png") in ran.err
    assert {path: path.read_bytes() for path in (output / "a").iterdir()} == before


def test_worker_of_an_older_run_replaces_nothing(tmp_path):
    """Workers of a cluster finish their tasks even if the run was interrupted."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a"])
    (old,) = plan_batch(data, output, method="pca")
    (new,) = plan_batch(data, output, method="dwt")
    old, new = dataclasses.replace(old, run=1), dataclasses.replace(new, run=2)
    assert fuse_stack(old).error is None
    assert fuse_stack(new).error is None
    picture = (output / "a" / "fused.png").read_bytes()
    assert fuse_stack(old).error is not None
    assert (output / "a" / "fused.png").read_bytes() == picture
    assert fuse_stack(new).kept


def test_run_numbers_increase_whatever_the_clock_shows(fused, run_again, monkeypatch):
    data, output = fused
    assert run_number(output / "a" / "batch.json") == run_number(output / "summary.json") == 1
    monkeypatch.setattr("time.time", lambda: 0.0)
    os.utime(data / "a" / "a.png")
    ran = run_again("--force")
    assert (ran.code, ran.err) == (0, "")
    assert run_number(output / "a" / "batch.json") == run_number(output / "summary.json") == 2
    assert run_number(output / "b" / "batch.json") == 1


def test_result_from_a_folder_with_more_runs_is_replaced_by_force(fused, run_again):
    data, output = fused
    record = output / "a" / "batch.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"run": 7}))
    os.utime(data / "a" / "a.png")
    ran = run_again("--force")
    assert (ran.code, ran.err) == (0, "")
    assert run_number(record) == 8


@pytest.mark.parametrize("number", ["Infinity", "NaN", "null", '"x"'])
def test_damaged_run_numbers_count_as_0(fused, run_again, number):
    data, output = fused
    for path in (output / "a" / "batch.json", output / "summary.json"):
        path.write_text(path.read_text().replace(f'"run": {run_number(path)}', f'"run": {number}'))
        assert f'"run": {number}' in path.read_text()
    os.utime(data / "a" / "a.png")
    ran = run_again("--force")
    assert (ran.code, ran.err) == (0, "")
    assert run_number(output / "summary.json") > 0


def test_files_of_an_older_result_are_removed(fused, run_again):
    _, output = fused
    (output / "a" / "notes.txt").write_text("mine")
    ran = run_again("--format", "tif", "--force")
    assert (ran.code, ran.err) == (0, "")
    expected = ["batch.json", "fused.tif", "report.json", "thumbnail.png"]
    assert sorted(path.name for path in (output / "b").iterdir()) == expected
    assert sorted(path.name for path in (output / "a").iterdir()) == sorted([*expected, "notes.txt"])


def test_other_files_in_an_edited_record_are_not_removed(fused, run_again):
    data, output = fused
    record = output / "a" / "batch.json"
    (output / "a" / "notes.txt").write_text("mine")
    edited = json.loads(record.read_text())
    edited["outcome"]["files"] += ["notes.txt", "../../data/b/a.png", "../b/fused.png"]
    record.write_text(json.dumps(edited))
    ran = run_again("--format", "tif", "--force")
    assert (ran.code, ran.err) == (0, "")
    assert not (output / "a" / "fused.png").exists()
    assert (output / "a" / "notes.txt").read_text() == "mine"
    assert (data / "b" / "a.png").exists()


def test_results_of_removed_stacks_are_named_and_kept(fused, run_again):
    data, output = fused
    assert "deep/c" not in run_again().out
    (data / "deep").rename(data / "shallow")
    for _ in range(2):
        ran = run_again()
        assert (ran.code, ran.err) == (0, "")
        assert "deep/c\n" in ran.out
    assert (output / "deep" / "c" / "fused.png").exists()


def test_stack_whose_files_have_changed_fails_alone(fused, run_again, message):
    data, output = fused
    before = (output / "a" / "batch.json").read_bytes()
    os.utime(data / "a" / "a.png")
    write_stacks(data, ["d"])
    ran = run_again()
    assert ran.code == 1
    message("batch with changed files", ran.err.splitlines()[0])
    assert (output / "a" / "batch.json").read_bytes() == before
    assert states(output) == {"a": "failed", "b": "kept", "d": "done", "deep/c": "kept"}
    ran = run_again("--force")
    assert (ran.code, ran.err) == (0, "")
    assert states(output) == {"a": "done", "b": "kept", "d": "kept", "deep/c": "kept"}


@pytest.mark.parametrize("other", ["another record", {"version": "0.0", "settings": "", "inputs": ""}])
def test_results_of_another_version_are_refused(fused, run_again, other):
    _, output = fused
    record = output / "a" / "batch.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"fingerprint": other}))
    ran = run_again()
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert str(output / "a") in ran.err and "version" in ran.err


def test_repaired_stack_is_all_that_a_second_run_fuses(fused, run_again):
    data, output = fused
    write_stacks(data, ["d"])
    good = (data / "d" / "b.png").read_bytes()
    truncate(data / "d" / "b.png")
    ran = run_again()
    assert ran.code == 1
    assert str(data / "d" / "b.png") in ran.err
    (data / "d" / "b.png").write_bytes(good)
    ran = run_again()
    assert (ran.code, ran.err) == (0, "")
    assert states(output) == {"a": "kept", "b": "kept", "d": "done", "deep/c": "kept"}


def test_table_with_other_files_of_the_same_names_sizes_and_times_is_a_change(tmp_path, run):
    write_stacks(tmp_path, ["one"])
    shutil.copytree(tmp_path / "one", tmp_path / "two")  # copies the times
    table = tmp_path / "table.csv"
    words = ("batch", tmp_path, "-o", tmp_path / "out", "--csv", table, "--method", METHOD)
    table.write_text("stack,file\nx,one/a.png\nx,one/b.png\n")
    assert run(*words).code == 0
    table.write_text("stack,file\nx,two/a.png\nx,two/b.png\n")
    assert run(*words).code == 1
    assert states(tmp_path / "out") == {"x": "failed"}
