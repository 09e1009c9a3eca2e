"""Shared helpers: location of the image sets, time and memory of calls and processes, saved figures."""

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

# A separate process, because Linux counts the parent's memory at the fork as peak memory of the child.
# Standard output is discarded; the last line of stderr is kept.
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
    """Wall time in seconds and peak resident memory in MB of a process."""

    seconds: float
    megabytes: float


def need_data() -> Path:
    """Return the folder of the image sets, or exit with a message."""
    if not DATA.is_dir():
        sys.exit(f"No image sets in {DATA}. Set PANFOCUS_DATA to their folder.")
    return DATA


def best_time(call: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the shortest time of several runs in seconds, after a warm-up run."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def measure_process(command: Sequence[object], **environment: str) -> Cost:
    """Run a command and return its cost. Raise with the last line of stderr if it fails."""
    launch = [sys.executable, "-c", _LAUNCHER, *map(str, command)]
    done = subprocess.run(launch, env=os.environ | environment, check=False, capture_output=True, text=True)
    if done.returncode:
        last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{' '.join(map(str, command[:4]))} ... failed: {last_line}")
    seconds, kibibytes = map(float, done.stdout.split())
    return Cost(seconds, kibibytes * 1024 / 1e6)


def measure_in_turns(commands: Mapping[Name, Sequence[object]], *, repeats: int = 3) -> dict[Name, Cost]:
    """Run commands in turns (A B C A B C ...). Return the median time and the largest peak of each."""
    costs: dict[Name, list[Cost]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            costs[name].append(measure_process(command))
    return {
        name: Cost(statistics.median(cost.seconds for cost in each), max(cost.megabytes for cost in each))
        for name, each in costs.items()
    }


def print_figures(figures: Mapping[str, float]) -> None:
    """Print one figure per line."""
    for name, value in figures.items():
        print(f"  {name:46} {value:12,.4g}")


def save_figures(figures: Mapping[str, float], *, keep: bool) -> None:
    """Write the file of figures; with `keep`, add to the existing figures."""
    kept = json.loads(LATEST.read_text()) if keep and LATEST.exists() else {}
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(kept | dict(figures), indent=2) + "\n")
    print(f"wrote {LATEST.relative_to(ROOT)}")
