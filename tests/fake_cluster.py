"""A cluster that is none: what is given to it is done here and weighed on the way."""

import pickle
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import patch

MOST_BYTES = 10_000  # that a task may have on its way: names and numbers, no pixels


class FakeClient:
    """Takes what a client of Dask gets; notes the names of the work and the bytes of each task."""

    status = "running"

    def __init__(self, memory_limit):
        self.given = []
        self.memory_limit = memory_limit

    def submit(self, function, topic, needs, work, task, *, key, workers):
        size = len(pickle.dumps((function, topic, needs, work, task)))
        self.given.append((work.__name__, size))
        return SimpleNamespace(client=self, status="finished", result=lambda timeout: work(*task))

    def subscribe_topic(self, topic, handler): ...
    def nthreads(self, callback_timeout):
        return {"tcp://here": 1}

    def scheduler_info(self, n_workers):
        return {"workers": {"tcp://here": {"memory_limit": self.memory_limit, "nthreads": 1}}}

    def run(self, function, *arguments, workers, on_error, callback_timeout):
        return {worker: function(*arguments) for worker in workers}

    def cancel(self, futures): ...
    def close(self, timeout): ...


@contextmanager
def fake_cluster(memory_limit=0):
    """Let every address be that of such a cluster; yield a list of the connections that were made to it."""
    clients = []

    def connect(address):
        clients.append(FakeClient(memory_limit))
        return clients[-1]

    with patch("panfocus.parallel.connection.connect", connect):
        yield clients
