"""A fusion that is done, and a window of a real browser that shows it."""

import pytest
import small_stacks
from app_server import wait
from PIL import Image
from tool_screen import HEIGHT, WIDTH, N, show

from browser import new_context

# So that what is composed are the values of the files themselves.
PLAIN = {"method": "pca", "align": "off", "exposure": "off", "hot_pixels": "off"}


@pytest.fixture(scope="session")
def frames():
    """Frames, each sharp in a band of its own; the third has red for blue: its paint is well seen."""
    made = small_stacks.frames(N, (HEIGHT, WIDTH))
    made[2] = made[2, ..., ::-1].copy()
    return made


@pytest.fixture(scope="session")
def job(serves, frames):
    """A fusion of these frames."""
    folder = serves.root / "scarab"
    folder.mkdir()
    for k, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"frame-{k + 1}.png")
    stack = serves.client.post("/api/stacks", json={"folder": str(folder)}).json()
    made = serves.client.post("/api/jobs", json={"stack": stack["id"], "options": PLAIN}).json()
    for _ in wait(60):
        (now,) = (each for each in serves.state()["jobs"] if each["id"] == made["id"])
        if now["state"] not in ("queued", "running"):
            break
    assert now["state"] == "done", now
    return now


@pytest.fixture
def context(chromium):
    """A browser's window; what its pages complain of in the console fails the test."""
    opened = new_context(chromium)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture
def page(context, serves, job):
    """Open the job, without strokes."""
    path = f"/api/jobs/{job['id']}/retouch"
    assert serves.client.put(path, json=serves.client.get(path).json() | {"strokes": []}).status_code == 200
    return show(context.new_page(), serves, job)
