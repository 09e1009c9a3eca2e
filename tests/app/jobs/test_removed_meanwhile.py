"""Stacks and jobs that are deleted in one tab while another uses them leave nothing behind."""

import asyncio
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from job_steps import SIZE, job_of, serving, stack_of, wait

from panfocus.app.retouching import Retouching

STROKE = {"frame": 2, "points": [[40, 30]], "radius": 12, "hardness": 0.5, "opacity": 0.8, "gain": None}
STROKES = {"panfocus_retouch": 1, "width": SIZE[1], "height": SIZE[0], "frames": 3, "strokes": [STROKE]}


def test_a_job_that_is_deleted_during_a_stroke_leaves_no_folder(client, small, monkeypatch):
    job = wait(client, job_of(client, small, align="off", method="pca"), "done")
    folder = client.app_state.store.jobs.folder(job["id"])
    change, painting, may_paint = Retouching.change, threading.Event(), threading.Event()

    def slow(self, *given):
        painting.set()
        assert may_paint.wait(10)
        return change(self, *given)

    monkeypatch.setattr(Retouching, "change", slow)
    with ThreadPoolExecutor() as tabs:
        saving = tabs.submit(client.put, f"/api/jobs/{job['id']}/retouch", json=STROKES)
        assert painting.wait(10)
        deleting = tabs.submit(client.delete, f"/api/jobs/{job['id']}")
        time.sleep(0.3)
        may_paint.set()
        assert deleting.result().status_code == 204
        assert saving.result().status_code == 200
    assert not folder.exists()
    assert job["id"] not in [each["id"] for each in client.get("/api/state").json()["jobs"]]


def jobs_of(client, stack):
    return [job for job in client.get("/api/state").json()["jobs"] if job["stack"] == stack["id"]]


def test_a_stack_that_is_being_deleted_cannot_be_fused(client, photos, monkeypatch):
    stack = stack_of(client, photos / "small")
    job_of(client, stack, align="off", method="pca")
    jobs, told = client.app_state.jobs, []
    remove = jobs.remove

    async def meanwhile(name):
        """Remove a job after another tab has pressed Fuse and Rename."""
        wanted = {"stack": stack["id"], "options": {"align": "off", "method": "pca"}}
        told.append(await asyncio.to_thread(client.post, "/api/jobs", json=wanted))
        told.append(await asyncio.to_thread(client.patch, f"/api/stacks/{stack['id']}", json={"name": "x"}))
        await remove(name)

    monkeypatch.setattr(jobs, "remove", meanwhile)
    assert client.delete(f"/api/stacks/{stack['id']}").status_code == 204
    assert [answer.status_code for answer in told] == [404, 404]
    assert jobs_of(client, stack) == []


def test_a_stack_is_deleted_while_another_tab_deletes_its_job(client, photos, monkeypatch):
    stack = stack_of(client, photos / "small")
    first, second, third = (job_of(client, stack, align="off", method="pca") for _ in range(3))
    jobs = client.app_state.jobs
    remove = jobs.remove

    async def meanwhile(name):
        await remove(name)
        if name == first["id"]:
            await remove(second["id"])

    monkeypatch.setattr(jobs, "remove", meanwhile)
    assert client.delete(f"/api/stacks/{stack['id']}").status_code == 204
    assert jobs_of(client, stack) == []
    assert not client.app_state.store.jobs.folder(third["id"]).exists()


def test_jobs_without_a_stack_are_removed_at_the_start(tmp_path, photos):
    work = tmp_path / "work"
    with serving(work, photos) as client:
        gone, damaged = (stack_of(client, photos / "small") for _ in range(2))
        jobs = [job_of(client, stack, align="off", method="pca") for stack in (gone, damaged)]
        for job in jobs:
            wait(client, job, "done")
    shutil.rmtree(work / "stacks" / gone["id"])
    (work / "stacks" / damaged["id"] / "stack.json").write_text("{")  # skipped; the user may repair it
    with serving(work, photos) as client:
        assert [job["stack"] for job in client.get("/api/state").json()["jobs"]] == [damaged["id"]]
        assert not (work / "jobs" / jobs[0]["id"]).exists()
