"""Workers of a cluster that cannot do the work, or not all of it: left out, or given what they can."""

import os
import platform
import sys
import time

import numba
import pytest
from small_clusters import distributed, two_workers
from stacks import check_complete, n_finished, planned, write_stacks
from waits import wait_until

from panfocus import parallel
from panfocus.batch.batch_run import batch_folder, run_batch
from panfocus.errors import PanfocusError


def of_another_version():
    import panfocus

    panfocus.__version__ = "0.0.9"


def without_the_pictures():
    """Nothing is mounted where they are."""
    from panfocus.parallel import on_worker

    on_worker.sees = lambda path: not path.endswith("data")


def without_panfocus():
    for name in [name for name in sys.modules if name.split(".")[0] == "panfocus"]:
        del sys.modules[name]
    sys.modules["panfocus"] = None


def without_zarr():
    sys.modules["zarr"] = None


def fused_by(started, data, output):
    """Run a batch on a cluster; return what came of it, what was warned of, and what was said."""
    said, warned = [], []
    tasks = planned(data, output)
    with (
        parallel.connected(started.scheduler_address, said.append) as connection,
        batch_folder(output, [task.name for task in tasks]),
    ):
        outcomes = run_batch(tasks, done=[], warn=warned.append, progress=lambda *_: None, cluster=connection)
    return outcomes, warned, said


def make_unfit(started, spoil, which):
    with distributed.Client(started.scheduler_address, set_as_default=False) as client:
        addresses = sorted(client.nthreads())[which]
        client.run(spoil, workers=addresses)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (of_another_version, "has panfocus 0.0.9, needed is "),
        (without_the_pictures, "does not see "),
        (without_panfocus, "cannot load panfocus (No module named 'panfocus"),
    ],
)
def test_a_worker_that_is_not_fit_is_left_out_and_named_once(tmp_path, spoil, fault):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i}" for i in range(8)])
    with two_workers(tmp_path) as started:
        make_unfit(started, spoil, slice(1))
        outcomes, warned, said = fused_by(started, data, output)
    assert (warned, [outcome.error for outcome in outcomes]) == ([], [None] * 8)
    (line,) = said
    assert line.startswith(
        f"a worker on {platform.node()} is left out, and so are others like it: it {fault}"
    )
    check_complete(data, output, tmp_path, damaged=())


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [(of_another_version, "has panfocus 0.0.9"), (without_panfocus, "cannot load panfocus")],
)
def test_without_a_fit_worker_the_run_ends_with_one_line(tmp_path, spoil, fault):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b", "c"])
    with two_workers(tmp_path) as started:
        make_unfit(started, spoil, slice(2))
        with pytest.raises(PanfocusError, match=f"no worker is fit for the work; one on .* {fault}"):
            fused_by(started, data, output)
    assert n_finished(output) == 0


def with_an_older_numba():
    import importlib.metadata

    version = importlib.metadata.version
    importlib.metadata.version = lambda name: "0.60.0" if name == "numba" else version(name)


def test_of_workers_with_other_libraries_it_is_said_once_and_they_do_work(tmp_path):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b", "c"])
    with two_workers(tmp_path) as started:
        make_unfit(started, with_an_older_numba, slice(2))
        outcomes, warned, said = fused_by(started, data, output)
    assert (warned, [outcome.error for outcome in outcomes]) == ([], [None] * 3)
    assert said == [
        f"a worker on {platform.node()} has numba 0.60.0 (here {numba.__version__}): its results, and those "
        "of others like it, may differ in their last bits"
    ]


def open_with_zarr(number):
    from panfocus.io.ome_zarr import import_zarr

    time.sleep(0.1)
    import_zarr()
    return number


def test_a_worker_without_a_library_that_the_work_takes_is_left_out(tmp_path):
    said = []
    with two_workers(tmp_path) as started:
        make_unfit(started, without_zarr, slice(1))
        with parallel.connected(started.scheduler_address, said.append) as connection:
            assert dict(connection.perform(open_with_zarr, [(n,) for n in range(8)])) == {
                n: n for n in range(8)
            }
    (line,) = said
    assert "it lacks a library (OME-Zarr needs zarr 3" in line


def of_two_sizes(folder, *limits):
    """Return a cluster with a worker for each limit of memory."""
    return distributed.SpecCluster(
        scheduler={"cls": distributed.Scheduler, "options": {"dashboard": False}},
        workers={
            limit: {
                "cls": distributed.Nanny,
                "options": {"memory_limit": limit, "nthreads": 1, "local_directory": str(folder)},
            }
            for limit in limits
        },
        silence_logs=50,
    )


def test_a_stack_for_which_a_worker_has_not_the_memory_goes_to_one_that_has(tmp_path):
    """70 % of 600 MB are less than the program takes."""
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, [f"well-{i}" for i in range(6)])
    with of_two_sizes(tmp_path, "600MB", "2GB") as started:
        outcomes, warned, said = fused_by(started, data, output)
    assert (warned, said, [outcome.error for outcome in outcomes]) == ([], [], [None] * 6)
    check_complete(data, output, tmp_path, damaged=())


def test_a_stack_for_which_no_worker_has_the_memory_fails_and_names_their_limit(tmp_path):
    data, output = tmp_path / "data", tmp_path / "out"
    write_stacks(data, ["a", "b", "c"])
    with of_two_sizes(tmp_path, "600MB", "610MB") as started:
        outcomes, warned, said = fused_by(started, data, output)
    assert (said, len(warned)) == ([], 3)
    for outcome in outcomes:
        assert "more than the 4" in outcome.error
        assert "MB that the limit of a worker leaves for a task; give workers more" in outcome.error


def report_where(folder, number):
    """Return at once if no other has begun; else wait until the worker of the first has gone."""
    (folder / f"begun-{number}").touch()
    if len(list(folder.glob("begun-*"))) > 1:
        wait_until((folder / "gone").exists)
    return os.getpid()


def test_a_fit_worker_that_joins_later_takes_over_from_one_that_goes(tmp_path, monkeypatch):
    monkeypatch.setattr("panfocus.parallel.workers.SECONDS_BETWEEN_CALLS", 0.1)
    with two_workers(tmp_path) as started:
        make_unfit(started, of_another_version, slice(1))
        with parallel.connected(started.scheduler_address, print) as connection:
            results = connection.perform(report_where, [(tmp_path, n) for n in range(10)])
            _, first = next(results)
            with distributed.Client(started.scheduler_address, set_as_default=False) as client:
                client.run(os._exit, 1, workers=sorted(client.nthreads())[1:], on_error="ignore")
            (tmp_path / "gone").touch()
            pids = {pid for _, pid in results}
    assert pids and first not in pids  # the nanny has started another in its place
    assert len(list(tmp_path.glob("begun-*"))) == 10
