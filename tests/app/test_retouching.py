"""Retouching over HTTP: the layer is compared with the whole image painted from scratch."""

import asyncio
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from panfocus.app import retouching
from panfocus.app.responses import HANDLERS
from panfocus.app.result_layers import level_name, save_layer
from panfocus.app.state import PageJob
from panfocus.app.work_folder import Store, now
from panfocus.errors import FileError
from panfocus.io.disk_array import ArrayFolder
from panfocus.retouch import Stroke, Strokes, apply_strokes, parse_strokes
from panfocus.show.pyramid import halve, n_levels

HEIGHT, WIDTH, N = 700, 1100, 3
FRAMES = np.random.default_rng(1).integers(10, 245, (N, HEIGHT, WIDTH, 3), dtype=np.uint8)
FUSED = FRAMES[0]
ONE = Stroke(1, ((100.0, 100.0), (400.0, 900.0)), 40.0, hardness=0.5).plain()
TWO = Stroke(2, ((300.0, 700.0),), 60.0, opacity=0.5).plain()
THREE = Stroke(0, ((690.0, 1090.0), (600.0, 1000.0)), 25.0, gain=(1.2, 1.0, 0.8)).plain()


def strokes(*given, **changes):
    return {**Strokes(WIDTH, HEIGHT, N).plain(), "strokes": list(given), **changes}


class Page:
    """Requests of the page about one job, and access to the job's files."""

    def __init__(self, work):
        self.sent = []
        self.store = Store(work)
        if not self.store.jobs.all():
            about = {"stack": "", "name": "", "options": {}, "command": "", "task": {}}
            with self.store.jobs.new_folder() as folder:
                job = PageJob(id=folder.name, created=now(), kind="fuse", state="done", **about)
                self.store.jobs.save(job)
            save_layer(ArrayFolder(folder / "arrays"), "frames", FRAMES)
            save_layer(ArrayFolder(folder / "arrays"), "fused", FUSED)
        (self.job,) = self.store.jobs.all()
        self.folder = self.store.jobs.folder(self.job.id)
        self.arrays = ArrayFolder(self.folder / "arrays")
        app = Starlette(routes=retouching.routes, exception_handlers=HANDLERS)
        app.state.app = SimpleNamespace(
            store=self.store, jobs=SimpleNamespace(send=lambda job: self.sent.append(job.view()))
        )
        self.client = TestClient(app)
        self.address = f"/api/jobs/{self.job.id}/retouch"

    def got(self):
        """Return the strokes without their version."""
        answer = self.client.get(self.address)
        return {name: value for name, value in answer.json().items() if name != "version"}

    def put(self, data):
        return self.client.put(self.address, json=data)

    def files(self):
        """Return the files of the job, without the levels of pyramids."""
        found = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
        return {name for name in found if not name.endswith(".1.npy")}

    def level(self, e):
        with self.arrays.array(level_name("retouched", e)) as level:
            return level[...]

    def assert_shows(self, data):
        expected = apply_strokes(FUSED, FRAMES, parse_strokes(data))
        for e in range(n_levels(HEIGHT, WIDTH)):
            np.testing.assert_array_equal(self.level(e), expected)
            expected = halve(expected, "mean")


@pytest.fixture
def page(tmp_path):
    return Page(tmp_path)


def test_before_the_first_stroke_there_is_an_empty_list_and_no_layer(page):
    answer = page.client.get(page.address)
    assert (answer.status_code, answer.json()) == (200, {**strokes(), "version": 0})
    assert "retouched" not in page.arrays


def test_painting_undoing_and_painting_again_show_the_strokes(page):
    lists = [[ONE], [ONE, TWO], [ONE, TWO, THREE], [ONE, TWO], [TWO], [THREE, ONE], [], [ONE, THREE]]
    versions = []
    for given in lists:
        answer = page.put(strokes(*given)).json()
        assert answer["strokes"] == strokes(*given)
        versions.append(answer["version"])
        page.assert_shows(strokes(*given))
        assert page.client.get(page.address).json() == {**strokes(*given), "version": versions[-1]}
        (file,) = page.folder.glob("retouch*.json")
        assert json.loads(file.read_bytes()) == strokes(*given)
        expected = {"version": versions[-1], "n_strokes": len(given)}
        assert page.job.retouch == page.sent[-1]["retouch"] == expected
    assert sorted(set(versions)) == versions  # tiles of other strokes have another address


def test_a_tab_with_outdated_strokes_gets_the_current_ones(page):
    before = page.client.get(page.address).json()["version"]
    first = page.put(strokes(ONE, version=before)).json()
    late = page.put(strokes(TWO, version=before))
    assert late.status_code == 409
    assert late.json() == first | {"error": late.json()["error"]}  # the current strokes and their version
    page.assert_shows(strokes(ONE))
    both = page.put(strokes(ONE, TWO, version=late.json()["version"]))
    assert both.status_code == 200
    page.assert_shows(strokes(ONE, TWO))


def test_the_lock_of_a_job_admits_one_and_is_released():
    told = []

    async def retouch(job, who):
        async with retouching.job_lock(job):
            told.append(f"{who} begins")
            await asyncio.sleep(0.01)
            told.append(f"{who} ends")

    async def all_at_once():
        await asyncio.gather(retouch("a", "first"), retouch("a", "second"), retouch("b", "other"))

    asyncio.run(all_at_once())
    assert told.index("first ends") < told.index("second begins")
    assert told.index("other begins") < told.index("first ends")
    assert len(retouching._locks) == 0


def test_only_changed_areas_are_painted(page, monkeypatch):
    page.put(strokes(ONE))
    changed = []
    kept = retouching.edit_layer
    monkeypatch.setattr(
        retouching,
        "edit_layer",
        lambda layers, name, rows, cols: changed.append((rows, cols)) or kept(layers, name, rows, cols),
    )
    page.put(strokes(ONE, THREE))
    assert sum((rows.stop - rows.start) * (cols.stop - cols.start) for rows, cols in changed) <= 4 * 256**2
    changed.clear()
    page.put(strokes(ONE, THREE))
    assert changed == []


def test_a_requested_gain_is_computed_and_saved(page):
    darker = (FRAMES[1] * 0.8).astype(np.uint8)
    save_layer(page.arrays, "fused", darker)
    asked = {**ONE, "gain": None, "match": True}
    (found,) = page.put(strokes(asked)).json()["strokes"]["strokes"]
    assert "match" not in found
    np.testing.assert_allclose(found["gain"], 0.8, atol=0.01)
    again = page.put(strokes({**found, "match": True})).json()["strokes"]["strokes"]
    assert again == [found]
    assert page.client.get(page.address).json()["strokes"] == [found]


BEFORE = pytest.mark.parametrize("before", [[], [ONE]], ids=["of the first stroke", "of a later one"])


def paint_before(page, before):
    """Paint strokes; return the answer, the state of the job and its files."""
    if before:
        page.put(strokes(*before))
    return page.client.get(page.address).json(), page.job.retouch, page.files()


@BEFORE
@pytest.mark.parametrize("moment", ["painted", "kept"])
def test_a_kill_in_the_middle_of_a_change_changes_nothing(page, before, moment, tmp_path, monkeypatch):
    """A copy of all files at that moment is what a kill would leave."""
    known = paint_before(page, before)
    left = tmp_path.with_name(f"{tmp_path.name} left")

    def snapshot(*_, **__):
        shutil.copytree(tmp_path, left, dirs_exist_ok=True)

    paint, save = retouching.Retouching._paint, page.store.jobs.save
    if moment == "painted":
        monkeypatch.setattr(
            retouching.Retouching, "_paint", lambda *given, **more: (paint(*given, **more), snapshot())
        )
    else:
        monkeypatch.setattr(
            page.store.jobs, "save", lambda *given, **more: (snapshot(), save(*given, **more))
        )
    assert page.put(strokes(TWO)).status_code == 200
    monkeypatch.undo()

    killed = Page(left)
    assert "retouched" in killed.arrays
    assert killed.client.get(killed.address).json() == known[0]
    assert (killed.job.retouch, killed.files()) == known[1:]
    if before:
        killed.assert_shows(strokes(*before))
    assert killed.put(strokes(TWO)).status_code == 200
    killed.assert_shows(strokes(TWO))


@BEFORE
@pytest.mark.parametrize("what", ["layer", "job"])
def test_a_change_that_cannot_be_written_leaves_nothing(page, before, what, monkeypatch):
    known = paint_before(page, before)

    def full(*_, **__):
        raise FileError("Cannot write it.")

    monkeypatch.setattr(*((retouching, "edit_layer") if what == "layer" else (page.store.jobs, "save")), full)
    answer = page.put(strokes(THREE, TWO))
    assert answer.status_code == 400
    monkeypatch.undo()
    assert (page.client.get(page.address).json(), page.job.retouch, page.files()) == known
    if before:
        page.assert_shows(strokes(*before))
    assert page.put(strokes(THREE, TWO)).status_code == 200
    page.assert_shows(strokes(THREE, TWO))


@pytest.mark.parametrize(
    "data",
    [
        strokes(width=WIDTH - 1),
        strokes(frames=2),
        strokes({**ONE, "frame": 3}),
        strokes({**ONE, "gain": [1.0]}),
        strokes({**ONE, "points": "x" * 10_000}),
        {},
        [],
    ],
    ids=["size", "frames", "frame", "gain", "points", "empty", "list"],
)
def test_invalid_strokes_are_refused_and_change_nothing(page, data):
    page.put(strokes(ONE))
    answer = page.put(data)
    assert answer.status_code == 400
    assert len(answer.json()["error"]) < 300
    assert page.got() == strokes(ONE)
    page.assert_shows(strokes(ONE))


def test_only_finished_fusions_can_be_retouched(page):
    for change in ({"state": "running"}, {"state": "done", "kind": "learn"}):
        vars(page.job).update(change)
        assert page.put(strokes(ONE)).status_code == page.client.get(page.address).status_code == 409
    assert page.client.get("/api/jobs/0123456789abcdef/retouch").status_code == 404
