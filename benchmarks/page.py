"""Speed of the page with a large stack: first thumbnail, long tasks, tiles, server memory.

    python -m benchmarks.page FOLDER

FOLDER has the frames, such as 10 of 12 megapixels. Chromium opens them in place from a real server. Browsers
call a task over 50 ms long; the page should never be blocked for over 100 ms.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "app")]

from app_server import running_server  # noqa: E402
from page_steps import Visit  # noqa: E402

from browser import JOB_TIMEOUT, launch_chromium  # noqa: E402

WATCH = """() => {
    window.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask", buffered: true });
    performance.setResourceTimingBufferSize(10000);
}"""
# From the request of a tile to its arrival, including the queue.
TILES = """() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("/tiles/"))
    .map(({ duration }) => duration)"""


def memory(process: int) -> tuple[float, float]:
    """Return current and peak memory of the server process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return tuple(
        int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM")
    )


def measured(folder: Path) -> dict[str, object]:
    """Open the folder, fuse it, zoom into the result, and return the measurements."""
    figures: dict[str, object] = {"load at start": os.getloadavg()[0]}
    with (
        tempfile.TemporaryDirectory() as place,
        running_server(Path(place) / "work", folder) as server,
        launch_chromium() as chromium,
    ):
        visit = Visit(chromium, server.address)
        page = visit.page
        page.evaluate(WATCH)

        def blocked(name: str) -> None:
            tasks = page.evaluate("() => longTasks.splice(0)")
            figures[f"long tasks: {name}"] = f"{len(tasks)}, longest {max(tasks, default=0):.0f} ms"

        began = time.perf_counter()
        page.evaluate(
            """(folder) => panfocus.api.post("/api/stacks", { folder }).then((stack) => {
                panfocus.applyMessage({ kind: "stack", stack });
                panfocus.select(stack.id);
            })""",
            str(folder),
        )
        page.wait_for_function("() => [...document.images].some((image) => image.naturalWidth > 100)")
        figures["first thumbnail, s"] = round(time.perf_counter() - began, 2)
        page.locator("#fuse:enabled").wait_for(timeout=JOB_TIMEOUT)
        figures["all frames scanned, s"] = round(time.perf_counter() - began, 1)
        blocked("adding")
        visit.click("button", "Fuse")
        page.locator("#viewer").wait_for(timeout=10 * JOB_TIMEOUT)
        visit.settle()
        figures["fused and shown, s"] = round(time.perf_counter() - began, 1)
        blocked("fusing")
        for row, col in ((0.3, 0.3), (0.5, 0.7), (0.8, 0.4)):
            for factor in (0.4, 1, 2):
                page.evaluate(
                    "([row, col, factor]) => panfocus.viewer.goTo(row, col, factor)",
                    [*visit.place_at(row, col), factor],
                )
                visit.settle()
            visit.click("button", "Fit")
            visit.settle()
        blocked("zooming")
        tiles = sorted(page.evaluate(TILES))
        figures["tiles"] = len(tiles)
        figures["tiles, ms: median, 95 %, longest"] = [
            round(tiles[int(part * (len(tiles) - 1))]) for part in (0.5, 0.95, 1)
        ]
        figures["server, MB now and peak"] = memory(server.process.pid)
        figures["complaints"] = visit.complaints
        visit.close()
    figures["load at end"] = os.getloadavg()[0]
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    print(json.dumps(measured(parser.parse_args().folder.resolve()), indent=1))
