"""Where the image sets are, how long a call takes, what a process needs, and where figures are kept."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PANFOCUS_DATA", ROOT.parent / "shared" / "data"))
LATEST = ROOT / "benchmarks" / "results" / "latest.json"

# A process of its own: Linux counts to a child's peak memory what its parent had at the moment of the fork.
# What the command prints is not wanted; of what it complains about, the last is kept.
_LAUNCHER = """
import os, subprocess, sys, time
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - began, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""

Name = TypeVar("Name", bound=Hashable)


class Cost(NamedTuple):
    """What a process needs: wall time, and peak resident memory in MB."""

    seconds: float
    megabytes: float


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


def measure_process(command: Sequence[object], **environment: str) -> Cost:
    """Run a command; one that fails is an error with the last line it wrote to stderr."""
    launch = [sys.executable, "-c", _LAUNCHER, *map(str, command)]
    done = subprocess.run(launch, env=os.environ | environment, check=False, capture_output=True, text=True)
    if done.returncode:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{' '.join(map(str, command[:4]))} ... failed: {last_line}")
    seconds, kibibytes = map(float, done.stdout.split())
    return Cost(seconds, kibibytes * 1024 / 1e6)


def measure_in_turns(commands: Mapping[Name, Sequence[object]], *, repeats: int = 3) -> dict[Name, Cost]:
    """Run commands A B C A B C ..., so that a noisy machine is noisy for all; median time, largest peak."""
    costs: dict[Name, list[Cost]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            costs[name].append(measure_process(command))
    return {
        name: Cost(statistics.median(cost.seconds for cost in each), max(cost.megabytes for cost in each))
        for name, each in costs.items()
    }


def print_figures(figures: Mapping[str, float]) -> None:
    """Print one figure a line."""
    for name, value in figures.items():
        print(f"  {name:46} {value:12,.4g}")


def save_figures(figures: Mapping[str, float], *, keep: bool) -> None:
    """Write the file of figures; with `keep`, beside those that are in it."""
    kept = json.loads(LATEST.read_text()) if keep and LATEST.exists() else {}
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(kept | dict(figures), indent=2) + "\n")
    print(f"wrote {LATEST.relative_to(ROOT)}")
