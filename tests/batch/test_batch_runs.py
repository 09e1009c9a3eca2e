"""Batches by processes of this machine: killed, interrupted, started again, with other settings."""

import json
import multiprocessing
import os
import signal
import sys
import threading

import pytest
from stacks import check_complete, damage, finish, n_finished, planned, write_stacks
from waits import HAPPENED, fuse_and_wait, held, wait_until

from panfocus.batch.batch_run import _performed, batch_folder, plan, run_batch
from panfocus.batch.stack_task import fuse_stack
from panfocus.batch.summary import Summary
from panfocus.io import atomic_files
from panfocus.job.request import Outputs, Request

N_LONG = 12  # stacks of a run that is ended before it has fused them all


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

    monkeypatch.setattr("panfocus.batch.batch_run.fuse_stack", fuse_and_wait)
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

    monkeypatch.setattr("panfocus.batch.batch_run.available_cores", lambda: cores)
    monkeypatch.setattr("panfocus.parallel.run_tasks.in_processes", note)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 8_000_000_000)
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
    if how == signal.SIGINT:
        assert (code, len(err.splitlines())) == (130, 1)
        assert str(output) in err
    else:
        assert (code, err) == (-how, "")  # nor does Python say what it has to clear away
    made_at = {path: path.stat().st_mtime_ns for path in output.glob("*/batch.json")}
    assert len(made_at) < N_LONG
    code, out, err = finish(command("batch", data, "-o", output, "--workers", 2))
    assert (code, err) == (0, "")
    assert f"\n{len(made_at)} of them are fused already and stay as they are\n" in out
    assert {path: path.stat().st_mtime_ns for path in made_at} == made_at
    assert n_finished(output) == N_LONG
    assert not list(output.rglob(".panfocus*"))


def test_without_dask_a_scheduler_is_refused_before_stacks_are_looked_for(tmp_path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("panfocus.batch.find_stacks.by_folders", pytest.fail)
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
    make = atomic_files.make_folder

    def with_another_at_work(folder):
        make(folder)
        monkeypatch.setattr(atomic_files, "make_folder", make)
        assert "cut off before its end" in fuse_stack(outer).error

    with batch_folder(output, ["a", "a/b"]):
        Summary(output, ["a", "a/b"], run=1).write({})
        monkeypatch.setattr(atomic_files, "make_folder", with_another_at_work)
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
    monkeypatch.setattr("panfocus.io.atomic_files.is_case_insensitive", lambda _: True)
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "new" / "out")
    assert ran.code == 1
    assert "the results of the stacks 'Well' and 'well' would go to one folder" in ran.err
    assert not (tmp_path / "new").exists()
