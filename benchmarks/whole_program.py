"""The command as a user runs it: wall time and peak memory of a 520 x 520 colour pair, and of --help."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._data import best_time, measure_process, need_data

PANFOCUS = Path(sys.executable).with_name("panfocus")


def run() -> dict[str, float]:
    """Measure each with compiled code cached, the pair also with an empty cache."""
    folder = need_data() / "lytro"
    with tempfile.TemporaryDirectory() as scratch:
        fuse = [PANFOCUS, "fuse", folder / "lytro-01-A.jpg", folder / "lytro-01-B.jpg", "--quiet", "--force"]
        fuse += ["-o", f"{scratch}/fused.png"]
        cold_time, cold_memory = measure_process(fuse, NUMBA_CACHE_DIR=f"{scratch}/empty-cache")
        measure_process(fuse)
        runs = [measure_process(fuse) for _ in range(3)]
    bare = best_time(lambda: subprocess.run([sys.executable, "-c", "import typer, rich"], check=True))
    helped = best_time(lambda: subprocess.run([PANFOCUS, "--help"], check=True, stdout=subprocess.DEVNULL))
    return {
        "fuse_pair_time": min(seconds for seconds, _ in runs),
        "fuse_pair_memory": max(megabytes for _, megabytes in runs),
        "fuse_pair_cold_time": cold_time,
        "fuse_pair_cold_memory": cold_memory,
        "help_over_bare_import_time": helped / bare,
    }
