"""Uploads are streamed to disk: a large file does not go through the server's memory."""

import re
from pathlib import Path

import httpx

MB = 1 << 20


def test_a_large_upload_needs_little_memory(page_server):
    page_server.state()  # imports what it needs
    stack = page_server.client.post("/api/stacks", json={"name": "sent"}).raise_for_status().json()["id"]
    before = peak_memory(page_server)
    answer = httpx.put(
        f"{page_server.url}/api/stacks/{stack}/files/large.tif",
        content=(bytes(MB) for _ in range(160)),
        headers={**page_server.client.headers, "Content-Length": str(160 * MB)},
        timeout=60,
    )
    assert answer.status_code == 200
    assert page_server.seen(stack)["frames"][0]["state"] == "bad"
    assert peak_memory(page_server) - before < 40e6
    page_server.client.delete(f"/api/stacks/{stack}").raise_for_status()


def peak_memory(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
