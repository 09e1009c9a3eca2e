"""Batches started again where results are: kept, refused, or made anew by force."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest
from stacks import check_complete, damage, planned, write_stacks

from panfocus.batch.batch_run import batch_folder, finished_before, run_batch
from panfocus.batch.stack_task import fuse_stack


@pytest.fixture
def fused(tmp_path, run):
    """Three stacks, fused."""
    write_stacks(tmp_path / "data", ["a", "b", "deep/c"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", "--maps", "labels,depth", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert "found 3 stacks of 6 files" in ran.out
    assert "fused 3 stacks" in ran.out
    return tmp_path / "data", tmp_path / "out"


def test_other_settings_are_refused_where_results_are_and_made_by_force(fused, run):
    data, output = fused
    before = {path: path.read_bytes() for path in output.glob("**/fused.png")}
    assert len(before) == 3
    ran = run("batch", data, "-o", output, "--maps", "labels,depth", "--set", "quality=fast")
    assert ran.code == 1
    assert ran.err == (
        f"panfocus: {output / 'a'}: fused with other settings, and so are 2 more; "
        "choose another folder, or have them fused anew with --force\n"
    )
    assert {path: path.read_bytes() for path in before} == before
    ran = run("batch", data, "-o", output, "--maps", "labels", "--force", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert "fused 3 stacks" in ran.out


@pytest.mark.parametrize("at", ["fused.png", "report.json"])
def test_a_run_by_force_that_is_killed_between_two_files_leaves_none_that_counts(
    tmp_path, run, monkeypatch, at
):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a"])
    (before,) = planned(data, output)
    with batch_folder(output, ["a"]):
        run_batch([before], done=[], warn=pytest.fail, progress=lambda *_: None, processes=1)
    (anew,) = planned(data, output, method="dwt")
    anew = dataclasses.replace(anew, run=2)
    replace = Path.replace

    def killed(self, target):
        replace(self, target)
        if target.name == at:
            raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(Path, "replace", killed)
        fuse_stack(anew)
    assert finished_before([before], force=False) == []
    assert finished_before([anew], force=False) == []
    ran = run("batch", data, "-o", output)
    assert (ran.code, ran.err) == (0, "")
    check_complete(data, output, tmp_path, damaged=())


def test_a_stack_that_cannot_be_fused_anew_keeps_its_result(fused, run):
    data, output = fused
    before = {path: path.read_bytes() for path in (output / "a").iterdir()}
    damage(data / "a" / "b.png")
    ran = run("batch", data, "-o", output, "--force", "--format", "tif")
    assert ran.code == 1
    assert f"{data / 'a' / 'b.png'}: cut off before its end" in ran.err
    assert {path: path.read_bytes() for path in (output / "a").iterdir()} == before


def test_a_worker_that_an_earlier_run_has_left_replaces_nothing_of_a_later_one(tmp_path):
    """Workers of a cluster finish what they are at when the run has ended already."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a"])
    (old,) = planned(data, output, method="pca")
    (new,) = planned(data, output, method="dwt")
    old, new = dataclasses.replace(old, run=1), dataclasses.replace(new, run=2)
    assert fuse_stack(old).error is None
    assert fuse_stack(new).error is None  # also if the left one was first
    picture = (output / "a" / "fused.png").read_bytes()
    assert fuse_stack(old).error == "a run that was begun later has fused it"
    assert (output / "a" / "fused.png").read_bytes() == picture
    assert fuse_stack(new).kept


def number_of_run(path):
    return json.loads(path.read_text())["run"]


def test_every_run_has_a_number_above_those_before_whatever_the_clock_says(fused, run, monkeypatch):
    data, output = fused
    assert number_of_run(output / "a" / "batch.json") == number_of_run(output / "summary.json") == 1
    monkeypatch.setattr("time.time", lambda: 0.0)
    os.utime(data / "a" / "a.png")
    ran = run("batch", data, "-o", output, "--maps", "labels,depth", "--force", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert number_of_run(output / "a" / "batch.json") == number_of_run(output / "summary.json") == 2
    assert number_of_run(output / "b" / "batch.json") == 1


def test_a_result_that_came_from_a_folder_with_more_runs_is_made_anew_by_force(fused, run):
    data, output = fused
    record = output / "a" / "batch.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"run": 7}))
    os.utime(data / "a" / "a.png")
    ran = run("batch", data, "-o", output, "--maps", "labels,depth", "--force", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert number_of_run(record) == 8


@pytest.mark.parametrize("number", ["Infinity", "NaN", "null", '"x"'])
def test_records_with_numbers_that_are_none_are_made_anew_by_force(fused, run, number):
    data, output = fused
    for path in (output / "a" / "batch.json", output / "summary.json"):
        path.write_text(path.read_text().replace(f'"run": {number_of_run(path)}', f'"run": {number}'))
        assert f'"run": {number}' in path.read_text()
    os.utime(data / "a" / "a.png")
    ran = run("batch", data, "-o", output, "--maps", "labels,depth", "--force", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert number_of_run(output / "summary.json") > 0


def test_files_of_an_older_result_do_not_stay_beside_a_newer_one(fused, run):
    data, output = fused
    (output / "a" / "notes.txt").write_text("mine")
    ran = run("batch", data, "-o", output, "--format", "tif", "--maps", "depth", "--force", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    kept = ["batch.json", "depth.tif", "fused.tif", "report.json", "thumbnail.png"]
    assert sorted(path.name for path in (output / "b").iterdir()) == kept
    assert sorted(path.name for path in (output / "a").iterdir()) == sorted([*kept, "notes.txt"])


def test_a_record_that_lists_files_of_others_has_none_of_them_removed(fused, run):
    data, output = fused
    record = output / "a" / "batch.json"
    (output / "a" / "notes.txt").write_text("mine")
    listed = json.loads(record.read_text())
    listed["outcome"]["files"] += ["notes.txt", "../../data/b/a.png", "../b/fused.png"]
    record.write_text(json.dumps(listed))
    ran = run("batch", data, "-o", output, "--format", "tif", "--force", "--workers", 1)
    assert (ran.code, ran.err) == (0, "")
    assert not (output / "a" / "fused.png").exists()
    assert (output / "a" / "notes.txt").read_text() == "mine"
    assert (data / "b" / "a.png").exists()


def test_results_of_stacks_that_are_gone_are_named_and_stay(fused, run):
    data, output = fused
    arguments = ("batch", data, "-o", output, "--maps", "labels,depth")
    said = "results of stacks that are not there, left alone: "
    assert said not in run(*arguments).out
    (data / "deep").rename(data / "shallow")
    for _ in range(2):
        ran = run(*arguments, "--workers", 1)
        assert (ran.code, ran.err) == (0, "")
        assert f"{said}deep/c\n" in ran.out
    assert (output / "deep" / "c" / "fused.png").exists()


def test_a_stack_whose_files_have_changed_stops_no_other(fused, run):
    data, output = fused
    before = (output / "a" / "batch.json").read_bytes()
    os.utime(data / "a" / "a.png")
    write_stacks(data, ["d"])
    arguments = ("batch", data, "-o", output, "--maps", "labels,depth", "--workers", 1)
    ran = run(*arguments)
    assert ran.code == 1
    assert "\n2 of them are fused already and stay as they are\n" in ran.out
    assert "\nfused 1 stack\n" in ran.out
    warning, failure = ran.err.splitlines()
    changed = "its files have changed since it was fused; --force fuses it anew"
    assert warning == f"panfocus: warning: a: {changed}"
    assert failure.startswith("panfocus: 1 of 4 stacks failed, see ")
    assert (output / "a" / "batch.json").read_bytes() == before
    summary = json.loads((output / "summary.json").read_text())
    assert summary["counts"] == {"done": 3, "failed": 1, "waiting": 0}
    assert summary["stacks"][0]["error"] == changed
    ran = run(*arguments, "--force")
    assert (ran.code, ran.err) == (0, "")
    assert "\n3 of them are fused already and stay as they are\n" in ran.out
    assert "\nfused 1 stack\n" in ran.out


@pytest.mark.parametrize("found", ["another record", {"version": "0.0", "settings": "", "inputs": ""}])
def test_results_of_another_version_are_refused(fused, run, found):
    data, output = fused
    record = output / "a" / "batch.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"fingerprint": found}))
    ran = run("batch", data, "-o", output, "--maps", "labels,depth")
    assert ran.code == 1
    assert ran.err == (
        f"panfocus: {output / 'a'}: fused by another version of panfocus; "
        "choose another folder, or have them fused anew with --force\n"
    )


def test_a_stack_that_was_mended_is_all_that_a_second_run_makes(fused, run):
    data, output = fused
    write_stacks(data, ["d"])
    good = (data / "d" / "b.png").read_bytes()
    damage(data / "d" / "b.png")
    ran = run("batch", data, "-o", output, "--maps", "labels,depth")
    assert ran.code == 1
    assert "3 of them are fused already" in ran.out
    assert f"{data / 'd' / 'b.png'}: cut off before its end" in ran.err
    assert ran.err.splitlines()[-1].startswith("panfocus: 1 of 4 stacks failed, see ")
    (data / "d" / "b.png").write_bytes(good)
    ran = run("batch", data, "-o", output, "--maps", "labels,depth")
    assert (ran.code, ran.err) == (0, "")
    assert "fused 1 stack\n" in ran.out
    assert sorted(path.name for path in (output / "d").iterdir()) == [
        "batch.json",
        "depth.tif",
        "fused.png",
        "labels.png",
        "report.json",
        "thumbnail.png",
    ]


def test_a_table_that_names_other_files_of_the_same_names_sizes_and_times_is_seen(tmp_path, run):
    write_stacks(tmp_path, ["one"])
    shutil.copytree(tmp_path / "one", tmp_path / "two")  # with the times of the files
    table = tmp_path / "table.csv"
    arguments = ("batch", tmp_path, "-o", tmp_path / "out", "--csv", table)
    table.write_text("stack,file\nx,one/a.png\nx,one/b.png\n")
    assert run(*arguments).code == 0
    table.write_text("stack,file\nx,two/a.png\nx,two/b.png\n")
    ran = run(*arguments)
    assert ran.code == 1
    assert "x: its files have changed since it was fused; --force fuses it anew" in ran.err


def test_of_a_single_stack_that_is_fused_already_it_is_said_so(tmp_path, run):
    write_stacks(tmp_path / "data", ["a"])
    for said in ("fuse ...", "1 of them is fused already and stays as it is"):
        ran = run("batch", tmp_path / "data", "-o", tmp_path / "out")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines()[1] == said
