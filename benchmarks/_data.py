"""Where the image sets are, and how long a call takes."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PANFOCUS_DATA", ROOT.parent / "shared" / "data"))


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
