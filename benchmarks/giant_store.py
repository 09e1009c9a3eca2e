"""A giant OME-Zarr stack made on the fly, fused by workers of limited memory; all that matters is measured.

    python -m benchmarks.giant_store FOLDER [--side 20000] [--slices 5] [--memory 1GB] [--workers 2] [--local]

The slices are procedural, made chunk by chunk: a texture that is sharp in one slice, which changes from place
to place, and smooth in the others. They are fused on a Dask cluster of processes of this machine, which ends
workers that take more than their memory; with --local, by processes without Dask. What is told, and what it
should be, is one table; something that is not as it should be is exit code 1. FOLDER keeps the stores.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from benchmarks.giant_checks import (
    PIXEL,
    STEP,
    cut_out_is_the_whole,
    opens_with_napari,
    opens_with_ome_zarr,
    opens_with_tifffile,
)

CHUNK = 1024
PERIOD = 4096  # pixels, after which the texture repeats
SMALL = 1500  # pixels a side of the stack that is fused to a TIFF, and at once in memory
LEAST_SHARE, LONG = 0.85, 120  # of the time that workers should compute, in runs of so many seconds
EMPTY_TASKS = 300


def texture(sigma: float) -> np.ndarray:
    """Return a texture (PERIOD, PERIOD) that fits to itself, 0 to 1, as soft as this."""
    noise = np.random.default_rng(1).random((PERIOD, PERIOD)).astype(np.float32)
    frequency = np.fft.fftfreq(PERIOD)[:, None] ** 2 + np.fft.rfftfreq(PERIOD) ** 2
    soft = np.fft.irfft2(np.fft.rfft2(noise) * np.exp(-2 * (np.pi * sigma) ** 2 * frequency), s=noise.shape)
    return np.asarray(soft, np.float32)


def make(path: Path, side: int, slices: int) -> None:
    """Write the stack, chunk by chunk."""
    from panfocus.io.ome_zarr import Axis
    from panfocus.io.ome_zarr_writer import NewImage, create_ome_zarr, open_level

    axes = tuple(Axis(name, "micrometer", size) for name, size in (("z", STEP), ("y", PIXEL), ("x", PIXEL)))
    create_ome_zarr(path, NewImage(axes, (slices, side, side), np.dtype(np.uint16), CHUNK, name="procedural"))
    array = open_level(path, 0, change=True)
    sharp, soft = texture(0.8), texture(3.0)  # in float32, like all that is made of them
    noise = np.random.default_rng(2)
    for top in range(0, side, CHUNK):
        rows = np.arange(top, min(top + CHUNK, side))
        for left in range(0, side, CHUNK):
            cols = np.arange(left, min(left + CHUNK, side))
            depth = 0.5 + 0.5 * np.sin(rows[:, None] / 900) * np.cos(cols / 1300)
            of_depth = np.minimum((depth * slices).astype(int), slices - 1)
            place = np.ix_(rows % PERIOD, cols % PERIOD)
            for k in range(slices):
                part = np.where(of_depth == k, sharp[place], soft[place])
                part = 6000 + 40000 * part + 60 * noise.standard_normal(part.shape, np.float32)
                array[k, top : top + CHUNK, left : left + CHUNK] = np.clip(part, 0, 65535).astype(np.uint16)


def children_of(pid: int) -> list[int]:
    """Return the processes below one, itself included."""
    told = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            told += children_of(int(child))
    return told


def peaks(pid: int, seen: dict[int, int]) -> None:
    """Note the most memory that each process has had resident, in bytes."""
    try:
        for each in children_of(pid):
            status = Path(f"/proc/{each}/status").read_text()
            seen[each] = 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):  # it has just ended
        pass


def panfocus(command: list) -> None:
    """Run the command, and wait."""
    subprocess.run([sys.executable, "-m", "panfocus", *map(str, command)], check=True)


def fused_with_peaks(command: list, started) -> tuple[float, int, list[int]]:
    """Run the command; return its seconds, its own peak of memory, and the peaks of the workers."""
    own: dict[int, int] = {}
    of_workers: dict[int, int] = {}
    begun = time.perf_counter()
    run = subprocess.Popen([sys.executable, "-m", "panfocus", *map(str, command)])
    while run.poll() is None:
        peaks(run.pid, own)
        for worker in started.workers.values() if started else ():
            with suppress(ValueError, OSError):
                peaks(worker.pid, of_workers)
        time.sleep(0.2)
    seconds = time.perf_counter() - begun
    if run.returncode:
        raise SystemExit(f"panfocus failed with exit code {run.returncode}")
    peak = own.pop(run.pid)
    return seconds, peak, sorted((of_workers or own).values(), reverse=True)


def overhead_of_empty_tasks(address: str) -> float:
    """Seconds that the scheduler and the connection to it take for a task that does nothing."""
    from panfocus.parallel import Cluster

    begun = time.perf_counter()
    with closing(Cluster(address, print)) as cluster:
        done = list(cluster.run_tasks(abs, [(i,) for i in range(EMPTY_TASKS)]))
    assert len(done) == EMPTY_TASKS
    return (time.perf_counter() - begun) / EMPTY_TASKS


def gigabytes(folder: Path) -> float:
    """Size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9


def main() -> None:
    """Make, fuse, measure, compare, open; print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", type=int, default=20000)
    parser.add_argument("--slices", type=int, default=5)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--local", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = measured(given)
    width = max(len(what) for what, *_ in rows)
    for what, found, good in rows:
        print(f"{what:<{width}}  {found}{'' if good in (True, None) else '   FAILED'}")
    sys.exit(any(good is False for *_, good in rows))


def measured(given: argparse.Namespace) -> list[tuple[str, str, bool | None]]:
    """Return lines of the table: what, what was found, whether that is as it should be (None: just told)."""
    from panfocus.job.memory_plan import parse_size

    source, small = (given.folder / f"stack-{side}.ome.zarr" for side in (given.side, SMALL))
    for path, side in ((source, given.side), (small, SMALL)):
        if not path.exists():
            begun = time.perf_counter()
            making = path.with_suffix(".making")
            make(making, side, given.slices)
            making.rename(path)
            print(f"made {path} in {time.perf_counter() - begun:.0f} s", flush=True)
    fused, report = given.folder / "fused.ome.zarr", given.folder / "report.json"
    command = ["fuse", source, "-o", fused, "--labels", given.folder / "labels.ome.zarr", "--report", report]
    command += ["--max-memory", given.memory, "--force", "--align", "off"]
    rows: list[tuple[str, str, bool | None]] = [
        (
            "stack",
            f"{given.side:,} x {given.side:,} x {given.slices}, 16 bit, {gigabytes(source):.1f} GB on disk",
            None,
        )
    ]
    if given.local:
        seconds, own, of_workers = fused_with_peaks([*command, "--threads", given.workers], None)
        empty = None
    else:
        from benchmarks.local_cluster import local_cluster

        with local_cluster(given.workers, given.memory) as started:
            address = started.scheduler_address
            seconds, own, of_workers = fused_with_peaks([*command, "--scheduler", address], started)
            empty = overhead_of_empty_tasks(address)
    told = json.loads(report.read_text())
    limit = parse_size("--memory", given.memory)
    kind = "processes without Dask" if given.local else "Dask workers"
    rows += [
        ("workers", f"{given.workers} {kind}, {given.memory} each, on {os.cpu_count()} cores", None),
        ("fused in", f"{seconds:.0f} s, labels and smaller levels included", None),
        *times(told, given.workers, seconds),
        (
            "peak of the workers",
            f"{', '.join(f'{peak / 1e6:.0f}' for peak in of_workers)} MB of {limit / 1e6:.0f}",
            of_workers[0] <= limit,
        ),
        ("peak of the command", f"{own / 1e6:.0f} MB", own <= limit),
    ]
    if empty is not None:
        rows.append(("a task that does nothing", f"{1000 * empty:.1f} ms", None))
    rows.append(("written", f"{gigabytes(fused):.1f} GB", None))
    for what, check in (
        ("cut-out", lambda: cut_out_is_the_whole(source, fused, told)),
        ("ome-zarr", lambda: opens_with_ome_zarr(fused)),
        ("tifffile", lambda: opens_with_tifffile(small, given.folder, panfocus)),
        ("napari", lambda: opens_with_napari(fused)),
    ):
        good, found = check()
        rows.append((what, found, good))
    return rows


def times(told: dict, workers: int, seconds: float) -> Iterator[tuple[str, str, bool | None]]:
    """Tell how long the workers computed, by their own clocks, and what goes beside that."""
    busy = sum(stage["seconds_of_workers"] for stage in told["stages"])
    by_workers = [stage for stage in told["stages"] if stage["tasks"]]
    for stage in by_workers:
        n = stage["tasks"]
        idle = workers * stage["seconds"] - stage["seconds_of_workers"]
        each = f"{stage['seconds_of_workers'] / n:.2f} s each, {1000 * idle / n:.0f} ms beside"
        yield f"  {stage['stage']}", f"{stage['seconds']:.1f} s, {n} tasks: {each}", None
    yield "  neither", f"{seconds - sum(stage['seconds'] for stage in by_workers):.1f} s", None
    share = busy / (workers * seconds)
    needed = f" (85 % needed from {LONG} s on)"
    yield "workers compute", f"{share:.1%} of the time{needed}", share >= LEAST_SHARE or seconds < LONG


if __name__ == "__main__":
    main()
