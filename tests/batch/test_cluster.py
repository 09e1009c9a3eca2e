"""Batches on a Dask cluster of this machine: workers die, connections are cut, files are damaged."""

import json
import logging
import os
import pickle
import signal
import socket
import threading
import time
from contextlib import closing, contextmanager, suppress

import pytest
from small_clusters import distributed, two_workers
from stacks import check_complete, damage, finish, n_finished, planned, write_stacks
from waits import HAPPENED, fuse_and_wait, wait_until

from fake_cluster import MOST_BYTES, fake_cluster
from panfocus import parallel
from panfocus.batch.batch_run import batch_folder, finished_before, plan, run_batch
from panfocus.errors import InputError, PanfocusError
from panfocus.job.request import Outputs, Request
from panfocus.parallel.processes import Lost
from panfocus.parallel.workers import Crew

N_STACKS = 40


class Proxy:
    """Stands between client and scheduler: it can be cut, all its connections at once, and mended."""

    def __init__(self, target):
        self._target = target
        self._open = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cuts += len(self._open)
        for end in self._open:
            with closing(end), suppress(OSError):  # the other end may have gone already
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def mend(self):
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass_on(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


@pytest.fixture(scope="module")
def local_cluster(tmp_path_factory):
    with two_workers(tmp_path_factory.mktemp("dask")) as started:
        yield started


@contextmanager
def in_the_middle(output, happen):
    """Let something happen when a quarter of the stacks is done."""
    raised = []

    def wait():
        try:
            wait_until(lambda: n_finished(output) >= N_STACKS // 4)
            happen()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()
    assert not raised


def test_40_stacks_with_a_killed_worker_a_cut_connection_and_a_damaged_file(
    local_cluster, tmp_path, monkeypatch
):
    data, output = tmp_path / "data", tmp_path / "out"
    names = [f"well-{i:02}" for i in range(N_STACKS)]
    write_stacks(data, names)
    damage(data / "well-07" / "b.png")
    host, port = local_cluster.scheduler_address.removeprefix("tcp://").split(":")
    proxy = Proxy((host, int(port)))
    killed = next(iter(local_cluster.workers.values())).pid

    def happen():
        os.kill(killed, signal.SIGKILL)
        proxy.cut()
        wait_until(lambda: said)
        proxy.mend()
        (tmp_path / HAPPENED).touch()

    said, warned = [], []
    monkeypatch.setattr("panfocus.batch.batch_run.fuse_stack", fuse_and_wait)
    tasks = planned(data, output)
    address = f"tcp://127.0.0.1:{proxy.port}"
    with (
        parallel.connected(address, said.append) as connection,
        batch_folder(output, names),
        in_the_middle(output, happen),
    ):
        outcomes = run_batch(tasks, done=[], warn=warned.append, progress=lambda *_: None, cluster=connection)
    assert proxy.cuts
    assert said[0].startswith("lost the connection to the scheduler")
    assert said[-1].startswith("connected again; ")
    assert killed not in [worker.pid for worker in local_cluster.workers.values()]  # but another
    (warning,) = warned
    assert warning.startswith("well-07: ") and "b.png: cut off" in warning
    assert [outcome.name for outcome in outcomes] == names
    # Nothing twice: a result that was there when a stack was given out again was taken, not made.
    fused = [name for name in (tmp_path / "fused.txt").read_text().split() if name != "well-07"]
    assert len(fused) == len(set(fused))
    check_complete(data, output, tmp_path, damaged={"well-07"})
    summary = json.loads((output / "summary.json").read_text())
    assert summary["counts"] == {"done": N_STACKS - 1, "failed": 1, "waiting": 0}
    # All is known to be done, and nothing is left but the damaged one.
    assert len(finished_before(tasks, force=False)) == N_STACKS - 1


def test_a_stack_that_is_given_to_a_cluster_is_names_and_no_pixels(tmp_path, run):
    write_stacks(tmp_path / "data", ["a"])  # a single one goes there too
    with fake_cluster() as clients:
        ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", "--scheduler", "tcp://far:8786")
    assert (ran.code, ran.err) == (0, "")
    (client,) = clients
    ((work, size),) = client.given
    assert work == "fuse_stack"
    assert size < MOST_BYTES


def test_a_task_grows_with_the_names_of_its_files_alone(tmp_path):
    """Of a hundred frames of 50 megapixels, too: its size is that of their names, and a page of settings."""
    files = tuple(tmp_path / f"frame-{i:03}.tif" for i in range(100))
    (task,) = plan(
        {"a": files},
        tmp_path,
        Request(inputs=(), outputs=Outputs()),
        folder=tmp_path,
        file_format="png",
        maps=(),
    )
    names = sum(len(str(path)) for path in files)
    assert len(pickle.dumps(task)) < 2 * names + 4000


def performed(work, tasks, address):
    with parallel.connected(address, print) as connection:
        return dict(connection.perform(work, tasks))


def die(number):
    if number == 1:
        time.sleep(0.5)  # a worker that is killed while it starts is not started again
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_a_task_that_kills_its_workers_is_lost_and_no_other(tmp_path):
    """Dask gives it up when it was suspected more than three times, and it is tried twice."""
    with two_workers(tmp_path) as started:
        tasks = [(n,) for n in range(4)]
        found = performed(die, tasks, started.scheduler_address)
    assert found == {0: 0, 1: Lost(2 * (3 + 1)), 2: 4, 3: 6}


@pytest.mark.parametrize(
    ("on_cluster", "remedy"),
    [
        (False, "try it again with fewer --workers, or with --max-memory"),
        (True, "try it again with workers that have more memory, or with --max-memory"),
    ],
)
def test_what_helps_a_lost_stack_depends_on_who_was_at_it(tmp_path, monkeypatch, on_cluster, remedy):
    """`--scheduler` refuses `--workers`."""
    write_stacks(tmp_path / "data", ["a"])
    (task,) = planned(tmp_path / "data", tmp_path / "out")
    monkeypatch.setattr("panfocus.batch.batch_run.perform", lambda *_, **__: iter([(0, Lost(4))]))
    with batch_folder(tmp_path / "out", ["a"]), fake_cluster():
        connection = parallel.Cluster("tcp://far:8786", print) if on_cluster else None
        (outcome,) = run_batch(
            [task], done=[], warn=print, progress=lambda *_: None, cluster=connection, processes=1
        )
    assert outcome.error == f"4 worker processes died at it, perhaps for lack of memory; {remedy}"


def test_a_worker_takes_no_more_memory_than_its_share(local_cluster):
    """Of 2 GB: Dask moves things to the disk from 70 % on."""
    assert performed(parallel.memory_of_task, [()], local_cluster.scheduler_address) == {0: 1_400_000_000}
    assert parallel.memory_of_task() is None  # here, where no worker is


def hold(folder, number, held):
    """Wait, the first time, until somebody has cancelled it."""
    if number in held and not (folder / "cancelled").exists():
        (folder / f"begun-{number}").touch()
        wait_until((folder / "cancelled").exists)
    return 2 * number


@pytest.mark.parametrize("held", [{1}, {0, 1}], ids=["one of two", "all"])
def test_a_task_that_somebody_cancels_is_begun_again_over_the_same_connection(local_cluster, tmp_path, held):
    def cancel():
        def processing():
            tasks = list(local_cluster.scheduler.tasks.values())
            return [task.key for task in tasks if task.key.startswith("hold-") and task.state == "processing"]

        wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == len(held))
        wait_until(lambda: len(processing()) == len(held))  # the other one may not be done yet
        with distributed.Client(local_cluster.scheduler_address, set_as_default=False) as other:
            other.cancel([distributed.Future(key, other) for key in processing()], force=True)
        (tmp_path / "cancelled").touch()

    said = []
    thread = threading.Thread(target=cancel)
    thread.start()
    with parallel.connected(local_cluster.scheduler_address, said.append) as connection:
        found = dict(connection.perform(hold, [(tmp_path, n, held) for n in range(2)]))
    thread.join()
    assert (found, said) == ({0: 0, 1: 2}, [])


def test_it_is_told_once_that_all_workers_have_gone_and_once_that_some_are_back(tmp_path, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.workers.SECONDS_BETWEEN_CALLS", 0.1)
    said, looks = [], []
    look = Crew.look
    monkeypatch.setattr(Crew, "look", lambda self, client: looks.append(look(self, client)))

    def go_and_come_back():
        wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
        started.scale(0)
        wait_until(lambda: said)
        (tmp_path / "cancelled").touch()
        n_looks = len(looks)
        wait_until(lambda: len(looks) > n_looks + 3)
        started.scale(2)

    with two_workers(tmp_path) as started:
        address = started.scheduler_address
        thread = threading.Thread(target=go_and_come_back)
        thread.start()
        with parallel.connected(address, said.append) as connection:
            found = dict(connection.perform(hold, [(tmp_path, n, {0, 1}) for n in range(2)]))
        thread.join()
    assert found == {0: 0, 1: 2}
    assert said == [
        f"the scheduler at {address} has no workers any more; waiting for them",
        "there are workers; the work goes on",
    ]


def compile_something(number):
    logging.getLogger("panfocus._numba").info("compiling for this machine")
    return number


def test_it_is_told_once_that_workers_compile(local_cluster, caplog):
    caplog.set_level(logging.INFO, "panfocus._numba")
    assert len(performed(compile_something, [(n,) for n in range(4)], local_cluster.scheduler_address)) == 4
    assert [record.getMessage() for record in caplog.records if record.name == "panfocus._numba"] == [
        "on the workers: compiling for this machine"
    ]


def double(number):
    return 2 * number


def test_a_scheduler_that_stays_away_ends_the_run_with_one_line(local_cluster, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.connection.SECONDS_TO_ANSWER", 1.0)
    monkeypatch.setattr("panfocus.parallel.connection.SECONDS_LOST", 0.0)
    host, port = local_cluster.scheduler_address.removeprefix("tcp://").split(":")
    proxy = Proxy((host, int(port)))
    with parallel.connected(f"tcp://127.0.0.1:{proxy.port}", print) as connection:
        results = connection.perform(double, ((n,) for n in range(3000)))
        next(results)
        proxy.cut()
        with pytest.raises(
            PanfocusError, match=r"has not answered for .* the same command goes on from there"
        ):
            list(results)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://here"])
def test_no_scheduler_is_one_line_that_says_what_to_do(address, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.connection.SECONDS_TO_ANSWER", 0.5)
    with pytest.raises(InputError, match=f"--scheduler {address}: no Dask scheduler answers.*dask scheduler"):
        parallel.connect(address)


def test_a_wrong_address_is_told_before_anything_is_written(tmp_path, run, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.connection.SECONDS_TO_ANSWER", 0.5)
    write_stacks(tmp_path / "data", ["a"])
    ran = run("batch", tmp_path / "data", "-o", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert ran.code == 1
    assert "no Dask scheduler answers there" in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["localhost", "nonsense://here"])
def test_what_is_no_address_is_told_in_one_line_and_nothing_follows(tmp_path, command, address):
    write_stacks(tmp_path / "data", ["a"])
    process = command("batch", tmp_path / "data", "-o", tmp_path / "out", "--scheduler", address)
    code, _, err = finish(process)
    assert code == 1
    assert err.startswith(f"panfocus: --scheduler {address}: no Dask scheduler answers there; ")
    assert err.count("\n") == 1, err
