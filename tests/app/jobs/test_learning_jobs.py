"""Dictionaries that a job learns, compared with those of the command line."""

import shlex
import sys
from pathlib import Path

import pytest
from job_steps import job_of, stack_of, views_of, wait

from panfocus.cli import main


@pytest.mark.parametrize("on_a_job", [False, True], ids=["of files", "of aligned frames"])
def test_a_learned_dictionary_equals_that_of_its_command(
    client, small, plain_job, tmp_path, monkeypatch, on_a_job
):
    name = f"my optics {on_a_job:d}"
    learn = {
        "stack": small["id"],
        "name": name,
        "regions": [
            {"focused": 0, "blurred": 1, "top": 0, "left": 0, "height": 150, "width": 60},
            {"focused": 2, "blurred": 0, "top": 5, "left": 140, "height": 140, "width": 55},
        ],
        "settings": {"atoms": 32, "rounds": 4, "samples": 2000, "patch_size": 6},
    }
    if on_a_job:
        learn["job"] = plain_job["id"]
    answer = client.post("/api/jobs", json={"learn": learn})
    assert answer.status_code == 201, answer.text
    job = answer.json()
    assert client.post("/api/jobs", json={"learn": learn}).status_code == 409
    done = wait(client, job, "done", "failed")
    assert done["state"] == "done", done["error"]
    course = done["learning"]["objective"]
    assert len(course) == 4
    assert course[-1] < course[0]
    frames = [f"frame-{k}.tif" for k in range(3)] if on_a_job else []
    assert done["result"] == {"dictionary": name, "objective": course, "frames": frames}
    assert done["learning"]["atoms_version"] >= 1
    assert client.get(f"/api/jobs/{job['id']}/atoms.png").content.startswith(b"\x89PNG")
    assert name in client.get("/api/state").json()["dictionaries"]
    (tmp_path / "saved").mkdir()
    monkeypatch.chdir(tmp_path / "saved")
    for file in ["regions.toml", *frames]:
        Path(file).write_bytes(client.get(f"/api/jobs/{job['id']}/exports/{file}").content)
    monkeypatch.setattr(sys, "argv", shlex.split(done["command"]))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    learned = client.get(f"/api/dictionaries/{name}").content
    assert learned == Path(f"{name}.npz").read_bytes()
    used = wait(
        client, job_of(client, small, align="off", method="coupled", dictionary=name), "done", "failed"
    )
    assert used["state"] == "done", used["error"]
    assert "--dictionary" in used["command"]


def region(**changed):
    return {"focused": 0, "blurred": 1, "top": 0, "left": 0, "height": 50, "width": 60} | changed


@pytest.mark.parametrize(
    ("changed", "facts"),
    [
        ({"name": "../mine"}, {"setting": "name", "got": "../mine"}),
        ({"regions": []}, {"setting": "regions"}),
        ({"regions": [region(blurred=0)]}, {"setting": "regions", "region": 1}),
        ({"regions": [region(), region(focused=3)]}, {"setting": "regions", "region": 2}),
        ({"regions": [region(top=1.5)]}, {"setting": "regions", "region": 1}),
        ({"regions": [{"focused": 0, "blurred": 1}]}, {"setting": "regions", "region": 1}),
        ({"settings": {"atoms": 0}}, {"setting": "atoms"}),
        ({"settings": {"speed": 1}}, {"setting": "settings"}),
    ],
)
def test_invalid_learning_is_refused(client, small, changed, facts):
    before = views_of(client, "jobs")
    learn = {"stack": small["id"], "name": "mine", "regions": [region()]} | changed
    answer = client.post("/api/jobs", json={"learn": learn})
    assert (answer.status_code, answer.json()["facts"]) == (400, facts)
    assert views_of(client, "jobs") == before


@pytest.mark.parametrize(
    ("name", "taken"), [("levels2", "levels2"), ("KSVD", "ksvd"), ("Learned Here", "learned here")]
)
def test_a_name_that_differs_only_in_case_is_refused(client, small, name, taken):
    (client.app_state.store.dictionaries / "learned here.npz").touch()
    learn = {"stack": small["id"], "name": name, "regions": [region()]}
    answer = client.post("/api/jobs", json={"learn": learn})
    assert (answer.status_code, answer.json()["facts"]) == (409, {"setting": "name", "got": name})
    assert taken in answer.json()["error"]
    (client.app_state.store.dictionaries / "learned here.npz").unlink()


def test_a_dictionary_that_a_fusion_needs_is_not_deleted(client, photos):
    kept, shelf = "needed", client.app_state.store.dictionaries
    (shelf / f"{kept}.npz").touch()
    (shelf / "another.npz").touch()
    stack = stack_of(client, photos / "small")
    before = job_of(client, stack, align="off", method="coupled")  # the next one waits for it
    waits = job_of(client, stack, align="off", method="coupled", dictionary=kept)
    answer = client.delete(f"/api/dictionaries/{kept}")
    assert (answer.status_code, answer.json()["facts"]) == (409, {"got": kept})
    for job in (waits, before):
        client.post(f"/api/jobs/{job['id']}/cancel").raise_for_status()
        wait(client, job, "cancelled", "done")
    assert client.delete(f"/api/dictionaries/{kept}").status_code == 204
    left = client.get("/api/state").json()["dictionaries"]
    assert kept not in left
    assert "another" in left
    assert client.delete(f"/api/dictionaries/{kept}").status_code == 404
    client.delete("/api/dictionaries/another").raise_for_status()
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()


def test_learning_on_a_deleted_result_fails(client, photos):
    stack = stack_of(client, photos / "small")
    result = wait(client, job_of(client, stack, align="off", method="pca"), "done")
    before = job_of(client, stack, align="off", method="coupled")  # learning waits for it
    learn = {"stack": stack["id"], "job": result["id"], "name": "too late", "regions": [region()]}
    job = client.post("/api/jobs", json={"learn": learn}).raise_for_status().json()
    client.delete(f"/api/jobs/{result['id']}").raise_for_status()
    client.post(f"/api/jobs/{before['id']}/cancel").raise_for_status()
    assert wait(client, job, "done", "failed")["state"] == "failed"
    client.delete(f"/api/stacks/{stack['id']}").raise_for_status()
