"""Queued and running jobs: cancelled, crashed, on a full disk, and across a restart."""

import os
import shutil
import signal

import pytest
from job_steps import job_of, seen, serving, stack_of, wait, wait_until_under_way

from panfocus.app import job_queue, work_folder
from panfocus.errors import FileError
from waits import wait_until


def test_cancelled_crashed_and_queued_jobs(client, photos):
    stack = stack_of(client, photos / "large")
    slow = {"align": "off", "method": "coupled"}
    first, second, third = (job_of(client, stack, **slow) for _ in range(3))
    assert [seen(client, job)["state"] for job in (second, third)] == ["queued", "queued"]

    cancelled = client.post(f"/api/jobs/{third['id']}/cancel").json()
    assert (cancelled["state"], cancelled["error"]) == ("cancelled", job_queue.CANCELLED)
    wait_until_under_way(client, first)
    client.post(f"/api/jobs/{first['id']}/cancel")
    assert wait(client, first, "cancelled", "done")["state"] == "cancelled"
    left = client.app_state.store.jobs.folder(first["id"])
    wait_until(lambda: sorted(path.name for path in left.iterdir()) == ["exports", "job.json"])

    os.kill(wait_until_under_way(client, second), signal.SIGKILL)
    assert "signal 9" in wait(client, second, "failed")["error"]

    assert client.post(f"/api/jobs/{second['id']}/again").json()["state"] == "queued"
    assert seen(client, second)["error"] is None
    wait_until_under_way(client, second)
    refused = client.post(f"/api/jobs/{second['id']}/again")
    assert (refused.status_code, refused.json()["facts"]["state"]) == (409, "running")
    folder = client.app_state.store.jobs.folder(second["id"])
    assert client.delete(f"/api/jobs/{second['id']}").status_code == 204
    assert not folder.exists()
    assert second["id"] not in [job["id"] for job in client.get("/api/state").json()["jobs"]]


LEARN = {
    "name": "waited",
    "regions": [{"focused": 0, "blurred": 1, "top": 0, "left": 0, "height": 99, "width": 60}],
}


@pytest.mark.parametrize("learns", [False, True], ids=["fused", "learned from"])
def test_a_link_that_replaces_a_frame_of_a_waiting_job_is_not_followed(
    client, photos, tmp_path, monkeypatch, learns
):
    folder = photos / f"{tmp_path.name} in place"
    shutil.copytree(photos / "small", folder)
    stack, workers = stack_of(client, folder), client.app_state.workers
    lend_long = workers.lend_long

    async def meanwhile():
        (folder / "z1.png").replace(tmp_path / "outside.png")
        (folder / "z1.png").symlink_to(tmp_path / "outside.png")
        return await lend_long()

    monkeypatch.setattr(workers, "lend_long", meanwhile)
    wanted = {"learn": LEARN | {"stack": stack["id"]}} if learns else {"stack": stack["id"]}
    job = client.post("/api/jobs", json=wanted).raise_for_status().json()
    error = wait(client, job, "failed", "done")["error"]
    assert error.startswith("z1.png ") and str(tmp_path) not in error


def test_a_process_that_does_not_react_is_killed(client, photos, monkeypatch):
    monkeypatch.setattr(job_queue, "SECONDS_TO_CANCEL", 0.2)
    job = job_of(client, stack_of(client, photos / "large"), align="off", method="coupled")
    os.kill(wait_until_under_way(client, job), signal.SIGSTOP)
    assert client.post(f"/api/jobs/{job['id']}/cancel").json()["stage"] == "cancelling"
    cancelled = wait(client, job, "cancelled", "failed")
    assert (cancelled["state"], cancelled["error"]) == ("cancelled", job_queue.CANCELLED)


def test_the_process_of_a_job_ends_with_the_job(client, small):
    job = job_of(client, small, align="off", method="pca")
    pid = wait_until_under_way(client, job)
    wait(client, job, "done")
    long = client.app_state.workers._long
    wait_until(lambda: pid not in [worker._process.pid for worker in long if worker.is_alive])
    assert client.app_state.workers._next.result()._process.pid != pid


def test_a_full_disk_fails_a_job_that_can_be_retried(client, small, monkeypatch):
    shelf, saved = client.app_state.store.jobs, []

    def save(job):
        """Save new jobs, but no changes."""
        if job.id in saved:
            raise FileError("Cannot write job.json.")
        saved.append(job.id)
        type(shelf).save(shelf, job)

    with monkeypatch.context() as full_disk:
        full_disk.setattr(shelf, "save", save)
        jobs = [job_of(client, small, align="off", method="pca") for _ in range(2)]
        for job in jobs:
            failed = wait(client, job, "failed", "done")
            assert failed["error"] == "Cannot write job.json."
    client.post(f"/api/jobs/{jobs[0]['id']}/again").raise_for_status()
    assert wait(client, jobs[0], "failed", "done")["state"] == "done"


def test_a_change_that_cannot_be_saved_is_not_made(client, photos, monkeypatch):
    stack = stack_of(client, photos / "large")
    first, queued = (job_of(client, stack, align="off", method="coupled") for _ in range(2))
    wait_until_under_way(client, first)

    def refuse(*_, **__):
        raise FileError("The disk is full.")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(work_folder, "write_files", refuse)
        assert client.post(f"/api/jobs/{queued['id']}/cancel").status_code == 400
        assert seen(client, queued)["state"] == "queued"
        keys = [frame["key"] for frame in stack["frames"]]
        wanted = {"name": "x", "excluded": keys[:1], "order": keys[::-1]}
        assert client.patch(f"/api/stacks/{stack['id']}", json=wanted).status_code == 400
        now = client.get("/api/state").json()["stacks"][-1]
        frames = [(frame["name"], frame["excluded"]) for frame in now["frames"]]
        assert (now["id"], now["name"]) == (stack["id"], "large")
        assert frames == [("z0.png", False), ("z1.png", False), ("z2.png", False)]
        # Deleting, which frees space, needs none.
        assert client.delete(f"/api/jobs/{queued['id']}").status_code == 204
    client.delete(f"/api/jobs/{first['id']}")


def test_after_a_restart_running_jobs_have_failed_and_queued_ones_run(tmp_path, photos):
    work = tmp_path / "work"
    with serving(work, photos) as client:
        large, small = stack_of(client, photos / "large"), stack_of(client, photos / "small")
        under_way = job_of(client, large, align="off", method="coupled")
        waiting = job_of(client, small, align="off", method="pca")
        wait_until_under_way(client, under_way)
    with serving(work, photos) as client:
        stopped = seen(client, under_way)
        assert (stopped["state"], stopped["error"]) == ("failed", job_queue.STOPPED)
        left = client.app_state.store.jobs.folder(under_way["id"])
        assert sorted(path.name for path in left.iterdir()) == ["exports", "job.json"]
        assert wait(client, waiting, "done", "failed")["state"] == "done"


def test_results_keep_their_numbers_when_one_is_deleted(client, photos):
    stack = stack_of(client, photos / "small")
    jobs = [job_of(client, stack, align="off", method=method) for method in ("pca", "dwt", "dsift")]
    assert [job["name"] for job in jobs] == ["1. pca", "2. dwt", "3. dsift"]
    for job in jobs[::2]:
        client.delete(f"/api/jobs/{job['id']}").raise_for_status()
    jobs = [job for job in client.get("/api/state").json()["jobs"] if job["stack"] == stack["id"]]
    assert [job["name"] for job in jobs] == ["2. dwt"]
    assert job_of(client, stack)["name"] == "4. panfocus"
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()
