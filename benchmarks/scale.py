"""Costs per megapixel and frame, overhead of a cluster, and its time compared with a model.

    python -m benchmarks.scale FOLDER [--quick]

FOLDER gets the stacks (2 GB; less with --quick) and figures.json; docs/scale.md describes the figures. Runs
on a cluster call the command in a separate process.
"""

import argparse
import dataclasses
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import forecast, large_stacks
from benchmarks._costs import StackCost, StoreCost, stack_cost, store_cost
from benchmarks.cluster_model import Cluster, Stage, predict
from benchmarks.local_cluster import Run, run_on_cluster
from benchmarks.overhead import seconds_per_empty_task, seconds_per_empty_tile
from benchmarks.tiled_store import write_store
from panfocus._threads import available_cores

WORKERS = (1, 2, 4)
EMPTY = 2000  # tasks that do nothing
TINY = 600, 2  # side in pixels and slices of a store for measuring the start-up


@dataclass(frozen=True)
class Sizes:
    """Sizes of the generated stacks and stores."""

    stacks: int = 48
    frames: int = 10
    megapixels: float = 3.0
    large: float = 12.0  # megapixels of the stack for the forecast
    store: int = 6144  # side in pixels
    slices: int = 5
    part: int = 2400  # side in pixels of a part of a slide
    deep: int = 50  # slices of this part


QUICK = Sizes(stacks=4, frames=4, megapixels=1, large=2, store=2500, part=1200, deep=8)


def write_stacks(folder: Path, n_stacks: int, n_frames: int, megapixels: float) -> None:
    """Write one stack; the others are hard links to its files, which are cached in memory anyway."""
    first = folder / "stack-000"
    first.mkdir(parents=True)
    frames = large_stacks.write_stack(first, n_frames=n_frames, megapixels=megapixels)
    for n in range(1, n_stacks):
        (folder / f"stack-{n:03}").mkdir()
        for frame in frames:
            os.link(frame, folder / f"stack-{n:03}" / frame.name)


def prepare(folder: Path, sizes: Sizes) -> None:
    """Write the missing stacks and stores."""
    for name, n_stacks, n_frames, megapixels in (
        ("stacks", sizes.stacks, sizes.frames, sizes.megapixels),
        ("large", 1, sizes.frames, sizes.large),
        ("tiny", 2, 2, 0.01),
    ):
        if not (folder / name).exists():
            write_stacks(folder / name, n_stacks, n_frames, megapixels)
    for name, side, slices in (
        ("store", sizes.store, sizes.slices),
        ("part", sizes.part, sizes.deep),
        ("tiny", *TINY),
    ):
        if not (folder / f"{name}.ome.zarr").exists():
            write_store(folder / f"{name}.ome.zarr", side, slices)


def batch_run(folder: Path, workers: int, stacks: str = "stacks") -> Run:
    """Fuse all stacks."""
    shutil.rmtree(folder / "fused", ignore_errors=True)
    return run_on_cluster(workers, "batch", folder / stacks, "-o", folder / "fused")


def store_run(folder: Path, workers: int, store: str = "store") -> Run:
    """Fuse a store."""
    output = folder / "fused.ome.zarr"
    for path in (output, Path(f"{output}.part")):
        shutil.rmtree(path, ignore_errors=True)
    return run_on_cluster(workers, "fuse", folder / f"{store}.ome.zarr", "-o", output, "--max-memory", "1GB")


def check(
    folder: Path, sizes: Sizes, stack: StackCost, store: StoreCost, per_task: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Run batches and stores on clusters of several sizes, and compare the times with the model."""
    figures: dict[str, dict[str, Any]] = {}
    batch_stages = (Stage(sizes.stacks, stack.read, stack.compute, stack.write),)
    for kind, run, stages, client, each in (
        ("batch", batch_run, batch_stages, 0.0, per_task["task"]),
        ("store", store_run, store.stages, store.client, per_task["tile"]),
    ):
        # Time that does not grow with the work: client, connection, first task of a worker.
        start = run(folder, 1, "tiny").seconds
        figures[f"{kind}-tiny"] = {"seconds": start}
        print(f"{kind}, start: {start:.1f} s", flush=True)
        for workers in WORKERS:
            found = run(folder, workers)
            cluster = Cluster(workers, available_cores(), per_task=each, start=start)
            predicted = predict(stages, cluster, client=client)
            figures[f"{kind}-{workers}"] = {
                **dataclasses.asdict(found),
                "share": found.share(workers),
                "predicted": predicted.seconds,
                "predicted_share": predicted.share,
            }
            print(
                f"{kind}, {workers} workers: {found.seconds:.1f} s, predicted {predicted.seconds:.1f}; "
                f"computing {found.share(workers):.1%}, predicted {predicted.share:.1%}, "
                f"processor {found.processor / workers / found.seconds:.1%}; {found.tasks} tasks; "
                f"peaks {[round(peak / 1e6) for peak in found.peaks]} MB; "
                f"stages { {name: round(took, 1) for name, took in found.stages.items()} }",
                flush=True,
            )
    return figures


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print and save the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="use small images, for a trial")
    given = parser.parse_args(words)
    sizes = QUICK if given.quick else Sizes()
    given.folder.mkdir(parents=True, exist_ok=True)
    prepare(given.folder, sizes)
    stack = stack_cost(given.folder / "stacks" / "stack-000")
    large = stack_cost(given.folder / "large" / "stack-000")
    store = store_cost(given.folder / "store.ome.zarr", 10**9)
    part = store_cost(given.folder / "part.ome.zarr", forecast.MEMORY_OF_SLIDE)
    costs = {"stack": stack, "large": large, "store": store, "part": part}
    for name, cost in costs.items():
        print(f"{name}: {cost}", flush=True)
    n_empty = EMPTY // 10 if given.quick else EMPTY
    per_task = {
        "task": seconds_per_empty_task(n_empty),
        "tile": seconds_per_empty_tile(given.folder / "store.ome.zarr", n_empty),
    }
    print(f"empty tasks: {per_task}", flush=True)
    figures = {
        "costs": {name: dataclasses.asdict(cost) for name, cost in costs.items()},
        "per_task": per_task,
        "runs": check(given.folder, sizes, stack, store, per_task),
    }
    (given.folder / "figures.json").write_text(json.dumps(figures, indent=2) + "\n")
    forecast.show(large, part, per_task["task"], per_task["tile"])


if __name__ == "__main__":
    main()
