"""Ctrl-C ends the server soon, whatever is under way, and what is to be kept is kept."""

import signal
import time

import pytest
import small_stacks
from app_server import running_server, wait

SOON = 4.5  # s; on an idle machine it takes about one


@pytest.fixture
def place(tmp_path):
    small_stacks.write(tmp_path / "pictures" / "large", n=4, size=(1500, 2000))
    return tmp_path


def job_in(server, name):
    (job,) = [job for job in server.state()["jobs"] if job["id"] == name]
    return job


def test_ctrl_c_while_a_job_runs_takes_no_time_and_loses_nothing_but_the_job(place):
    with running_server(place / "work", place / "pictures") as server:
        folder = str(place / "pictures" / "large")
        stack = server.client.post("/api/stacks", json={"folder": folder}).json()["id"]
        server.seen(stack)
        wanted = {"stack": stack, "options": {"align": "off", "method": "coupled"}}
        name = server.client.post("/api/jobs", json=wanted).raise_for_status().json()["id"]
        for _ in wait(180):
            if job_in(server, name)["stage"] == "fuse":
                break
        began = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        server.process.wait(20)
        assert time.monotonic() - began < SOON
    with running_server(place / "work", place / "pictures") as server:
        assert len(server.stack(stack)["frames"]) == 4
        job = job_in(server, name)
        assert job["state"] == "failed"
        assert job["error"].startswith("panfocus app was ended while this ran")
        kept = sorted(path.name for path in (place / "work" / "jobs" / name).iterdir())
        assert kept == ["exports", "job.json"]
