"""Fuse a generated OME-Zarr stack larger than memory; measure time and memory, and check the result.

    python -m benchmarks.tiled_store FOLDER [--side 20000] [--slices 5] [--memory 1GB] [--workers 2] [--local]

The slices are generated chunk by chunk: a texture that is sharp in one slice, depending on the position, and
smooth in the others. They are fused on a local Dask cluster, which ends workers that exceed their memory;
with --local, by processes without Dask. The exit code is 1 if a check fails. FOLDER keeps the stores.
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
from typing import Any

import numpy as np

from benchmarks.tiled_store_checks import (
    PIXEL,
    STEP,
    check_region,
    check_with_napari,
    check_with_ome_zarr,
    check_with_tifffile,
)

CHUNK = 1024  # side of chunks in pixels
PERIOD = 4096  # pixels after which the texture repeats
SMALL = 1500  # side in pixels of the stack that is also fused to a TIFF and in memory
LEAST_SHARE, LONG = 0.85, 120  # smallest share of the time in which workers compute, in runs of 120 s or more
EMPTY_TASKS = 300

Row = tuple[str, str, bool | None]  # name, finding, and whether it passed; None if there is no requirement


def make_texture(sigma: float) -> np.ndarray:
    """Return a periodic texture (PERIOD, PERIOD), 0 to 1, blurred by `sigma` pixels."""
    noise = np.random.default_rng(1).random((PERIOD, PERIOD)).astype(np.float32)
    frequency = np.fft.fftfreq(PERIOD)[:, None] ** 2 + np.fft.rfftfreq(PERIOD) ** 2
    soft = np.fft.irfft2(np.fft.rfft2(noise) * np.exp(-2 * (np.pi * sigma) ** 2 * frequency), s=noise.shape)
    return np.asarray(soft, np.float32)


def write_store(path: Path, side: int, slices: int) -> None:
    """Write the generated stack, chunk by chunk."""
    from panfocus.io.ome_zarr import Axis
    from panfocus.io.ome_zarr_writer import NewImage, create_ome_zarr, open_level

    axes = tuple(Axis(name, "micrometer", size) for name, size in (("z", STEP), ("y", PIXEL), ("x", PIXEL)))
    create_ome_zarr(path, NewImage(axes, (slices, side, side), np.dtype(np.uint16), CHUNK, name="procedural"))
    array = open_level(path, 0, change=True)
    sharp, soft = make_texture(0.8), make_texture(3.0)
    noise = np.random.default_rng(2)
    for top in range(0, side, CHUNK):
        rows = np.arange(top, min(top + CHUNK, side))
        for left in range(0, side, CHUNK):
            cols = np.arange(left, min(left + CHUNK, side))
            depth = 0.5 + 0.5 * np.sin(rows[:, None] / 900) * np.cos(cols / 1300)
            sharpest = np.minimum((depth * slices).astype(int), slices - 1)
            place = np.ix_(rows % PERIOD, cols % PERIOD)
            for k in range(slices):
                part = np.where(sharpest == k, sharp[place], soft[place])
                part = 6000 + 40000 * part + 60 * noise.standard_normal(part.shape, np.float32)
                array[k, top : top + CHUNK, left : left + CHUNK] = np.clip(part, 0, 65535).astype(np.uint16)


def process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += process_tree(int(child))
    return found


def record_peaks(pid: int, peaks: dict[int, int]) -> None:
    """Update the peak resident memory in bytes of a process and its descendants."""
    try:
        for each in process_tree(pid):
            status = Path(f"/proc/{each}/status").read_text()
            peaks[each] = 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):  # the process has just ended
        pass


def run_panfocus(command: list[object]) -> None:
    """Run a panfocus command and wait for it."""
    subprocess.run([sys.executable, "-m", "panfocus", *map(str, command)], check=True)


def fuse_and_measure(command: list[object], cluster: Any | None) -> tuple[float, int, list[int]]:
    """Run a command; return its seconds, its own peak memory, and the peaks of the workers."""
    own: dict[int, int] = {}
    of_workers: dict[int, int] = {}
    began = time.perf_counter()
    run = subprocess.Popen([sys.executable, "-m", "panfocus", *map(str, command)])
    while run.poll() is None:
        record_peaks(run.pid, own)
        for worker in cluster.workers.values() if cluster else ():
            with suppress(ValueError, OSError):
                record_peaks(worker.pid, of_workers)
        time.sleep(0.2)
    seconds = time.perf_counter() - began
    if run.returncode:
        raise SystemExit(f"panfocus failed with exit code {run.returncode}")
    peak = own.pop(run.pid)
    return seconds, peak, sorted((of_workers or own).values(), reverse=True)


def seconds_per_empty_task(address: str) -> float:
    """Return the time of a task that does nothing, including the connection to the scheduler."""
    from panfocus.parallel import Cluster

    began = time.perf_counter()
    with closing(Cluster(address, print)) as cluster:
        done = list(cluster.run_tasks(abs, [(i,) for i in range(EMPTY_TASKS)]))
    assert len(done) == EMPTY_TASKS
    return (time.perf_counter() - began) / EMPTY_TASKS


def gigabytes(folder: Path) -> float:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", type=int, default=20000)
    parser.add_argument("--slices", type=int, default=5)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = measure(options)
    width = max(len(name) for name, *_ in rows)
    for name, found, passed in rows:
        print(f"{name:<{width}}  {found}{'   FAILED' if passed is False else ''}")
    sys.exit(any(passed is False for *_, passed in rows))


def measure(options: argparse.Namespace) -> list[Row]:
    """Fuse and check the store. Return the rows of the table."""
    from panfocus.job.memory_plan import parse_size

    source, small = (options.folder / f"stack-{side}.ome.zarr" for side in (options.side, SMALL))
    for path, side in ((source, options.side), (small, SMALL)):
        if not path.exists():
            began = time.perf_counter()
            partial = path.with_suffix(".partial")
            write_store(partial, side, options.slices)
            partial.rename(path)
            print(f"wrote {path} in {time.perf_counter() - began:.0f} s", flush=True)
    fused, report_file = options.folder / "fused.ome.zarr", options.folder / "report.json"
    labels = options.folder / "labels.ome.zarr"
    command = ["fuse", source, "-o", fused, "--labels", labels, "--report", report_file]
    command += ["--max-memory", options.memory, "--force", "--align", "off"]
    empty = None
    if options.local:
        seconds, own, of_workers = fuse_and_measure([*command, "--threads", options.workers], None)
    else:
        from benchmarks.local_cluster import local_cluster

        with local_cluster(options.workers, options.memory) as cluster:
            address = cluster.scheduler_address
            seconds, own, of_workers = fuse_and_measure([*command, "--scheduler", address], cluster)
            empty = seconds_per_empty_task(address)
    report = json.loads(report_file.read_text())
    limit = parse_size(options.memory, "memory")
    kind = "processes without Dask" if options.local else "Dask workers"
    size = f"{options.side:,} x {options.side:,} x {options.slices}"
    peaks = ", ".join(f"{peak / 1e6:.0f}" for peak in of_workers)
    rows: list[Row] = [
        ("stack", f"{size}, 16 bit, {gigabytes(source):.1f} GB on disk", None),
        ("workers", f"{options.workers} {kind}, {options.memory} each, on {os.cpu_count()} cores", None),
        ("fused in", f"{seconds:.0f} s, including labels and pyramid levels", None),
        *stage_times(report, options.workers, seconds),
        ("peak memory of workers", f"{peaks} MB of {limit / 1e6:.0f}", of_workers[0] <= limit),
        ("peak memory of command", f"{own / 1e6:.0f} MB", own <= limit),
    ]
    if empty is not None:
        rows.append(("empty task", f"{1000 * empty:.1f} ms", None))
    rows.append(("written", f"{gigabytes(fused):.1f} GB", None))
    for name, (passed, found) in {
        "region": check_region(source, fused, report),
        "ome-zarr": check_with_ome_zarr(fused),
        "tifffile": check_with_tifffile(small, options.folder, run_panfocus),
        "napari": check_with_napari(fused),
    }.items():
        rows.append((name, found, passed))
    return rows


def stage_times(report: dict[str, Any], workers: int, seconds: float) -> Iterator[Row]:
    """Yield the time of each stage, and the share of the time in which workers compute."""
    busy = sum(stage["seconds_of_workers"] for stage in report["stages"])
    by_workers = [stage for stage in report["stages"] if stage["tasks"]]
    for stage in by_workers:
        n = stage["tasks"]
        idle = workers * stage["seconds"] - stage["seconds_of_workers"]
        each = f"{stage['seconds_of_workers'] / n:.2f} s each, {1000 * idle / n:.0f} ms idle"
        yield f"  {stage['stage']}", f"{stage['seconds']:.1f} s, {n} tasks: {each}", None
    other = seconds - sum(stage["seconds"] for stage in by_workers)
    yield "  other", f"{other:.1f} s", None
    share = busy / (workers * seconds)
    needed = f"{LEAST_SHARE:.0%} needed in runs of {LONG} s or more"
    yield "workers compute", f"{share:.1%} of the time ({needed})", share >= LEAST_SHARE or seconds < LONG


if __name__ == "__main__":
    main()
