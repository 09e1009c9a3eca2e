"""Tasks on a Dask cluster of this machine: workers die or cannot be used, connections are cut."""

import logging
import os
import platform
import signal
import socket
import threading
import time
from contextlib import ExitStack, closing, suppress
from unittest.mock import Mock

import pytest

import small_clusters as clusters
from panfocus.errors import FileError, InputError, NotEnoughMemoryError, PanfocusError
from panfocus.parallel import Cluster, LostTaskError, run_tasks, worker_task_memory
from small_clusters import distributed
from waits import wait_until


class Proxy:
    """Passes data between client and scheduler. All its connections can be cut at once."""

    def __init__(self, address):
        host, port = address.removeprefix("tcp://").split(":")
        self._target = host, int(port)
        self._open = []
        self._listen(0)
        self.port = self._listener.getsockname()[1]

    @property
    def address(self):
        return f"tcp://127.0.0.1:{self.port}"

    def cut(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        assert self._open
        for end in self._open:
            with closing(end), suppress(OSError):  # the other end may have closed it
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def restore(self):
        self._listen(self.port)

    def _listen(self, port):
        self._listener = socket.create_server(("127.0.0.1", port))
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
                threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source, sink):
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def notices():
    return []


@pytest.fixture
def connect(notices):
    """Connect to a cluster, or to an address."""
    with ExitStack() as stack:

        def connect(cluster):
            address = cluster if isinstance(cluster, str) else cluster.scheduler_address
            return stack.enter_context(closing(Cluster(address, notices.append)))

        yield connect


def double(number):
    return 2 * number


def wait_and_double(folder, number):
    (folder / f"started-{number}").touch()
    wait_until((folder / "go").exists)
    return 2 * number


def n_started(folder):
    return len(list(folder.glob("started-*")))


def test_killed_worker_and_cut_connection_lose_no_task(small_cluster, tmp_path, connect, notices):
    proxy = Proxy(small_cluster.scheduler_address)
    results = run_tasks(wait_and_double, [(tmp_path, n) for n in range(6)], cluster=connect(proxy.address))
    done = []
    thread = threading.Thread(target=lambda: done.extend(results))
    thread.start()
    wait_until(lambda: n_started(tmp_path) == 2)
    proxy.cut()
    wait_until(lambda: notices)
    os.kill(next(iter(small_cluster.workers.values())).pid, signal.SIGKILL)
    proxy.restore()
    (tmp_path / "go").touch()
    thread.join(timeout=300)
    assert sorted(done) == [(i, 2 * i) for i in range(6)]


def die(number):
    if number == 1:
        time.sleep(0.5)  # a worker that is killed while it starts is not started again
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_only_the_task_that_kills_its_workers_is_lost(small_cluster, connect):
    results = dict(run_tasks(die, [(n,) for n in range(4)], cluster=connect(small_cluster)))
    lost = results.pop(1)
    assert isinstance(lost, LostTaskError)
    assert lost.facts == {"deaths": 1}
    assert results == {0: 0, 2: 4, 3: 6}


def test_task_that_somebody_cancels_is_repeated(small_cluster, tmp_path, connect, notices):
    def cancel():
        wait_until(lambda: n_started(tmp_path) == 1)
        with distributed.Client(small_cluster.scheduler_address, set_as_default=False) as other:
            keys = [key for keys in other.processing().values() for key in keys]
            other.cancel([distributed.Future(key, other) for key in keys], force=True)
        (tmp_path / "go").touch()

    thread = threading.Thread(target=cancel)
    thread.start()
    assert list(run_tasks(wait_and_double, [(tmp_path, 7)], cluster=connect(small_cluster))) == [(0, 14)]
    thread.join()
    assert notices == []


def fail(error):
    raise error


@pytest.mark.parametrize("error", [FileError("a.png: The file is truncated.", file="a.png"), KeyError("a")])
def test_error_of_a_task_is_raised(small_cluster, connect, error):
    with pytest.raises(type(error)) as caught:
        list(run_tasks(fail, [(error,)], cluster=connect(small_cluster)))
    assert caught.value.args == error.args


def test_task_that_the_cluster_cannot_import_is_an_error(small_cluster, connect):
    with pytest.raises(PanfocusError) as caught:
        list(run_tasks(fail, [(ModuleNotFoundError("panfocus.new"),)], cluster=connect(small_cluster)))
    assert caught.value.facts["scheduler"] == small_cluster.scheduler_address


def test_runs_over_one_connection_check_workers_once(small_cluster, connect, notices):
    connection = connect(small_cluster)
    with clusters.spoiled(small_cluster, clusters.change_version, clusters.restore_version):
        for _ in range(2):
            assert [*run_tasks(double, [(1,)], cluster=connection)] == [(0, 2)]
    assert len(notices) == 1


def test_task_may_use_70_percent_of_the_worker_memory(small_cluster, connect):
    assert list(run_tasks(worker_task_memory, [()], cluster=connect(small_cluster))) == [(0, 1_400_000_000)]
    assert worker_task_memory() is None  # not on a worker


def need(n_bytes):
    has = worker_task_memory()
    if has < n_bytes:
        raise NotEnoughMemoryError("Too small.", needed=n_bytes)
    return has


def test_large_task_goes_to_a_worker_with_more_memory(tmp_path, connect, notices):
    with clusters.start_cluster(tmp_path, "600MB", "2GB") as cluster:
        connection = connect(cluster)
        found = dict(run_tasks(need, [(10**9,)] * 4, cluster=connection))
        assert found == dict.fromkeys(range(4), 1_400_000_000)
        ((_, error),) = run_tasks(need, [(10**10,)], cluster=connection)
    assert isinstance(error, NotEnoughMemoryError)
    assert error.facts["needed"] == 10**10
    assert notices == []


@pytest.mark.parametrize(
    ("spoil", "restore", "fault"),
    [
        (clusters.change_version, clusters.restore_version, "0.0.9"),
        (clusters.hide_data, clusters.show_data, "data"),
        (clusters.hide_panfocus, clusters.show_modules, "panfocus"),
        (clusters.hide_zarr, clusters.show_modules, "zarr"),
    ],
)
def test_worker_that_cannot_be_used_is_named_once(
    small_cluster, tmp_path, connect, notices, spoil, restore, fault
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.png").touch()
    needs = {"paths": [tmp_path / "data"], "modules": ["zarr"]}
    with clusters.spoiled(small_cluster, spoil, restore):
        results = run_tasks(os.getpid, [()] * 8, cluster=connect(small_cluster), **needs)
        assert len({pid for _, pid in results}) == 1
    (notice,) = notices
    assert platform.node() in notice and fault in notice
    with (
        clusters.spoiled(small_cluster, spoil, restore, n_workers=2),
        pytest.raises(PanfocusError) as caught,
    ):
        list(run_tasks(os.getpid, [()], cluster=connect(small_cluster), **needs))
    assert fault in caught.value.message


def test_worker_with_other_libraries_is_used_and_named(small_cluster, connect, notices):
    with clusters.spoiled(
        small_cluster, clusters.change_numba_version, clusters.restore_numba_version, n_workers=2
    ):
        assert len([*run_tasks(double, [(1,), (2,)], cluster=connect(small_cluster))]) == 2
    (notice,) = notices
    assert "numba 0.60.0" in notice


@pytest.mark.parametrize(
    ("error", "status", "lost"),
    [
        (distributed.comm.CommClosedError(), "running", True),
        (TimeoutError(), "running", True),
        (KeyError("workers"), "closing", True),
        (TypeError("unexpected keyword"), "running", False),
    ],
)
def test_only_errors_of_a_lost_connection_are_suppressed(monkeypatch, error, status, lost):
    client = Mock(status=status, scheduler_info=Mock(side_effect=error))
    monkeypatch.setattr(Cluster, "_connect", lambda _: client)
    workers = Cluster("tcp://far:8786", print).workers
    if lost:
        assert workers() == {}
    else:
        with pytest.raises(type(error)):
            workers()


def test_waiting_for_workers_is_reported_once(tmp_path, monkeypatch, connect, notices):
    monkeypatch.setattr("panfocus.parallel.cluster.UPDATE_INTERVAL", 0.1)

    def remove_and_add_workers():
        wait_until(lambda: n_started(tmp_path) == 1)
        cluster.scale(0)
        wait_until(lambda: notices)
        (tmp_path / "go").touch()
        cluster.scale(1)

    with clusters.start_cluster(tmp_path, "2GB") as cluster:
        cluster.new_spec = cluster.worker_spec[0]
        thread = threading.Thread(target=remove_and_add_workers)
        thread.start()
        results = run_tasks(wait_and_double, [(tmp_path, 5)], cluster=connect(cluster))
        assert list(results) == [(0, 10)]
        thread.join()
    assert len(notices) == 2


def report_pid(folder, number):
    """Return at once in the first task; in others wait until its worker is gone."""
    (folder / f"started-{number}").touch()
    if n_started(folder) > 1:
        wait_until((folder / "go").exists)
    return os.getpid()


def test_new_worker_takes_over_from_the_only_usable_one(small_cluster, tmp_path, monkeypatch, connect):
    monkeypatch.setattr("panfocus.parallel.cluster.UPDATE_INTERVAL", 0.1)
    with clusters.spoiled(small_cluster, clusters.change_version, clusters.restore_version):
        results = run_tasks(report_pid, [(tmp_path, n) for n in range(4)], cluster=connect(small_cluster))
        _, first = next(results)
        os.kill(first, signal.SIGKILL)
        (tmp_path / "go").touch()
        pids = {pid for _, pid in results}
    assert pids and first not in pids
    assert n_started(tmp_path) == 4


def compile_code(number):
    logging.getLogger("panfocus._numba").info("compiling")
    return number


def test_compiling_on_workers_is_reported_once(small_cluster, connect, caplog):
    caplog.set_level(logging.INFO, "panfocus._numba")
    assert len([*run_tasks(compile_code, [(n,) for n in range(4)], cluster=connect(small_cluster))]) == 4
    assert len([record for record in caplog.records if record.name == "panfocus._numba"]) == 1


def test_scheduler_that_stays_away_ends_the_run(small_cluster, tmp_path, monkeypatch, connect):
    monkeypatch.setattr("panfocus.parallel.cluster.TIMEOUT", 1.0)
    monkeypatch.setattr("panfocus.parallel.cluster.RECONNECT_TIMEOUT", 0.0)
    proxy = Proxy(small_cluster.scheduler_address)
    connection = connect(proxy.address)

    def cut():
        wait_until(lambda: n_started(tmp_path) == 1)
        proxy.cut()

    thread = threading.Thread(target=cut)
    thread.start()
    with pytest.raises(PanfocusError) as caught:
        list(run_tasks(wait_and_double, [(tmp_path, 1)], cluster=connection))
    (tmp_path / "go").touch()
    thread.join()
    assert caught.value.facts["scheduler"] == proxy.address


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://here", "localhost"])
def test_address_without_a_scheduler_is_an_input_error(address, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.cluster.TIMEOUT", 0.5)
    with pytest.raises(InputError) as caught:
        Cluster(address, print)
    assert caught.value.facts == {"setting": "scheduler", "got": address}
