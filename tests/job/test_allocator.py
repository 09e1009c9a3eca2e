"""Freed memory: kept while a worker's task lasts, given back after it."""

import os
import subprocess
import sys

import pytest

MEASURED = """
import resource
import numpy as np
from panfocus._memory import reuse_freed_memory

def faults(work):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def held():
    return 4096 * int(open("/proc/self/statm").read().split()[1])

def arrays():
    for _ in range(20):
        np.ones(3 << 20)  # 24 MB, which the system would clear anew each time

plain = faults(arrays)
with reuse_freed_memory():
    arrays()
    print(faults(arrays) < plain / 5)
    kept = held()
print(held() < kept - (10 << 20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="of the C library of Linux")
def test_a_worker_keeps_what_is_free_while_it_works_and_gives_it_back_then():
    """As Dask starts its workers: they give back at once whatever they can."""
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True"]
