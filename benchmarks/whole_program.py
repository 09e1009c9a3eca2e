"""Wall time and peak memory of the command, compared with enfuse and a Laplacian pyramid.

python -m benchmarks.whole_program --long    fuses 100 frames of 24 megapixels; needs 15 GB of disk

All programs read files, write TIFF and do not align. They run in turns. Figures such as
`fuse_24mp_enfuse_time` are our time divided by theirs.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tifffile

from benchmarks import large_stacks, mosaics
from benchmarks._data import (
    DATA,
    best_time,
    measure_in_turns,
    measure_process,
    need_data,
    print_figures,
    save_figures,
)
from benchmarks.rivals import ENFUSE

PANFOCUS = (sys.executable, "-m", "panfocus")
PYRAMID = DATA.parent / "yardsticks" / "pyramid.py"
MAX_MEMORY = "1.5GB"  # for the long run


def run() -> dict[str, float]:
    """Measure all cases except the long run."""
    for name, there in {"enfuse": shutil.which("enfuse"), str(PYRAMID): PYRAMID.exists()}.items():
        if not there:
            print(f"  skipped: {name} is missing")
    lytro = [need_data() / "lytro" / f"lytro-01-{letter}.jpg" for letter in "AB"]
    figures = starts(lytro) | compare_with_rivals("lytro_coupled", lytro, "--method", "coupled")
    with tempfile.TemporaryDirectory() as folder:
        figures |= compare_with_rivals("24mp", write_pair(Path(folder), megapixels=24))
    with tempfile.TemporaryDirectory() as folder:
        frames = large_stacks.write_stack(Path(folder), n_frames=10, megapixels=12)
        figures |= compare_with_rivals("10x12mp", frames)
    return figures


def run_long() -> dict[str, float]:
    """Fuse 100 frames of 24 MP with little memory, and 10 of 12 MP to compare the time per megapixel."""
    figures = {}
    for name, n_frames, megapixels in (("10x12mp", 10, 12), ("100x24mp", 100, 24)):
        with tempfile.TemporaryDirectory() as folder:
            frames = large_stacks.write_stack(Path(folder), n_frames=n_frames, megapixels=megapixels)
            cost = measure_process(
                fuse_command(frames, Path(folder) / "fused.tif", "--max-memory", MAX_MEMORY)
            )
        figures[f"long_{name}_memory"] = cost.megabytes
        figures[f"long_{name}_time"] = cost.seconds
        figures[f"long_{name}_per_megapixel_frame_time"] = cost.seconds / (n_frames * megapixels)
    long, short = (figures[f"long_{name}_per_megapixel_frame_time"] for name in ("100x24mp", "10x12mp"))
    return figures | {"long_100x24mp_10x12mp_time": long / short}


def compare_with_rivals(case: str, frames: Sequence[Path], *options: str) -> dict[str, float]:
    """Fuse frames with panfocus and with the rivals in turns."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "fused.tif"
        commands = {"fuse": fuse_command(frames, result, *options)}
        if shutil.which("enfuse"):
            commands["enfuse"] = [*ENFUSE, "-o", result, *frames]
        if PYRAMID.exists():
            commands["pyramid"] = [sys.executable, PYRAMID, result, *frames]
        costs = measure_in_turns(commands)
    figures = {}
    for name, cost in costs.items():
        figures |= {f"{name}_{case}_time": cost.seconds, f"{name}_{case}_memory": cost.megabytes}
        if name != "fuse":
            figures[f"fuse_{case}_{name}_time"] = costs["fuse"].seconds / cost.seconds
    return figures


def starts(pair: Sequence[Path]) -> dict[str, float]:
    """Measure the time of a run on tiny frames, with and without cached compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        command, result = fuse_command(pair, Path(folder) / "fused.tif"), Path(folder) / "coupled.tif"
        cold = measure_process(command, NUMBA_CACHE_DIR=f"{folder}/empty-cache")
        for warming in (command, fuse_command(pair, result, "--method", "coupled")):
            measure_process(warming)
        warm = measure_in_turns(
            {
                "fuse": command,
                "demo": [*PANFOCUS, "demo", "-o", f"{folder}/demo"],
                "numba": [sys.executable, "-c", "import numba"],
            }
        )
    bare = best_time(lambda: subprocess.run([sys.executable, "-c", "import typer, rich"], check=True))
    helped = best_time(lambda: subprocess.run([*PANFOCUS, "--help"], check=True, stdout=subprocess.DEVNULL))
    return {
        "fuse_pair_time": warm["fuse"].seconds,
        "fuse_pair_memory": warm["fuse"].megabytes,
        "fuse_pair_cold_time": cold.seconds,
        "fuse_pair_cold_memory": cold.megabytes,
        "demo_time": warm["demo"].seconds,
        "demo_beyond_import_numba_time": warm["demo"].seconds - warm["numba"].seconds,
        "help_over_bare_import_time": helped / bare,
    }


def fuse_command(frames: Sequence[Path], result: Path, *options: str) -> list[object]:
    """Return the panfocus command that fuses frames without alignment."""
    return [*PANFOCUS, "fuse", *frames, "-o", result, "--align", "off", "--force", "--quiet", *options]


def write_pair(folder: Path, *, megapixels: float, with_algae: bool = False) -> list[Path]:
    """Write a mosaic of real pairs as uncompressed TIFF."""
    paths = [folder / f"{megapixels:g}mp-{letter}.tif" for letter in "AB"]
    for path, frame in zip(paths, mosaics.pair(megapixels, with_algae=with_algae), strict=True):
        tifffile.imwrite(path, frame, photometric="rgb")
    return paths


def main() -> None:
    """Run only this benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--long", action="store_true", help="only the long run")
    figures = run_long() if parser.parse_args().long else run()
    print_figures(figures)
    save_figures(figures, keep=True)


if __name__ == "__main__":
    main()
