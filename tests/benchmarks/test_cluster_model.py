"""The model of a cluster's time, by small cases computed by hand."""

import pytest
from benchmarks.cluster_model import Cluster, Stage, predict

STAGE = Stage(tasks=10, read=1, compute=7, write=2, bytes_read=400, bytes_written=100)


@pytest.mark.parametrize(
    ("workers", "cores", "seconds", "share"),
    [
        (1, 1, 100, 1),  # one after another
        (2, 2, 50, 1),
        (4, 4, 30, 100 / 120),  # four, four and two of them
        (4, 2, 50, 1),  # two cores have as much to do as before: the last two tasks have one each
        (16, 16, 10, 100 / 160),  # six have nothing to do
    ],
)
def test_equal_tasks_take_whole_rounds(workers, cores, seconds, share):
    found = predict([STAGE], Cluster(workers, cores), client=0)
    assert found.seconds == pytest.approx(seconds)
    assert found.limit == "workers"
    if workers <= cores:
        assert found.share == pytest.approx(share)


def test_start_and_client_add_time_and_lower_the_share():
    found = predict([STAGE, STAGE], Cluster(2, 2, start=3), client=7)
    assert found.seconds == pytest.approx(7 + 3 + 50 + 50)
    assert found.share == pytest.approx(100 / 110)
    crowded = predict([STAGE], Cluster(4, 2, start=3), client=7)
    assert crowded.seconds == pytest.approx(7 + 2 * 3 + 50)  # two workers load on each core


@pytest.mark.parametrize(
    ("cluster", "seconds", "limit"),
    [
        (Cluster(10, 10, per_task=2), 20, "scheduler"),  # ten tasks, one after another
        (Cluster(10, 10, bandwidth=20), 25, "store"),  # 500 bytes
        (Cluster(10, 10, per_task=0.5, bandwidth=100), 10, "workers"),
    ],
)
def test_shared_resources_limit_the_workers(cluster, seconds, limit):
    found = predict([STAGE], cluster, client=0)
    assert (found.seconds, found.limit) == (pytest.approx(seconds), limit)


def test_share_is_the_busy_time_of_the_workers():
    pytest.importorskip("distributed")
    from benchmarks.local_cluster import Run

    run = Run(seconds=50, tasks=10, working=80, processor=70, peaks=())
    assert run.share(2) == pytest.approx(0.8)
    assert run.share(4) == pytest.approx(0.4)
