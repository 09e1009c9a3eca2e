"""A giant OME-Zarr stack made on the fly, fused with workers of limited memory; their peaks are measured.

    python -m benchmarks.giant_store FOLDER [--side 20000] [--slices 5] [--memory 1GB] [--workers 2]

The slices are procedural, made chunk by chunk: a texture that is sharp in one slice, which changes from place
to place, and smooth in the others. At the end a part of the result, cut out across tiles, is compared with
what the method gives for it alone.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

CHUNK = 1024
PERIOD = 4096  # pixels, after which the texture repeats


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

    axes = (Axis("z", "micrometer", 2.0), Axis("y", "micrometer", 0.25), Axis("x", "micrometer", 0.25))
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


def check(source: Path, fused: Path, report: dict) -> bool:
    """Compare a part in the middle with what the method gives for it alone."""
    import zarr

    from panfocus.giant.plan import tile_at
    from panfocus.methods import get_method

    frames, result = zarr.open_array(source / "0"), zarr.open_array(fused / "0")
    height, width = result.shape
    inner = tuple(slice(length // 2 - 300, length // 2 + 300) for length in (height, width))
    (unit,) = report["units"]
    assert not unit["hot_pixels"]["fixed"] + unit["hot_pixels"]["single"], "the scene has none"
    assert np.all(np.array(unit["exposure"]["gains"]) == 1), "all slices are equally bright"
    method = get_method("panfocus").surveyed(unit["measured"])
    tile = tile_at(inner, (height, width), method.halo)
    part = method.fuse(np.asarray(frames[:, *tile.outer]), tile)
    return bool(np.array_equal(part.image, result[inner]))


def main() -> None:
    """Make, fuse, measure, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", type=int, default=20000)
    parser.add_argument("--slices", type=int, default=5)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    source, fused = given.folder / f"stack-{given.side}.ome.zarr", given.folder / "fused.ome.zarr"
    if not source.exists():
        started = time.perf_counter()
        make(source, given.side, given.slices)
        print(f"made in {time.perf_counter() - started:.0f} s")
    if fused.exists():
        shutil.rmtree(fused)
    report = given.folder / "report.json"
    command = ["fuse", source, "-o", fused, "--labels", given.folder / "labels.ome.zarr", "--report", report]
    command += ["--max-memory", given.memory, "--threads", given.workers, "--force"]
    started = time.perf_counter()
    run = subprocess.Popen([sys.executable, "-m", "panfocus", *map(str, command)])
    seen: dict[int, int] = {}
    while run.poll() is None:
        peaks(run.pid, seen)
        time.sleep(0.2)
    print(f"fused in {time.perf_counter() - started:.0f} s, exit code {run.returncode}")
    print(f"peaks of the processes: {', '.join(f'{peak / 1e6:.0f} MB' for peak in seen.values())}")
    same = check(source, fused, json.loads(report.read_text()))
    print(f"a part in the middle is {'the same' if same else 'NOT the same'}")


if __name__ == "__main__":
    main()
