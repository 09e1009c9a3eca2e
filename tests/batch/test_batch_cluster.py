"""Batches on a Dask cluster: a killed worker, a damaged file, the command interrupted, a new scheduler."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
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

import panfocus as pf
from panfocus import parallel
from panfocus.batch.batch_run import find_finished, plan_stacks
from panfocus.batch.stack_task import fuse_stack
from panfocus.errors import NotEnoughMemoryError
from panfocus.job.request import Outputs, Request
from waits import wait_until

distributed = pytest.importorskip("distributed")

N_STACKS = 12


def test_batch_survives_a_killed_worker_and_a_damaged_file(small_cluster, tmp_path):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i:02}" for i in range(N_STACKS)])
    truncate(data / "well-07" / "b.png")
    tasks = plan_batch(data, output)
    killed = next(iter(small_cluster.workers.values())).pid

    def kill_worker():
        with held(output, "well-09", "well-10"):
            ready.set()
            wait_until(lambda: n_finished(output) >= 3)
            os.kill(killed, signal.SIGKILL)

    ready = threading.Event()
    thread = threading.Thread(target=kill_worker)
    thread.start()
    ready.wait()
    with parallel.open_cluster(small_cluster.scheduler_address, print) as cluster:
        outcomes, warnings = run_tasks_of_batch(tasks, cluster=cluster)
    thread.join()
    assert [outcome.name for outcome in outcomes] == [task.name for task in tasks]
    (warning,) = warnings
    assert warning.startswith("well-07: ") and "b.png" in warning
    check_complete(data, output, tmp_path, damaged={"well-07"})
    summary = json.loads((output / "summary.json").read_text())
    assert summary["counts"] == {"done": N_STACKS - 1, "failed": 1, "waiting": 0}
    assert len(find_finished(tasks, force=False)) == N_STACKS - 1


def test_task_holds_names_and_no_pixels(tmp_path):
    files = tuple(tmp_path / f"frame-{i:03}.tif" for i in range(100))
    template = Request(inputs=(), outputs=Outputs())
    (task,) = plan_stacks({"a": files}, tmp_path, template, folder=tmp_path, file_format="png", maps=())
    names = sum(len(str(path)) for path in files)
    assert len(pickle.dumps(task)) < 2 * names + 4000


def test_stack_that_is_too_large_for_a_worker_is_left_to_others(tmp_path, monkeypatch):
    write_stacks(tmp_path / "data", ["a"])
    (task,) = plan_batch(tmp_path / "data", tmp_path / "out")
    monkeypatch.setattr("panfocus.batch.stack_task.worker_task_memory", lambda: 10_000_000)
    with pytest.raises(NotEnoughMemoryError) as caught:
        fuse_stack(task)
    assert caught.value.facts["needed"] > 10_000_000


def test_wrong_address_is_reported_before_anything_is_written(tmp_path, run, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.cluster.TIMEOUT", 0.5)
    write_stacks(tmp_path / "data", ["a"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert ran.code == 1
    assert "tcp://127.0.0.1:1" in ran.err
    assert not (tmp_path / "out").exists()


def test_invalid_address_is_one_line(tmp_path, command):
    write_stacks(tmp_path / "data", ["a"])
    process = command("batch", tmp_path / "data", "-o", tmp_path / "out", "--scheduler", "nonsense://here")
    code, _, err = finish(process)
    assert (code, len(err.splitlines())) == (1, 1), err
    assert "nonsense://here" in err


class CommandCluster:
    """A scheduler at a fixed port and a worker, started as users do."""

    def __init__(self, folder):
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._processes = []

    def start(self):
        port = self.address.rpartition(":")[2]
        self.scheduler = self._dask("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        self._dask(
            "worker", self.address, "--nthreads", 1, "--memory-limit", "2GB", "--no-dashboard",
            "--local-directory", self._folder,
        )  # fmt: skip

    def end(self):
        for process in reversed(self._processes):  # workers say goodbye to their scheduler
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
            process.kill()

    def _dask(self, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(process)
        return process


@pytest.fixture
def dask_commands(tmp_path):
    cluster = CommandCluster(tmp_path / "dask")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def batch(tmp_path, command):
    """Stacks, the output folder, and a function that starts the command on a cluster."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i:02}" for i in range(N_STACKS)])

    def start(address, **options):
        words = ("-o", output, "--method", METHOD, "--scheduler", address)
        return command("batch", data, *words, **options)

    return data, output, start


@contextmanager
def half_done(start, output):
    """Start a batch. During the block some stacks are fused, and a worker waits at another one."""
    with held(output, "well-05"):
        process = start()
        wait_until(lambda: n_finished(output) >= 3, process)
        yield process


def wait_until_idle(address):
    with distributed.Client(address, set_as_default=False) as client:

        def is_idle():
            left = client.processing(), client.run(lambda dask_worker: [*dask_worker.state.tasks])
            return not any(keys for workers in left for keys in workers.values())

        wait_until(is_idle)


def test_interrupted_batch_cancels_waiting_stacks_and_resumes(batch, tmp_path, small_cluster):
    data, output, start = batch
    address = small_cluster.scheduler_address
    with half_done(lambda: start(address), output) as first:
        first.send_signal(signal.SIGINT)
        code, _, err = finish(first)
    assert (code, len(err.splitlines())) == (130, 1), err
    assert str(output) in err
    wait_until_idle(address)
    times = {path: path.stat().st_mtime_ns for path in output.glob("*/batch.json")}
    assert 3 <= len(times) < N_STACKS
    code, _, err = finish(start(address))
    assert (code, err) == (0, "")
    assert {path: path.stat().st_mtime_ns for path in times} == times
    check_complete(data, output, tmp_path)


def test_batch_continues_with_a_new_scheduler_at_the_same_address(batch, tmp_path, dask_commands):
    data, output, start = batch
    with half_done(lambda: start(dask_commands.address), output) as process:
        dask_commands.scheduler.kill()
        dask_commands.scheduler.wait()
    dask_commands.start()
    code, out, err = finish(process)
    assert (code, err) == (0, "")
    assert dask_commands.address in out  # the lost connection is reported
    check_complete(data, output, tmp_path)


def test_interrupted_store_names_its_checkpoint_and_resumes(tmp_path, command, small_cluster):
    zarr = pytest.importorskip("zarr")
    rng = np.random.default_rng(3)
    sharp = gaussian_filter(rng.random((1100, 1100), np.float32), 0.6)
    frames = np.stack([sharp, gaussian_filter(sharp, 2)])
    frames[:, :, 700:] = frames[::-1, :, 700:].copy()
    pixels = np.rint(255 * frames).astype(np.uint8)
    zarr.create_array(tmp_path / "stack.zarr", data=pixels, chunks=(1, 512, 512))
    output, part = tmp_path / "fused.ome.zarr", tmp_path / "fused.ome.zarr.part"

    def start():
        memory = ("--max-memory", "650MB")  # for small tiles
        scheduler = ("--method", "dwt", "--scheduler", small_cluster.scheduler_address)
        return command("fuse", tmp_path / "stack.zarr", "-o", output, *memory, *scheduler)

    first = start()
    wait_until(lambda: len(list(part.rglob("done-fuse-*.json"))) >= 1, first)
    first.send_signal(signal.SIGTERM)
    code, _, err = finish(first)
    assert (code, len(err.splitlines())) == (130, 1), err
    assert str(part) in err
    assert not output.exists()
    code, _, err = finish(start())
    assert (code, err) == (0, "")
    fused = zarr.open_array(output / "0")
    assert np.array_equal(np.squeeze(fused[:]), pf.fuse(pixels, method="dwt").image)
    assert not part.exists()
