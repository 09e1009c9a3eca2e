"""A finished fusion, shown in the browser."""

import pytest
import small_stacks
from app_server import wait
from PIL import Image
from tool_screen import HEIGHT, WIDTH, N, show

from browser import new_context

# The result contains the unchanged values of the files.
PLAIN = {"method": "pca", "align": "off", "exposure": "off", "hot_pixels": "off"}


@pytest.fixture(scope="session")
def frames():
    """Frames, each sharp in another band; the third one has red and blue swapped, to be visible as paint."""
    made = small_stacks.frames(N, (HEIGHT, WIDTH))
    made[2] = made[2, ..., ::-1].copy()
    return made


@pytest.fixture(scope="session")
def job(page_server, frames):
    """A fusion of these frames."""
    folder = page_server.root / "scarab"
    folder.mkdir()
    for k, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"frame-{k + 1}.png")
    stack = page_server.client.post("/api/stacks", json={"folder": str(folder)}).json()
    made = page_server.client.post("/api/jobs", json={"stack": stack["id"], "options": PLAIN}).json()
    for _ in wait(60):
        (now,) = (each for each in page_server.state()["jobs"] if each["id"] == made["id"])
        if now["state"] not in ("queued", "running"):
            break
    assert now["state"] == "done", now
    return now


@pytest.fixture
def context(chromium):
    """A browser context; a console error fails the test."""
    opened = new_context(chromium)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture
def page(context, page_server, job):
    """Open the job, without strokes."""
    path = f"/api/jobs/{job['id']}/retouch"
    assert (
        page_server.client.put(path, json=page_server.client.get(path).json() | {"strokes": []}).status_code
        == 200
    )
    return show(context.new_page(), page_server, job)
