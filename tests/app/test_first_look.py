"""How soon the first thumbnail of large frames is there, and how much memory the server takes for files."""

import re
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from app_server import running_server, wait

from panfocus.io.encode import write_image

SIZE = (3000, 4000, 3)  # 12 megapixels


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "pictures"
    folder.mkdir()
    rng = np.random.default_rng(5)
    row = rng.integers(0, 256, (1, *SIZE[1:]), dtype=np.uint8)
    for number in range(2):
        frame = np.roll(np.broadcast_to(row, SIZE), number, axis=1)
        write_image(folder / f"{number}.tif", frame)
    with running_server(folder.parent / "work", folder) as running:
        yield running


def test_the_first_thumbnail_of_12_megapixels_is_there_within_a_second(large):
    seconds = []
    for _ in range(3):  # the machine may be busy with something else
        began = time.perf_counter()
        stack = large.client.post("/api/stacks", json={"folder": str(large.root)}).raise_for_status().json()
        for _ in wait(20, step=0.01):
            if large.client.get(f"/api/stacks/{stack['id']}/thumbnails/0").status_code == 200:
                break
        seconds.append(time.perf_counter() - began)
        large.seen(stack["id"])
    assert min(seconds) < 1, seconds


def test_files_that_are_sent_do_not_go_through_the_servers_memory(large):
    large.state()  # imports what it needs
    stack = large.client.post("/api/stacks", json={"name": "sent"}).raise_for_status().json()["id"]
    before = peak_memory(large)

    def pieces():
        for _ in range(160):
            yield bytes(1 << 20)

    answer = httpx.put(
        f"{large.url}/api/stacks/{stack}/files/large.tif",
        content=pieces(),
        headers={**large.client.headers, "Content-Length": str(160 << 20)},
        timeout=60,
    )
    assert answer.status_code == 200
    assert large.seen(stack)["frames"][0]["state"] == "bad"
    assert peak_memory(large) - before < 40e6


def peak_memory(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
