"""Local Dask clusters, and the cost of a command on one, by the clocks of its workers."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from distributed import LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

MEMORY = "2GB"  # of each worker


class Clocks(SchedulerPlugin):
    """Collects the seconds of every task, which Dask measures around our function on the worker."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def transition(self, key: Any, start: str, finish: str, *_: Any, **details: Any) -> None:
        """Add the times of a task that has ended."""
        if finish in ("memory", "erred"):
            spans = details.get("startstops") or ()
            self.seconds += [span["stop"] - span["start"] for span in spans if span["action"] == "compute"]


@dataclass(frozen=True)
class Run:
    """Cost of a run on a cluster."""

    seconds: float
    tasks: int
    working: float  # seconds of all workers in tasks, by their clocks
    processor: float  # processor seconds of all workers
    peaks: tuple[int, ...]  # peak memory of each worker in bytes
    stages: dict[str, float] = field(default_factory=dict)  # seconds to the next line of progress

    def share(self, workers: int) -> float:
        """Return the share of the time in which workers compute."""
        return self.working / (workers * self.seconds)


@contextmanager
def local_cluster(workers: int, memory: str = MEMORY) -> Iterator[LocalCluster]:
    """Start a scheduler and worker processes with this memory each."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address=None,
            local_directory=folder,
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


def run_on_cluster(workers: int, *command: object) -> Run:
    """Run `panfocus COMMAND --scheduler ...` on a new cluster."""
    with local_cluster(workers) as cluster:
        clocks = Clocks()
        cluster.scheduler.add_plugin(clocks)
        pids = [worker.pid for worker in cluster.workers.values()]
        before = sum(map(_processor_seconds, pids))
        began = time.perf_counter()
        words = [sys.executable, "-m", "panfocus", *map(str, command)]
        words += ["--scheduler", cluster.scheduler_address]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        lines = [(time.perf_counter() - began, line.strip()) for line in process.stdout or ()]
        if process.wait():
            sys.exit(f"failed: {' '.join(words)}")
        seconds = time.perf_counter() - began
        begun = [(at, line[:-4]) for at, line in lines if line.endswith(" ...")]
        ends = [at for at, _ in begun[1:]] + [seconds]
        return Run(
            seconds,
            len(clocks.seconds),
            sum(clocks.seconds),
            sum(map(_processor_seconds, pids)) - before,
            tuple(map(_peak, pids)),
            {name: end - at for (at, name), end in zip(begun, ends, strict=True)},
        )


def _processor_seconds(pid: int) -> float:
    spent = psutil.Process(pid).cpu_times()
    return float(spent.user + spent.system)


def _peak(pid: int) -> int:
    return 1024 * int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])
