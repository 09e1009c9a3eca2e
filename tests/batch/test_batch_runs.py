"""Batches in processes of this machine: killed, interrupted, resumed; wrong options and folders."""

import json
import multiprocessing
import os
import signal
import sys
import threading

import pytest
from stacks import (
    METHOD,
    check_complete,
    finish,
    held,
    n_finished,
    plan_batch,
    run_tasks_of_batch,
    truncate,
    write_stacks,
)

from panfocus.batch import stack_task
from panfocus.batch.batch_run import _run_stacks, batch_folder, plan_stacks
from panfocus.batch.stack_task import fuse_stack
from panfocus.batch.summary import Summary
from panfocus.job.request import Outputs, Request
from waits import wait_until

N_STACKS = 12


def read_summary(output):
    return json.loads((output / "summary.json").read_text())


def test_batch_survives_a_killed_process_and_a_damaged_file(tmp_path):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i:02}" for i in range(N_STACKS)])
    truncate(data / "well-05" / "a.png")
    tasks = plan_batch(data, output)

    def kill_process():
        with held(output, "well-09", "well-10"):
            ready.set()
            wait_until(lambda: n_finished(output) >= 3)
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)

    ready = threading.Event()
    thread = threading.Thread(target=kill_process)
    thread.start()
    ready.wait()
    outcomes, warnings = run_tasks_of_batch(tasks, processes=2)
    thread.join()
    assert [outcome.name for outcome in outcomes] == [task.name for task in tasks]
    assert [line.partition(":")[0] for line in warnings] == ["well-05"]
    check_complete(data, output, tmp_path, damaged={"well-05"})
    assert read_summary(output)["counts"] == {"done": N_STACKS - 1, "failed": 1, "waiting": 0}


@pytest.mark.parametrize(("cores", "workers", "threads"), [(2, 2, 1), (8, 2, 4), (2, 3, 1)])
def test_workers_share_cores_and_memory(tmp_path, monkeypatch, cores, workers, threads):
    calls = {}

    def record(function, tasks, n_processes, **options):
        calls.update(options, n_processes=n_processes, requests=[task.request for (task,) in tasks])
        yield from ()

    monkeypatch.setattr("panfocus.batch.batch_run.available_cores", lambda: cores)
    monkeypatch.setattr("panfocus.parallel.run_in_processes", record)
    monkeypatch.setattr("panfocus.batch.batch_run.free_memory", lambda: 8_000_000_000)
    stacks = dict.fromkeys("abc", (tmp_path / "a.png", tmp_path / "b.png"))
    template = Request(inputs=(), outputs=Outputs())
    tasks = plan_stacks(stacks, tmp_path, template, folder=tmp_path, file_format="png", maps=())
    list(_run_stacks(tasks, None, workers, on_stop=print))
    assert (calls["n_processes"], calls["threads"]) == (workers, threads)
    assert {request.threads for request in calls["requests"]} == {threads}
    assert {request.max_memory for request in calls["requests"]} == {6_000_000_000 // workers}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_interrupted_batch_resumes(tmp_path, command, number):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i:02}" for i in range(N_STACKS)])
    words = ("batch", data, "-o", output, "--workers", 2, "--method", METHOD)
    with held(output, "well-05", "well-06"):
        first = command(*words)
        wait_until(lambda: n_finished(output) >= 3, first)
        first.send_signal(number)
    code, _, err = finish(first)
    if number == signal.SIGINT:
        assert (code, len(err.splitlines())) == (130, 1)
        assert str(output) in err
    else:
        assert (code, err) == (-number, "")  # also no warning of Python about its clean-up
    times = {path: path.stat().st_mtime_ns for path in output.glob("*/batch.json")}
    assert len(times) < N_STACKS
    code, _, err = finish(command(*words))
    assert (code, err) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert n_finished(output) == N_STACKS
    assert not list(output.rglob(".panfocus*"))


def test_scheduler_without_dask_is_refused_before_stacks_are_searched(tmp_path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("panfocus.batch.find_stacks.by_folders", pytest.fail)
    ran = run("batch", tmp_path, "-o", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert "panfocus[dask]" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "bmp"),
        ("--maps", "nonsense"),
        ("--align", "nonsense"),
        ("--pattern", "x", "--files"),
        ("--pattern", "(("),
        ("--pattern", r".+\.png"),
        ("--scheduler", "tcp://127.0.0.1:1", "--workers", 2),
    ],
)
def test_wrong_option_is_a_usage_error(tmp_path, run, arguments):
    write_stacks(tmp_path / "data", ["a"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert arguments[0] in ran.err or arguments[0] == "--format"
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("in_this_process")
def test_unsupported_pictures_of_a_stack_are_in_the_summary_once(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b"])
    (data / "a" / "c.bmp").touch()
    for _ in range(2):  # the second run takes over the result of the first
        ran = run("batch", data, "-o", output, "--workers", 1, "--method", METHOD)
        assert (ran.code, ran.err) == (0, "")
        assert str(output / "index.html") in ran.out
        (notice,), none = (stack["warnings"] for stack in read_summary(output)["stacks"])
        assert "c.bmp" in notice and none == []
        assert (output / "index.html").read_text().count("c.bmp") == 1


@pytest.mark.usefixtures("in_this_process")
def test_broken_symbolic_link_fails_its_stack_or_is_skipped(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a"])
    (data / "a" / "c.png").symlink_to(tmp_path / "gone.png")
    words = ("batch", data, "-o", output, "--method", METHOD)
    ran = run(*words)
    assert ran.code == 1
    assert f"{data / 'a' / 'c.png'}: " in ran.err
    ran = run(*words, "--skip-bad")
    assert (ran.code, ran.err) == (0, "")
    (stack,) = read_summary(output)["stacks"]
    assert stack["frames"] == 2
    assert any("c.png" in line for line in stack["warnings"])


@pytest.mark.usefixtures("in_this_process")
def test_stack_with_an_impossible_name_fails_alone(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b\x1b[2J", "c"])
    for dry in (("--dry-run",), ()):
        ran = run("batch", data, "-o", output, "--workers", 1, "--method", METHOD, *dry)
        assert r"b\x1b[2J: " in ran.err.splitlines()[0]
    assert ran.code == 1
    stacks = read_summary(output)["stacks"]
    assert [(stack["stack"], stack["state"]) for stack in stacks] == [
        ("a", "done"),
        ("c", "done"),
        ("b\x1b[2J", "failed"),
    ]
    assert sorted(path.name for path in output.iterdir() if path.is_dir()) == ["a", "c"]


def test_failed_stack_leaves_its_folder_to_other_workers(tmp_path, monkeypatch):
    """A cluster may give a stack to two workers, and a stack may lie in the folder of another."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "a/b"])
    truncate(data / "a" / "b.png")
    outer, inner = plan_batch(data, output)
    make_folder = stack_task.make_folder

    def make_folder_with_a_second_worker(folder):
        make_folder(folder)
        monkeypatch.setattr(stack_task, "make_folder", make_folder)
        assert "b.png" in fuse_stack(outer).error

    with batch_folder(output, ["a", "a/b"]):
        Summary(output, ["a", "a/b"], run=1).write({})
        monkeypatch.setattr(stack_task, "make_folder", make_folder_with_a_second_worker)
        assert "b.png" in fuse_stack(outer).error
        assert fuse_stack(inner).error is None


@pytest.mark.usefixtures("in_this_process")
def test_failed_stacks_leave_no_empty_folders(tmp_path, run):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "a/b", "c", "c/d"])
    for name in ("a", "c", "c/d"):
        truncate(data / name / "b.png")
    assert run("batch", data, "-o", output, "--workers", 1, "--method", METHOD).code == 1
    assert sorted(path.name for path in output.iterdir() if path.is_dir()) == ["a"]
    assert [path.name for path in (output / "a").iterdir()] == ["b"]


def test_folder_with_other_files_is_refused(tmp_path, run, message):
    write_stacks(tmp_path / "data", ["a"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out")
    assert ran.code == 1
    message("batch folder with other files", ran.err, folder=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]


def test_dry_run_lists_stacks_and_writes_nothing(tmp_path, run):
    write_stacks(tmp_path / "data", ["a"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", "--dry-run")
    assert ran.code == 0
    assert "  a: 2 files\n" in ran.out
    assert not (tmp_path / "out").exists()


def test_names_that_the_disk_takes_for_the_same_are_refused(tmp_path, run, monkeypatch):
    write_stacks(tmp_path / "data", ["Well", "well"])
    monkeypatch.setattr("panfocus.batch.batch_run.is_case_insensitive", lambda _: True)
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "new" / "out")
    assert ran.code == 1
    assert "'Well'" in ran.err and "'well'" in ran.err
    assert not (tmp_path / "new").exists()
