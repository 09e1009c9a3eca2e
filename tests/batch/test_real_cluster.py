"""With `dask scheduler` and `dask worker`: the command is interrupted; the scheduler ends, another comes."""

import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from stacks import check_complete, finish, n_finished, write_stacks
from waits import held, wait_until

import panfocus as pf

distributed = pytest.importorskip("distributed")

N_STACKS = 15


class RealCluster:
    """A scheduler at one port of this machine, and a worker, as users start them."""

    def __init__(self, folder):
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._running = []

    def start(self):
        port = self.address.rpartition(":")[2]
        here = ("--local-directory", self._folder)
        self.scheduler = self._dask("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        self._dask("worker", self.address, "--nthreads", 1, "--memory-limit", "2GB", "--no-dashboard", *here)

    def end(self):
        for process in reversed(self._running):  # workers first: they take leave of their scheduler
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
            process.kill()

    def _dask(self, *words):
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._running.append(process)
        return process


@pytest.fixture
def real_cluster(tmp_path):
    """Each test has its own: they end parts of it, or leave it at work."""
    cluster = RealCluster(tmp_path / "dask")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def batch(tmp_path, command, real_cluster):
    """Stacks, the folder for results, and the command that fuses them on the cluster."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i:02}" for i in range(N_STACKS)])
    return data, output, lambda: command("batch", data, "-o", output, "--scheduler", real_cluster.address)


@contextmanager
def in_the_middle(start, output):
    """Have a batch while the block lasts, of which some stacks are fused, and at one its worker waits."""
    with held(output, "well-05"):
        process = start()
        wait_until(lambda: n_finished(output) >= 3, process)
        yield process


def wait_until_still(address):
    """Wait until the workers have finished what they are at, and have no more."""
    with distributed.Client(address, set_as_default=False) as client:

        def nothing_left():
            left = client.processing(), client.run(lambda dask_worker: [*dask_worker.state.tasks])
            return not any(keys for of_workers in left for keys in of_workers.values())

        wait_until(nothing_left)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_batch_gives_up_what_has_not_begun_and_can_go_on(
    batch, tmp_path, real_cluster, number
):
    data, output, start = batch
    with in_the_middle(start, output) as first:
        first.send_signal(number)
        code, _, err = finish(first)
    assert (code, len(err.splitlines())) == (130, 1)
    assert str(output) in err
    wait_until_still(real_cluster.address)
    made_at = {path: path.stat().st_mtime_ns for path in output.glob("*/batch.json")}
    assert 3 <= len(made_at) < N_STACKS
    code, out, err = finish(start())
    assert (code, err) == (0, "")
    assert f"\n{len(made_at)} of them are fused already and stay as they are\n" in out
    assert {path: path.stat().st_mtime_ns for path in made_at} == made_at
    check_complete(data, output, tmp_path, damaged=())


def test_a_batch_goes_on_with_a_new_scheduler_at_the_same_address(batch, tmp_path, real_cluster):
    data, output, start = batch
    with in_the_middle(start, output) as process:
        real_cluster.scheduler.kill()
        real_cluster.scheduler.wait()
    real_cluster.start()
    code, out, err = finish(process)
    assert (code, err) == (0, "")
    assert f"lost the connection to the scheduler at {real_cluster.address}; trying again\n" in out
    assert "connected again; " in out
    assert f"fused {N_STACKS} stacks\n" in out
    check_complete(data, output, tmp_path, damaged=())


def test_an_interrupted_store_says_where_its_tiles_are_kept_and_goes_on(tmp_path, command, real_cluster):
    zarr = pytest.importorskip("zarr")
    rng = np.random.default_rng(3)
    sharp = gaussian_filter(rng.random((1500, 1500), np.float32), 0.6)
    frames = np.stack([sharp, gaussian_filter(sharp, 2)])
    frames[:, :, 700:] = frames[::-1, :, 700:].copy()
    pixels = np.rint(255 * frames).astype(np.uint8)
    zarr.create_array(tmp_path / "stack.zarr", data=pixels, chunks=(1, 512, 512))

    output, part = tmp_path / "fused.ome.zarr", tmp_path / "fused.ome.zarr.part"

    def start():
        memory = ("--max-memory", "650MB")  # for small tiles
        scheduler = ("--scheduler", real_cluster.address)
        return command("fuse", tmp_path / "stack.zarr", "-o", output, *memory, *scheduler)

    first = start()
    wait_until(lambda: len(list(part.rglob("done-fuse-*.json"))) >= 2, first)
    first.send_signal(signal.SIGTERM)
    code, _, err = finish(first)
    assert (code, len(err.splitlines())) == (130, 1)
    assert str(part) in err
    assert not output.exists()
    code, _, err = finish(start())
    assert (code, err) == (0, "")
    fused = zarr.open_array(output / "0")
    assert np.array_equal(np.squeeze(fused[:]), pf.fuse(pixels).image)
    assert not part.exists()
