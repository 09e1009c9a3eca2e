"""Batches by processes of this machine: killed, interrupted, started again, with other settings."""

import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest
from stacks import check_complete, damage, finish, n_finished, write_stacks
from waits import HAPPENED, fuse_and_wait, held, wait_until

from panfocus.batch import find
from panfocus.batch.run import _performed, batch_folder, finished_before, plan, run_batch
from panfocus.batch.summary import Summary
from panfocus.batch.work import fuse_stack
from panfocus.io import files
from panfocus.job.outputs import Outputs
from panfocus.job.request import Request

N_LONG = 12  # stacks of a run that is ended before it has fused them all


def planned(data, output, **settings):
    request = Request(inputs=(), outputs=Outputs(), **settings)
    stacks = find.by_folders(data, without=output).stacks
    return plan(stacks, output, request, folder=data, file_format="png", maps=())


def test_40_stacks_with_a_killed_process_and_a_damaged_file(tmp_path, monkeypatch):
    data, output = tmp_path / "data", tmp_path / "out"
    names = [f"well-{i:02}" for i in range(40)]
    write_stacks(data, names)
    damage(data / "well-05" / "a.png")
    killed = []

    def kill_in_the_middle():
        wait_until(lambda: n_finished(output) >= 10)
        killed.append(multiprocessing.active_children()[0].pid)
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / HAPPENED).touch()

    monkeypatch.setattr("panfocus.batch.run.fuse_stack", fuse_and_wait)
    tasks = planned(data, output)
    warned = []
    killer = threading.Thread(target=kill_in_the_middle)
    killer.start()
    with batch_folder(output, [task.name for task in tasks]):
        outcomes = run_batch(tasks, done=[], warn=warned.append, progress=lambda *_: None, processes=2)
    killer.join()
    assert killed
    assert [outcome.name for outcome in outcomes] == names
    assert [line.partition(":")[0] for line in warned] == ["well-05"]
    fused = [name for name in (tmp_path / "fused.txt").read_text().split() if name != "well-05"]
    assert len(fused) == len(set(fused))
    check_complete(data, output, tmp_path, damaged={"well-05"})
    assert json.loads((output / "summary.json").read_text())["counts"] == {
        "done": 39,
        "failed": 1,
        "waiting": 0,
    }


@pytest.mark.parametrize(("cores", "workers", "threads"), [(2, 2, 1), (8, 2, 4), (2, 3, 1)])
def test_workers_share_the_cores_and_the_memory(tmp_path, monkeypatch, cores, workers, threads):
    """Two workers on two cores have a thread each, and their libraries too."""
    given = {}

    def note(work, tasks, n_processes, **options):
        given.update(options, n_processes=n_processes, requests=[task.request for (task,) in tasks])
        yield from ()

    monkeypatch.setattr("panfocus.batch.run.available_cores", lambda: cores)
    monkeypatch.setattr("panfocus.perform.in_processes", note)
    monkeypatch.setattr("panfocus.io.machine.free_memory", lambda: 8_000_000_000)
    stacks = dict.fromkeys("abc", (tmp_path / "a.png", tmp_path / "b.png"))
    tasks = plan(
        stacks, tmp_path, Request(inputs=(), outputs=Outputs()), folder=tmp_path, file_format="png", maps=()
    )
    list(_performed(tasks, None, workers, on_leaving=print))
    assert (given["n_processes"], given["threads"]) == (workers, threads)
    assert {request.threads for request in given["requests"]} == {threads}
    assert {request.max_memory for request in given["requests"]} == {str(6_000_000_000 // workers)}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_a_run_that_was_ended_goes_on_when_started_again(tmp_path, command, how):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i:02}" for i in range(N_LONG)])
    with held(output, "well-05", "well-06"):
        first = command("batch", data, "-o", output, "--workers", 2)
        wait_until(lambda: n_finished(output) >= 3, first)
        first.send_signal(how)
    code, _, err = finish(first)
    assert code != 0
    if how == signal.SIGINT:
        assert err == (
            f"panfocus: interrupted; what is finished is kept in {output}, "
            "the same command goes on from there\n"
        )
    else:
        assert err == ""  # nor does Python say what it has to clear away
    made_at = {path: path.stat().st_mtime_ns for path in output.glob("*/batch.json")}
    assert len(made_at) < N_LONG
    code, out, err = finish(command("batch", data, "-o", output, "--workers", 2))
    assert (code, err) == (0, "")
    assert f"\n{len(made_at)} of them are fused already and stay as they are\n" in out
    assert {path: path.stat().st_mtime_ns for path in made_at} == made_at
    assert n_finished(output) == N_LONG
    assert not list(output.rglob(".panfocus*"))


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


def test_without_dask_a_scheduler_is_refused_before_stacks_are_looked_for(tmp_path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("panfocus.batch.find.by_folders", pytest.fail)
    ran = run("batch", tmp_path, "-o", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "panfocus: --scheduler needs Dask: pip install 'panfocus[dask]'\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--format", "bmp"), "must end in .png"),
        (("--maps", "nonsense"), "--maps"),
        (("--align", "nonsense"), "--align"),
        (("--pattern", "x", "--files"), "choose one of them"),
        (("--pattern", "(("), "no regular expression"),
        (("--pattern", r".+\.png"), "the part that names the stack is missing"),
        (("--scheduler", "tcp://127.0.0.1:1", "--workers", 2), "a cluster has its own"),
    ],
)
def test_wrong_options_are_one_line_and_nothing_is_begun(tmp_path, run, arguments, complaint):
    write_stacks(tmp_path / "data", ["a"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_pictures_that_a_stack_does_without_are_in_the_summary_once(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b"])
    (data / "a" / "c.bmp").touch()
    for _ in range(2):  # the second time from what the first has left
        ran = run("batch", data, "-o", output, "--workers", 1)
        assert (ran.code, ran.err) == (0, "")
        assert f"there are remarks on 1 stack, see {output / 'index.html'}\n" in ran.out
        stacks = json.loads((output / "summary.json").read_text())["stacks"]
        line = f"left out: 1 picture in {data / 'a'} of no kind that panfocus reads there (c.bmp)"
        assert [stack["warnings"] for stack in stacks] == [[line], []]
        assert (output / "index.html").read_text().count(line) == 1


def test_a_link_that_leads_nowhere_is_an_error_of_its_stack_or_left_out(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a"])
    (data / "a" / "c.png").symlink_to(tmp_path / "gone.png")
    ran = run("batch", data, "-o", output)
    assert ran.code == 1
    assert f"warning: a: {data / 'a' / 'c.png'}: " in ran.err
    ran = run("batch", data, "-o", output, "--skip-bad")
    assert (ran.code, ran.err) == (0, "")
    (stack,) = json.loads((output / "summary.json").read_text())["stacks"]
    assert stack["frames"] == 2
    assert any("c.png" in line for line in stack["warnings"])


def test_a_stack_of_a_bad_name_fails_and_the_others_are_fused(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b\x1b[2J", "c"])
    why = "no name for a stack: it has a control character (U+001B) in it; rename it"
    for dry in (("--dry-run",), ()):
        ran = run("batch", data, "-o", output, "--workers", 1, *dry)
        assert ran.err.splitlines()[0] == rf"panfocus: warning: b\x1b[2J: {why}"
    assert ran.code == 1
    assert "\nfused 2 stacks\n" in ran.out
    assert "1 of 3 stacks failed" in ran.err
    stacks = json.loads((output / "summary.json").read_text())["stacks"]
    assert [(stack["stack"], stack["error"]) for stack in stacks] == [
        ("a", None),
        ("c", None),
        ("b\x1b[2J", why),
    ]
    assert sorted(path.name for path in output.iterdir() if path.is_dir()) == ["a", "c"]


def test_a_worker_does_not_take_away_the_folder_that_another_has_just_made(tmp_path, monkeypatch):
    """As when a cluster gives a stack to two workers, or a stack lies in the folder of another."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "a/b"])
    damage(data / "a" / "b.png")
    outer, inner = planned(data, output)
    make = files.make_folder

    def with_another_at_work(folder):
        make(folder)
        monkeypatch.setattr(files, "make_folder", make)
        assert "cut off before its end" in fuse_stack(outer).error

    with batch_folder(output, ["a", "a/b"]):
        Summary(output, ["a", "a/b"], run=1).write({})
        monkeypatch.setattr(files, "make_folder", with_another_at_work)
        assert "cut off before its end" in fuse_stack(outer).error
        assert fuse_stack(inner).error is None


def test_no_empty_folders_are_left_of_stacks_that_failed(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "a/b", "c", "c/d"])
    for name in ("a", "c", "c/d"):
        damage(data / name / "b.png")
    assert run("batch", data, "-o", output, "--workers", 1).code == 1
    assert sorted(path.name for path in output.iterdir() if path.is_dir()) == ["a"]
    assert [path.name for path in (output / "a").iterdir()] == ["b"]


def test_a_folder_with_files_of_others_is_refused(tmp_path, run):
    write_stacks(tmp_path / "data", ["a"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out")
    assert ran.code == 1
    assert ran.err == f"panfocus: {tmp_path / 'out'} holds files of other origin; choose another folder\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]


def test_a_dry_run_names_the_stacks_and_writes_nothing(tmp_path, run):
    write_stacks(tmp_path / "data", ["a"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", "--dry-run")
    assert (ran.code, ran.out) == (0, "found 1 stack of 2 files\n  a: 2 files\n")
    assert not (tmp_path / "out").exists()


def test_names_that_a_disk_does_not_tell_apart_are_refused_before_anything_is_written(
    tmp_path, run, monkeypatch
):
    write_stacks(tmp_path / "data", ["Well", "well"])
    monkeypatch.setattr("panfocus.io.files.ignores_case", lambda _: True)
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "new" / "out")
    assert ran.code == 1
    assert "the results of the stacks 'Well' and 'well' would go to one folder" in ran.err
    assert not (tmp_path / "new").exists()
