"""Requests about a stack: estimates, valid and invalid fusions, retries."""

import shlex
import shutil
import time

import pytest
from job_steps import FOR_LONG, SIZE, job_of, stack_of, views_of, wait


def test_invalid_fusions_are_refused_or_fail(client, small):
    stack, before = small, client.get("/api/state").json()["jobs"]
    answer = client.post("/api/jobs", json={"stack": stack["id"], "options": {"dictionary": "/etc/passwd"}})
    facts = {"setting": "dictionary", "got": "/etc/passwd"}
    assert (answer.status_code, answer.json()["facts"]) == (400, facts)
    answer = client.post("/api/jobs", json={"stack": stack["id"], "options": {"inputs": ["/etc"]}})
    assert (answer.status_code, answer.json()["facts"]) == (400, {"setting": "inputs"})
    assert client.post("/api/jobs", json={"stack": "0123456789abcdef"}).status_code == 404
    assert len(list((client.app_state.store.work / "jobs").iterdir())) == len(before)
    job = wait(client, job_of(client, stack, settings={"nose": 1}), "failed", "done")
    assert "nose" in job["error"] and "noise" in job["error"]


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '"\\ud800"', '["\\udfff"]'])
def test_values_that_json_cannot_store_are_refused(client, small, value):
    before = [views_of(client, kind) for kind in ("jobs", "stacks")]
    for method, path, body in (
        ("POST", "/api/jobs", f'{{"stack": "{small["id"]}", "options": {{"refine_strength": {value}}}}}'),
        ("POST", "/api/stacks", f'{{"name": {value}}}'),
        ("PATCH", f"/api/stacks/{small['id']}", f'{{"name": "x", "more": {value}}}'),
    ):
        assert client.request(method, path, content=body).status_code == 400
    assert [views_of(client, kind) for kind in ("jobs", "stacks")] == before


def test_an_estimate_has_the_command_and_the_error(client, photos):
    stack = stack_of(client, photos / "small")
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert (told["n_frames"], told["width"], told["height"]) == (3, SIZE[1], SIZE[0])
    assert told["command"] == f"panfocus fuse {photos / 'small'} -o fused.tif"
    assert told["error"] is None
    first_two = [frame["key"] for frame in stack["frames"][:2]]
    client.patch(f"/api/stacks/{stack['id']}", json={"excluded": first_two}).raise_for_status()
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert "z2.png" in told["error"]
    assert told["command"] == f"panfocus fuse {photos / 'small' / 'z2.png'} -o fused.tif"


def test_a_damaged_file_is_skipped(client, photos):
    folder = photos / "one damaged"
    shutil.copytree(photos / "small", folder)
    whole = (folder / "z1.png").read_bytes()
    (folder / "z1.png").write_bytes(whole[: len(whole) // 2])
    stack = stack_of(client, folder)
    until = time.monotonic() + FOR_LONG
    while (states := frame_states(client, stack)) != ["ready", "bad", "ready"]:
        assert time.monotonic() < until, states
        time.sleep(0.05)
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert (told["n_frames"], told["error"]) == (2, None)
    job = wait(client, job_of(client, stack, align="off", method="pca"), "done", "failed")
    assert (job["state"], job["error"]) == ("done", None)
    assert "z1.png" not in job["command"]
    assert "z2.png" in job["command"]

    (folder / "z1.png").write_bytes(whole)  # repaired
    assert job_of(client, stack)["command"] == f"panfocus fuse {shlex.quote(str(folder))} -o fused.tif"
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()  # others need not wait for it


def frame_states(client, stack):
    stacks = client.get("/api/state").json()["stacks"]
    (found,) = [each for each in stacks if each["id"] == stack["id"]]
    return [frame["state"] for frame in found["frames"]]


def test_a_fusion_of_fewer_than_two_usable_frames_is_refused(client, photos):
    folder = photos / "one damaged of two"
    folder.mkdir()
    shutil.copy(photos / "small" / "z0.png", folder)
    (folder / "z1.png").write_bytes(b"no image")
    stack = stack_of(client, folder)
    until = time.monotonic() + FOR_LONG
    while (states := frame_states(client, stack)) != ["ready", "bad"]:
        assert time.monotonic() < until, states
        time.sleep(0.05)
    before = views_of(client, "jobs")
    for each in (stack, client.post("/api/stacks", json={"name": "empty"}).json()):
        answer = client.post("/api/jobs", json={"stack": each["id"], "options": {}})
        assert (answer.status_code, answer.json()["facts"]) == (409, {"needed": 2})
        client.delete(f"/api/stacks/{each['id']}").raise_for_status()
    assert views_of(client, "jobs") == before


def test_a_retried_fusion_uses_the_current_frames(client, photos):
    stack = stack_of(client, photos / "small")
    job = job_of(client, stack, align="off", method="pca")
    client.post(f"/api/jobs/{job['id']}/cancel").raise_for_status()
    wait(client, job, "cancelled")
    first, second, third = (frame["key"] for frame in stack["frames"])
    changes = {"excluded": [first], "order": [third, second, first]}
    client.patch(f"/api/stacks/{stack['id']}", json=changes).raise_for_status()
    again = client.post(f"/api/jobs/{job['id']}/again").json()
    assert "z2.png" in again["command"] and "z0.png" not in again["command"]
    assert again["options"] == {"align": "off", "method": "pca"}
    done = wait(client, job, "done", "failed")
    assert done["result"]["names"] == ["z2.png", "z1.png"]
    assert (done["name"], done["command"]) == (job["name"], again["command"])
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()
