"""Errors name files as the user knows them, not by their paths in the work folder."""

import numpy as np
import pytest
from app_server import wait

from panfocus.io.encode import write_image


@pytest.fixture
def unlike(server, tmp_path):
    """A stack of two uploaded files of different sizes."""
    stack = server.client.post("/api/stacks", json={"name": "unlike"}).raise_for_status().json()["id"]
    rng = np.random.default_rng(3)
    for name, side in (("large one.png", 80), ("small one.png", 70)):
        write_image(tmp_path / name, rng.integers(0, 256, (side, side), dtype=np.uint8))
        content = (tmp_path / name).read_bytes()
        server.client.put(f"/api/stacks/{stack}/files/{name}", content=content).raise_for_status()
    server.seen(stack)
    return stack


def test_estimates_and_jobs_name_uploaded_files(server, unlike):
    estimate = server.client.post(f"/api/stacks/{unlike}/estimate", json={}).json()
    name = server.client.post("/api/jobs", json={"stack": unlike, "options": {}}).json()["id"]
    for _ in wait(60):
        (job,) = [job for job in server.state()["jobs"] if job["id"] == name]
        if job["state"] == "failed":
            break
    for error in (estimate["error"], job["error"]):
        assert error.startswith("small one.png")
        assert "large one.png" in error
        assert str(server.work) not in error


def test_estimates_name_files_that_were_opened_in_place(server):
    folder = server.root / "unlike in place"
    folder.mkdir()
    for name, shape in (("colour.png", (40, 40, 3)), ("grey.png", (40, 40))):
        write_image(folder / name, np.zeros(shape, np.uint8))
    stack = server.client.post("/api/stacks", json={"folder": str(folder)}).json()["id"]
    server.seen(stack)
    estimate = server.client.post(f"/api/stacks/{stack}/estimate", json={}).json()
    assert estimate["error"].startswith("grey.png ") and "colour.png" in estimate["error"]
    assert str(folder) not in estimate["error"]
