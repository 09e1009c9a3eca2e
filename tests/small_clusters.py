"""Dask clusters on this machine, and workers that cannot be used."""

import sys
from contextlib import contextmanager

import pytest

distributed = pytest.importorskip("distributed")


@contextmanager
def start_cluster(folder, *limits):
    """Start a scheduler, and a worker process with one thread for each memory limit."""
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # a killed task is lost sooner
        distributed.SpecCluster(
            scheduler={
                "cls": distributed.Scheduler,
                "options": {"dashboard": False, "dashboard_address": ":0"},
            },
            workers={
                i: {
                    "cls": distributed.Nanny,
                    "options": {
                        "memory_limit": limit,
                        "nthreads": 1,
                        "local_directory": str(folder),
                        "silence_logs": 50,
                    },
                }
                for i, limit in enumerate(limits)
            },
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


@contextmanager
def spoiled(cluster, spoil, restore, n_workers=1):
    """Run a function on some workers of a cluster, and another one after the block."""
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(2)
        addresses = sorted(client.nthreads())[:n_workers]
        client.run(spoil, workers=addresses)
        try:
            yield
        finally:
            client.run(restore, workers=addresses)


def change_version():
    import panfocus

    panfocus.true_version, panfocus.__version__ = panfocus.__version__, "0.0.9"


def restore_version():
    import panfocus

    panfocus.__version__ = panfocus.true_version


def hide_data():
    """Pretend that nothing is mounted at folders named data."""
    from pathlib import Path

    Path.true_exists = Path.exists
    Path.exists = lambda path: path.name != "data" and path.true_exists()


def show_data():
    from pathlib import Path

    Path.exists = Path.true_exists


def hide_module(name):
    sys.hidden = {key: sys.modules.pop(key) for key in [*sys.modules] if key.partition(".")[0] == name}
    sys.modules[name] = None


def hide_panfocus():
    hide_module("panfocus")


def hide_zarr():
    hide_module("zarr")


def show_modules():
    for name in [name for name, module in sys.modules.items() if module is None]:
        del sys.modules[name]
    sys.modules.update(sys.hidden)


def change_numba_version():
    import importlib.metadata

    true_version = importlib.metadata.version
    importlib.metadata.version = lambda name: "0.60.0" if name == "numba" else true_version(name)
    importlib.metadata.true_version = true_version


def restore_numba_version():
    import importlib.metadata

    importlib.metadata.version = importlib.metadata.true_version
