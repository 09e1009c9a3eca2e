"""Where the image sets are, how long a call takes, and what a process needs."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PANFOCUS_DATA", ROOT.parent / "shared" / "data"))

# A process of its own: Linux counts to a child's peak memory what its parent had at the moment of the fork.
_LAUNCHER = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def need_data() -> Path:
    """Return the folder of the image sets, or end with a line that says what is missing."""
    if not DATA.is_dir():
        sys.exit(f"no image sets in {DATA}: set PANFOCUS_DATA to their folder")
    return DATA


def best_time(call: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the shortest of several runs in seconds, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def measure_process(command: Sequence[object], **environment: str) -> tuple[float, float]:
    """Run a command; return its wall time in seconds and its peak resident memory in MB."""
    launch = [sys.executable, "-c", _LAUNCHER, *map(str, command)]
    done = subprocess.run(launch, env=os.environ | environment, check=True, capture_output=True, text=True)
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes / 1000
