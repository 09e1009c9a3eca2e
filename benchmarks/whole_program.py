"""The command as a user runs it: wall time and peak memory of a 520 x 520 colour pair, and of --help."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._data import best_time, need_data

PANFOCUS = Path(sys.executable).with_name("panfocus")

# A process of its own: Linux counts to a child's peak memory what its parent had at the moment of the fork.
_LAUNCHER = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def run() -> dict[str, float]:
    """Measure each with compiled code cached, the pair also with an empty cache."""
    folder = need_data() / "lytro"
    with tempfile.TemporaryDirectory() as scratch:
        fuse = [PANFOCUS, "fuse", folder / "lytro-01-A.jpg", folder / "lytro-01-B.jpg", "--quiet", "--force"]
        fuse += ["-o", f"{scratch}/fused.png"]
        cold_time, cold_memory = _measure(fuse, NUMBA_CACHE_DIR=f"{scratch}/empty-cache")
        _measure(fuse)
        runs = [_measure(fuse) for _ in range(3)]
    bare = best_time(lambda: subprocess.run([sys.executable, "-c", "import typer, rich"], check=True))
    helped = best_time(lambda: subprocess.run([PANFOCUS, "--help"], check=True, stdout=subprocess.DEVNULL))
    return {
        "fuse_pair_time": min(seconds for seconds, _ in runs),
        "fuse_pair_memory": max(megabytes for _, megabytes in runs),
        "fuse_pair_cold_time": cold_time,
        "fuse_pair_cold_memory": cold_memory,
        "help_over_bare_import_time": helped / bare,
    }


def _measure(command: list[object], **environment: str) -> tuple[float, float]:
    """Run a command; return its wall time in seconds and its peak resident memory in MB."""
    launch = [sys.executable, "-c", _LAUNCHER, *map(str, command)]
    done = subprocess.run(launch, env=os.environ | environment, check=True, capture_output=True, text=True)
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes / 1000
