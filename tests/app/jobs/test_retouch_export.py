"""Exports of retouched images, compared with the command line."""

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from job_steps import job_of, seen, serving, stack_of, wait
from scipy.ndimage import gaussian_filter

from panfocus.app import exports
from panfocus.app.retouching import job_lock
from panfocus.app.state import PageJob
from panfocus.app.work_folder import Store
from panfocus.cli import main
from panfocus.errors import FileError
from panfocus.io.disk_array import ArrayFolder
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.retouch import Stroke, Strokes

HEIGHT, WIDTH = 90, 120


@pytest.fixture
def frames(photos):
    """Two frames of 16 bits, each sharp on one side, the second darker, so that exposure is corrected."""
    rng = np.random.default_rng(7)
    sharp = gaussian_filter(rng.random((HEIGHT, WIDTH, 3)), (0.6, 0.6, 0))
    soft = gaussian_filter(sharp, (2, 2, 0))
    pair = np.stack([sharp, soft])
    pair[:, :, WIDTH // 2 :] = pair[::-1, :, WIDTH // 2 :].copy()
    pair[1] *= 0.9
    folder = photos / "two of 16 bits"
    folder.mkdir()
    for name, frame in zip("ab", pair, strict=True):
        write_image(folder / f"{name}.tif", np.rint(60_000 * frame).astype(np.uint16))
    return folder


def test_the_command_paints_the_strokes_of_the_page(client, frames, tmp_path, monkeypatch):
    stack = client.post("/api/stacks", json={"folder": str(frames)}).json()
    made = client.post("/api/jobs", json={"stack": stack["id"], "options": {"align": "off"}}).json()
    job = wait(client, made, "done", "failed")
    assert job["state"] == "done", job["error"]
    here = f"/api/jobs/{job['id']}"
    assert client.get(f"{here}/tiles/retouched/0/0_0").status_code == 404
    assert client.post(f"{here}/export", json={"what": ["retouch"]}).status_code == 409

    hard = Stroke(1, ((20.0, 20.0), (60.0, 40.0)), 9.0).plain()
    matched = {**Stroke(0, ((50.0, 90.0),), 20.0, hardness=0.3, opacity=0.7).plain(), "match": True}
    asked = {**Strokes(WIDTH, HEIGHT, 2).plain(), "strokes": [hard, matched]}
    answer = client.put(f"{here}/retouch", json=asked)
    assert answer.status_code == 200, answer.json()
    assert seen(client, job)["retouch"] == {"version": answer.json()["version"], "n_strokes": 2}
    assert client.get(f"{here}/tiles/retouched/0/0_0").status_code == 200

    wanted = {"format": "tif", "what": ["image", "retouch"]}
    exported = client.post(f"{here}/export", json=wanted).json()
    monkeypatch.chdir(tmp_path)
    for file in exported["files"]:
        Path(file["name"]).write_bytes(client.get(file["url"]).content)
    (picture,) = Path().glob("*.tif")
    (strokes,) = Path().glob("*.json")
    command = ["fuse", str(frames), "--align", "off", "-o", "again.tif", "--retouch", str(strokes)]
    monkeypatch.setattr(sys, "argv", ["panfocus", *command])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert picture.read_bytes() == Path("again.tif").read_bytes()
    assert "--retouch" in exported["command"]
    shown = client.get(f"{here}/crop/retouched", params={"row": 20, "col": 20, "size": 16})
    assert shown.status_code == 200
    assert read_image(picture).dtype == np.uint16


def test_a_stroke_that_cannot_be_saved_is_not_exported(client, plain_job, monkeypatch):
    def full(*_, **__):
        raise FileError("Cannot write job.json.")

    here = f"/api/jobs/{plain_job['id']}"
    unretouched = picture_of(client, here)
    asked = client.get(f"{here}/retouch").json()
    monkeypatch.setattr(client.app_state.store.jobs, "save", full)
    stroke = Stroke(1, ((20.0, 20.0), (60.0, 40.0)), 9.0).plain()
    assert client.put(f"{here}/retouch", json=asked | {"strokes": [stroke]}).status_code == 400
    monkeypatch.undo()
    assert client.get(f"{here}/retouch").json() == asked
    assert seen(client, plain_job)["retouch"] is None
    assert picture_of(client, here) == unretouched
    assert client.post(f"{here}/export", json={"what": ["retouch"]}).status_code == 409


def test_interrupted_painting_is_completed_at_the_next_start(photos, tmp_path):
    with serving(tmp_path / "work", photos) as client:
        stack = stack_of(client, photos / "small")
        job = wait(client, job_of(client, stack, align="off", method="pca"), "done")
        here = f"/api/jobs/{job['id']}"
        stroke = Stroke(1, ((20.0, 20.0), (60.0, 40.0)), 9.0).plain()
        asked = client.get(f"{here}/retouch").json() | {"strokes": [stroke]}
        assert client.put(f"{here}/retouch", json=asked).status_code == 200
        tile = client.get(f"{here}/tiles/retouched/0/0_0").content
        arrays = client.app_state.store.jobs.folder(job["id"]) / "arrays"
    (arrays / "painting").touch()  # left by a kill
    with ArrayFolder(arrays).array("retouched", change=True) as layer:
        layer[20:60, 20:60] = 7
    with serving(tmp_path / "work", photos) as client:
        assert client.get(f"{here}/tiles/retouched/0/0_0").content == tile


def picture_of(client, here):
    """Return the only file of an export."""
    (file,) = client.post(f"{here}/export", json={"format": "png"}).json()["files"]
    return client.get(file["url"]).content


def test_an_export_waits_for_painting_and_copies_the_strokes(tmp_path):
    """Strokes may change while files are written; the files have one version of them."""
    store = Store(tmp_path)
    about = {"stack": "", "name": "", "options": {}, "command": "", "task": {}}
    with store.jobs.new_folder() as folder:
        job = PageJob(id=folder.name, created=0.0, kind="fuse", **about)
    strokes = folder / "retouch-1.json"

    async def run():
        async with job_lock(job.id):
            exporting = asyncio.create_task(export())
            await asyncio.sleep(0.1)
            strokes.write_text("new")
            job.retouch = {"version": 1, "n_strokes": 1}
        return await exporting

    async def export():
        return await exports._copy_strokes(SimpleNamespace(store=store), job, tmp_path / "copy.json")

    assert asyncio.run(run()) == tmp_path / "copy.json"
    strokes.write_text("newer")
    assert (tmp_path / "copy.json").read_text() == "new"
