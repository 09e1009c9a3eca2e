"""A cluster without workers: tasks run in this process, and their sizes are recorded."""

import pickle
from contextlib import contextmanager
from unittest.mock import patch

from panfocus.parallel.cluster import WorkerMemory

MAX_TASK_BYTES = 10_000  # names and numbers, no pixels


class FakeCluster:
    """Stands in for `panfocus.parallel.Cluster`; `tasks` has the function's name and bytes of each task."""

    def __init__(self, memory_limit):
        self.tasks = []
        self.memory_limit = memory_limit

    def run_tasks(self, function, tasks, paths=(), modules=()):
        for i, task in enumerate(tasks):
            self.tasks.append((function.__name__, len(pickle.dumps((function, task)))))
            yield i, function(*task)

    def smallest_worker(self):
        return WorkerMemory(self.memory_limit, threads=1) if self.memory_limit else None

    def close(self): ...


@contextmanager
def fake_cluster(memory_limit=0):
    """Replace clusters by a fake one with this memory limit in bytes; yield the fake one."""
    cluster = FakeCluster(memory_limit)
    with patch("panfocus.parallel.cluster.Cluster", lambda *_: cluster):
        yield cluster
