"""Dask clusters of this machine."""

import pytest

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
