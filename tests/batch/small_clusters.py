"""Dask clusters of this machine, and the tasks of a batch that they are given."""

import pytest

from panfocus.batch import find
from panfocus.batch.run import plan
from panfocus.job.outputs import Outputs
from panfocus.job.request import Request

distributed = pytest.importorskip("distributed")


def two_workers(folder):
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="2GB",
        dashboard_address=None,
        local_directory=str(folder),
        silence_logs=50,
    )


def planned(data, output):
    """Return the tasks of a batch, with no settings."""
    stacks = find.by_folders(data, without=output).stacks
    like = Request(inputs=(), outputs=Outputs())
    return plan(stacks, output, like, folder=data, file_format="png", maps=())
