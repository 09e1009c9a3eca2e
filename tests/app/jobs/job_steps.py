"""Steps of job tests: a server in this process, stacks, jobs, and waiting for them."""

import time
from contextlib import contextmanager

from app_server import local_server

SIZE = (160, 200)
FOR_LONG = 180  # s that a fusion may take on a busy machine, the first one with compiling


@contextmanager
def serving(work, photos):
    with local_server(work, photos) as server:
        server.client.app_state = server.app
        yield server.client


def stack_of(client, folder):
    return client.post("/api/stacks", json={"folder": str(folder)}).json()


def job_of(client, stack, **options):
    answer = client.post("/api/jobs", json={"stack": stack["id"], "options": options})
    assert answer.status_code == 201, answer.text
    return answer.json()


def seen(client, job):
    return next(each for each in client.get("/api/state").json()["jobs"] if each["id"] == job["id"])


def views_of(client, kind):
    """Return all stacks or jobs without their revisions."""
    return [each | {"revision": None} for each in client.get("/api/state").json()[kind]]


def wait(client, job, *states, seconds=FOR_LONG):
    until = time.monotonic() + seconds
    while (now := seen(client, job))["state"] not in states:
        assert time.monotonic() < until, now
        time.sleep(0.05)
    return now


def wait_until_under_way(client, job):
    """Wait until its process reports a stage; return the id of the process."""
    until = time.monotonic() + FOR_LONG
    while not seen(client, job)["stage"]:
        assert time.monotonic() < until
        time.sleep(0.02)
    return client.app_state.jobs._worker._process.pid
