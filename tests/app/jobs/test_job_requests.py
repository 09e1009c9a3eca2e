"""What is asked of a stack: estimates, fusions that can and cannot be done, values that cannot be kept."""

import shlex
import shutil
import time

import pytest
from job_steps import FOR_LONG, SIZE, all_told, job_of, stack_of, wait


def test_a_fusion_that_cannot_be_done_says_why(client, small):
    stack, before = small, client.get("/api/state").json()["jobs"]
    answer = client.post("/api/jobs", json={"stack": stack["id"], "options": {"dictionary": "/etc/passwd"}})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("there is no dictionary /etc/passwd")
    answer = client.post("/api/jobs", json={"stack": stack["id"], "options": {"inputs": ["/etc"]}})
    assert answer.json() == {"error": "inputs is no option of a fusion"}
    assert client.post("/api/jobs", json={"stack": "0123456789abcdef"}).status_code == 404
    assert len(list((client.app_state.store.work / "jobs").iterdir())) == len(before)
    job = wait(client, job_of(client, stack, settings={"nose": 1}), "failed", "done")
    assert job["error"] == (
        "method 'panfocus' has no setting 'nose'; known: composition, quality, front, noise, dictionary"
    )


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '"\\ud800"', '["\\udfff"]'])
def test_what_cannot_be_written_as_json_is_refused_and_kept_nowhere(client, small, value):
    before = [all_told(client, kind) for kind in ("jobs", "stacks")]
    for method, path, body in (
        ("POST", "/api/jobs", f'{{"stack": "{small["id"]}", "options": {{"refine_strength": {value}}}}}'),
        ("POST", "/api/stacks", f'{{"name": {value}}}'),
        ("PATCH", f"/api/stacks/{small['id']}", f'{{"name": "x", "more": {value}}}'),
    ):
        answer = client.request(method, path, content=body)
        assert answer.status_code == 400
        assert answer.json()["error"].endswith("finite numbers and whole characters")
    assert [all_told(client, kind) for kind in ("jobs", "stacks")] == before


def test_an_estimate_has_the_command_and_what_is_wrong(client, photos):
    stack = stack_of(client, photos / "small")
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert (told["n_frames"], told["width"], told["height"]) == (3, SIZE[1], SIZE[0])
    assert told["command"] == f"panfocus fuse {photos / 'small'} -o fused.tif"
    assert told["error"] is None
    first_two = [frame["key"] for frame in stack["frames"][:2]]
    client.patch(f"/api/stacks/{stack['id']}", json={"excluded": first_two}).raise_for_status()
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert "fusion needs at least two frames" in told["error"]
    assert told["command"] == f"panfocus fuse {photos / 'small' / 'z2.png'} -o fused.tif"


def test_a_damaged_file_is_left_out_and_the_others_are_fused(client, photos):
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

    (folder / "z1.png").write_bytes(whole)  # mended
    assert job_of(client, stack)["command"] == f"panfocus fuse {shlex.quote(str(folder))} -o fused.tif"
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()  # others need not wait for it


def frame_states(client, stack):
    stacks = client.get("/api/state").json()["stacks"]
    (found,) = [each for each in stacks if each["id"] == stack["id"]]
    return [frame["state"] for frame in found["frames"]]


def test_a_fusion_of_fewer_than_two_usable_frames_is_refused_in_the_pages_words(client, photos):
    folder = photos / "one of two damaged"
    folder.mkdir()
    shutil.copy(photos / "small" / "z0.png", folder)
    (folder / "z1.png").write_bytes(b"no image")
    stack, words = stack_of(client, folder), "A fusion needs at least two frames."
    assert f'"{words}"' in client.get("/static/js/settings.js").text
    until = time.monotonic() + FOR_LONG
    while (states := frame_states(client, stack)) != ["ready", "bad"]:
        assert time.monotonic() < until, states
        time.sleep(0.05)
    before = all_told(client, "jobs")
    for each in (stack, client.post("/api/stacks", json={"name": "empty"}).json()):
        answer = client.post("/api/jobs", json={"stack": each["id"], "options": {}})
        assert (answer.status_code, answer.json()) == (409, {"error": words})
        client.delete(f"/api/stacks/{each['id']}").raise_for_status()
    assert all_told(client, "jobs") == before
