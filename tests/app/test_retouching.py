"""Retouching over HTTP: the layer against the whole picture painted anew, whatever was painted and undone."""

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from panfocus.app import retouching
from panfocus.app.answers import HANDLERS
from panfocus.app.layers import keep_layer, level_name
from panfocus.app.store import Store, now
from panfocus.io.kept_arrays import KeptArrays
from panfocus.retouch import Stroke, Strokes, apply_strokes, parse_strokes
from panfocus.show.pyramid import halved, n_levels

HEIGHT, WIDTH, N = 700, 1100, 3
FRAMES = np.random.default_rng(1).integers(10, 245, (N, HEIGHT, WIDTH, 3), dtype=np.uint8)
FUSED = FRAMES[0]
ONE = Stroke(1, ((100.0, 100.0), (400.0, 900.0)), 40.0, hardness=0.5).plain()
TWO = Stroke(2, ((300.0, 700.0),), 60.0, opacity=0.5).plain()
THREE = Stroke(0, ((690.0, 1090.0), (600.0, 1000.0)), 25.0, gain=(1.2, 1.0, 0.8)).plain()


def strokes(*given, **changes):
    return {**Strokes(WIDTH, HEIGHT, N).plain(), "strokes": list(given), **changes}


class Page:
    """What the page does with one job, and a look at what the job keeps."""

    def __init__(self, work):
        self.told = []
        self.store = Store(work)
        self.job = self.store.jobs.new_id()
        self.store.jobs.save({"id": self.job, "created": now(), "kind": "fuse", "state": "done"})
        self.folder = self.store.jobs.folder(self.job)
        self.kept = KeptArrays(self.folder / "arrays")
        keep_layer(self.kept, "frames", FRAMES)
        keep_layer(self.kept, "fused", FUSED)
        app = Starlette(routes=retouching.routes, exception_handlers=HANDLERS)
        app.state.app = SimpleNamespace(
            store=self.store,
            events=SimpleNamespace(tell=self.told.append),
            jobs=SimpleNamespace(public=lambda job: job),
        )
        self.client = TestClient(app)
        self.address = f"/api/jobs/{self.job}/retouch"

    def got(self):
        """Return the list that a page which opens now is given, without its version."""
        answer = self.client.get(self.address)
        return {name: value for name, value in answer.json().items() if name != "version"}

    def put(self, data):
        return self.client.put(self.address, json=data)

    def level(self, e):
        with self.kept.array(level_name("retouched", e)) as level:
            return level[...]

    def assert_shows(self, data):
        expected = apply_strokes(FUSED, FRAMES, parse_strokes(data))
        for e in range(n_levels(HEIGHT, WIDTH)):
            np.testing.assert_array_equal(self.level(e), expected)
            expected = halved(expected, "mean")


@pytest.fixture
def page(tmp_path):
    return Page(tmp_path)


def test_before_the_first_stroke_there_is_an_empty_list_and_no_layer(page):
    answer = page.client.get(page.address)
    assert (answer.status_code, answer.json()) == (200, {**strokes(), "version": 0})
    assert "retouched" not in page.kept


def test_painting_undoing_and_painting_again_show_what_the_list_says(page):
    lists = [[ONE], [ONE, TWO], [ONE, TWO, THREE], [ONE, TWO], [TWO], [THREE, ONE], [], [ONE, THREE]]
    versions = []
    for given in lists:
        answer = page.put(strokes(*given)).json()
        assert answer["strokes"] == strokes(*given)
        versions.append(answer["version"])
        page.assert_shows(strokes(*given))
        assert page.client.get(page.address).json() == {**strokes(*given), "version": versions[-1]}
        assert json.loads((page.folder / "retouch.json").read_bytes()) == strokes(*given)
        expected = {"version": versions[-1], "n_strokes": len(given)}
        assert page.store.jobs.get(page.job)["retouch"] == page.told[-1]["job"]["retouch"] == expected
    assert sorted(set(versions)) == versions  # tiles of another list have another address


def test_of_two_tabs_the_one_whose_list_is_older_is_told_and_nothing_is_lost(page):
    before = page.client.get(page.address).json()["version"]
    first = page.put(strokes(ONE, version=before)).json()
    late = page.put(strokes(TWO, version=before))
    assert late.status_code == 409
    assert "another tab" in late.json()["error"]
    assert late.json() == first | {
        "error": late.json()["error"]
    }  # the strokes that are there, and their version
    page.assert_shows(strokes(ONE))
    both = page.put(strokes(ONE, TWO, version=late.json()["version"]))
    assert both.status_code == 200
    page.assert_shows(strokes(ONE, TWO))


def test_a_job_is_retouched_by_one_at_a_time_and_no_lock_is_left():
    told = []

    async def retouch(job, who):
        async with retouching.one_at_a_time(job):
            told.append(f"{who} begins")
            await asyncio.sleep(0.01)
            told.append(f"{who} ends")

    async def all_at_once():
        await asyncio.gather(retouch("a", "first"), retouch("a", "second"), retouch("b", "other"))

    asyncio.run(all_at_once())
    assert told.index("first ends") < told.index("second begins")
    assert told.index("other begins") < told.index("first ends")
    assert len(retouching._locks) == 0


def test_only_what_changed_is_painted(page, monkeypatch):
    page.put(strokes(ONE))
    changed = []
    kept = retouching.changed_layer
    monkeypatch.setattr(
        retouching,
        "changed_layer",
        lambda layers, name, rows, cols: changed.append((rows, cols)) or kept(layers, name, rows, cols),
    )
    page.put(strokes(ONE, THREE))
    assert sum((rows.stop - rows.start) * (cols.stop - cols.start) for rows, cols in changed) <= 4 * 256**2
    changed.clear()
    page.put(strokes(ONE, THREE))
    assert changed == []


def test_a_gain_that_is_asked_for_is_found_saved_and_kept(page):
    darker = (FRAMES[1] * 0.8).astype(np.uint8)
    keep_layer(page.kept, "fused", darker)
    asked = {**ONE, "gain": None, "match": True}
    (found,) = page.put(strokes(asked)).json()["strokes"]["strokes"]
    assert "match" not in found
    np.testing.assert_allclose(found["gain"], 0.8, atol=0.01)
    again = page.put(strokes({**found, "match": True})).json()["strokes"]["strokes"]
    assert again == [found]
    assert page.client.get(page.address).json()["strokes"] == [found]


def test_a_layer_that_was_cut_short_is_painted_anew(page):
    """As by a kill while strokes were painted: they are saved, and the layer has some of them."""
    page.put(strokes(ONE))
    (page.folder / "retouch.json").write_text(json.dumps(strokes(ONE, TWO)))
    with page.kept.array("retouched", change=True) as layer:
        layer[280:320, 680:720] = 7
    assert page.got() == strokes(ONE, TWO)
    page.assert_shows(strokes(ONE, TWO))
    with page.kept.array("retouched", change=True) as layer:
        layer[280:320, 680:720] = 7
    (page.folder / "retouch.json").write_text(json.dumps(strokes(TWO)))
    page.put(strokes(ONE))
    page.assert_shows(strokes(ONE))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (strokes(width=WIDTH - 1), "1099 x 700"),
        (strokes(frames=2), "2 frames"),
        (strokes({**ONE, "frame": 3}), "stroke 0: frame"),
        (strokes({**ONE, "gain": [1.0]}), "stroke 0: gain"),
        (strokes({**ONE, "points": "x" * 10_000}), "stroke 0: points"),
        ({}, "no retouching strokes"),
        ([], "JSON object"),
    ],
)
def test_what_is_no_stroke_is_refused_and_nothing_changes(page, data, said):
    page.put(strokes(ONE))
    answer = page.put(data)
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert page.got() == strokes(ONE)
    page.assert_shows(strokes(ONE))


def test_only_a_fusion_that_is_done_is_retouched(page):
    job = page.store.jobs.get(page.job)
    for change in ({"state": "running"}, {"kind": "learn"}):
        page.store.jobs.save({**job, **change})
        assert page.put(strokes(ONE)).status_code == page.client.get(page.address).status_code == 409
    assert page.client.get("/api/jobs/0123456789abcdef/retouch").status_code == 404
