"""Ctrl-C ends the server while a job runs, and everything but that job is kept."""

import signal

import pytest
import small_stacks
from app_server import running_server, wait

from panfocus.app.job_queue import STOPPED


@pytest.fixture
def place(tmp_path):
    small_stacks.write(tmp_path / "pictures" / "large", n=4, size=(900, 1200))
    return tmp_path


def job_in(server, name):
    (job,) = [job for job in server.state()["jobs"] if job["id"] == name]
    return job


def test_ctrl_c_ends_a_running_job_and_loses_nothing_else(place):
    with running_server(place / "work", place / "pictures") as server:
        folder = str(place / "pictures" / "large")
        stack = server.client.post("/api/stacks", json={"folder": folder}).json()["id"]
        server.seen(stack)
        wanted = {"stack": stack, "options": {"align": "off", "method": "coupled"}}
        name = server.client.post("/api/jobs", json=wanted).raise_for_status().json()["id"]
        for _ in wait(180):
            if job_in(server, name)["stage"] == "fuse":
                break
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
    with running_server(place / "work", place / "pictures") as server:
        assert len(server.stack(stack)["frames"]) == 4
        job = job_in(server, name)
        assert (job["state"], job["error"]) == ("failed", STOPPED)
        kept = sorted(path.name for path in (place / "work" / "jobs" / name).iterdir())
        assert kept == ["exports", "job.json"]
