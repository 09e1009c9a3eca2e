"""Errors name files as the user knows them, not by their paths in the work folder."""

import numpy as np
import pytest
from app_server import wait

from panfocus.io.encode import write_image


@pytest.fixture
def unlike(local, tmp_path):
    """A stack of two uploaded files of different sizes."""
    stack = local.client.post("/api/stacks", json={"name": "unlike"}).raise_for_status().json()["id"]
    rng = np.random.default_rng(3)
    for name, side in (("large one.png", 80), ("small one.png", 70)):
        write_image(tmp_path / name, rng.integers(0, 256, (side, side), dtype=np.uint8))
        content = (tmp_path / name).read_bytes()
        local.client.put(f"/api/stacks/{stack}/files/{name}", content=content).raise_for_status()
    local.seen(stack)
    return stack


def test_estimates_and_jobs_name_uploaded_files(local, unlike):
    estimate = local.client.post(f"/api/stacks/{unlike}/estimate", json={}).json()
    name = local.client.post("/api/jobs", json={"stack": unlike, "options": {}}).json()["id"]
    for _ in wait(60):
        (job,) = [job for job in local.state()["jobs"] if job["id"] == name]
        if job["state"] == "failed":
            break
    for error in (estimate["error"], job["error"]):
        assert error.startswith("small one.png")
        assert "large one.png" in error
        assert str(local.work) not in error


def test_estimates_name_files_that_were_opened_in_place(local):
    folder = local.root / "unlike in place"
    folder.mkdir()
    for name, shape in (("colour.png", (40, 40, 3)), ("grey.png", (40, 40))):
        write_image(folder / name, np.zeros(shape, np.uint8))
    stack = local.client.post("/api/stacks", json={"folder": str(folder)}).json()["id"]
    local.seen(stack)
    estimate = local.client.post(f"/api/stacks/{stack}/estimate", json={}).json()
    assert estimate["error"].startswith("grey.png ") and "colour.png" in estimate["error"]
    assert str(folder) not in estimate["error"]
