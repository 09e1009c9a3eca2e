"""Jobs over HTTP, in real worker processes: queue, progress, cancel, crash, restart, export and learning."""

import os
import shlex
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter
from starlette.testclient import TestClient

from panfocus.app import jobs, store
from panfocus.app.server import App, application
from panfocus.app.uploads import Limits
from panfocus.cli import main
from panfocus.errors import FileError

ADDRESS, PORT = "http://127.0.0.1:8765", 8765
SIZE = (160, 200)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of three frames, a third of the width sharp in each, and a larger one that takes a while."""
    root = tmp_path_factory.mktemp("photos")
    for name, (height, width) in {"small": SIZE, "large": (1500, 2000)}.items():
        (root / name).mkdir()
        rng = np.random.default_rng(4)
        sharp = gaussian_filter(rng.random((height, width)), 0.7)
        sharp = (sharp - sharp.min()) / np.ptp(sharp)
        soft = gaussian_filter(sharp, 2)
        third = np.arange(width) * 3 // width
        for k in range(3):
            frame = np.where(third == k, sharp, soft)
            Image.fromarray(np.rint(255 * frame).astype(np.uint8)).save(root / name / f"z{k}.png")
    return root


@contextmanager
def serving(work, photos):
    work.mkdir(exist_ok=True)
    app = App(work, [photos], Limits())
    headers = {"Authorization": f"Bearer {app.store.token}"}
    with TestClient(application(app, port=PORT), base_url=ADDRESS, headers=headers) as client:
        client.app_state = app
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory, photos):
    with serving(tmp_path_factory.mktemp("server") / "work", photos) as client:
        yield client


@pytest.fixture(scope="module")
def small(client, photos):
    return stack_of(client, photos / "small")


@pytest.fixture(scope="module")
def plain_job(client, small):
    """A job that is done, without maps."""
    return wait(client, job_of(client, small, align="off", method="pca"), "done")


def stack_of(client, folder):
    return client.post("/api/stacks", json={"folder": str(folder)}).json()


def job_of(client, stack, **options):
    answer = client.post("/api/jobs", json={"stack": stack["id"], "options": options})
    assert answer.status_code == 201, answer.text
    return answer.json()


def seen(client, job):
    return next(each for each in client.get("/api/state").json()["jobs"] if each["id"] == job["id"])


def wait(client, job, *states, seconds=60):
    until = time.monotonic() + seconds
    while (now := seen(client, job))["state"] not in states:
        assert time.monotonic() < until, now
        time.sleep(0.05)
    return now


def wait_until_under_way(client, job):
    """Wait until its process does something; return the id of that process."""
    until = time.monotonic() + 60
    while not seen(client, job)["stage"]:
        assert time.monotonic() < until
        time.sleep(0.02)
    return client.app_state.jobs._worker._process.pid


def test_what_a_fusion_exports_is_what_its_command_writes(client, photos, small, tmp_path, monkeypatch):
    job = job_of(client, small, align="off", settings={"noise": 1.5})
    assert job["command"] == f"panfocus fuse {photos / 'small'} --set noise=1.5 --align off -o fused.tif"
    done = wait(client, job, "done", "failed")
    assert done["state"] == "done", done["error"]
    assert (done["result"]["width"], done["result"]["height"]) == (SIZE[1], SIZE[0])
    assert done["live"] >= 1
    assert done["started"] <= done["ended"]
    assert any(line.startswith("fused 3 frames") for line in done["said"])
    assert "task" not in done

    wanted = {"format": "png", "what": ["image", "labels", "depth", "confidence", "report"]}
    told = client.post(f"/api/jobs/{job['id']}/export", json=wanted).json()
    folder = tmp_path / "typed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", shlex.split(told["command"]))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    assert {file["name"] for file in told["files"]} == {path.name for path in folder.iterdir()}
    for file in told["files"]:
        downloaded = client.get(file["url"])
        assert downloaded.headers["content-disposition"].startswith("attachment")
        assert len(downloaded.content) == file["bytes"]
        if not file["name"].endswith(".json"):  # a report has the seconds that it took
            assert downloaded.content == (folder / file["name"]).read_bytes(), file["name"]


def test_retouching_is_exported_as_its_command_does_it(client, small, tmp_path, monkeypatch):
    job = wait(client, job_of(client, small, align="off", method="pca"), "done")
    stroke = {
        "frame": 2, "points": [[40, 30], [90, 60]], "radius": 12, "hardness": 0.5,
        "opacity": 0.8, "gain": None,
    }  # fmt: skip
    strokes = {"panfocus_retouch": 1, "width": SIZE[1], "height": SIZE[0], "frames": 3, "strokes": [stroke]}
    assert client.put(f"/api/jobs/{job['id']}/retouch", json=strokes).status_code == 200
    told = client.post(f"/api/jobs/{job['id']}/export", json={"format": "png"}).json()
    assert "files" in told, told
    picture, painting = (client.get(file["url"]).content for file in told["files"])
    folder = tmp_path / "typed"
    folder.mkdir()
    (folder / told["files"][1]["name"]).write_bytes(painting)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", shlex.split(told["command"]))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    assert "--retouch" in told["command"]
    assert picture == (folder / told["files"][0]["name"]).read_bytes()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"format": "bmp"}, "format: needed is one of tif"),
        ({"what": ["../../etc/passwd"]}, "what: needed is a list of"),
        ({"what": ["depth"]}, "the method pca gives no depth"),
        ({"format": "png", "bits": 9}, "--bits must be 8 or 16"),
        ({"bits": "8"}, "whole numbers"),
        ({"format": "webp"}, "WebP holds colours, the frames are grey"),
    ],
)
def test_an_export_that_cannot_be_is_refused_in_one_line(client, plain_job, wanted, said):
    answer = client.post(f"/api/jobs/{plain_job['id']}/export", json=wanted)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize("name", ["..%2Fjob.json", "%2E%2E/job.json", "job.json", "none"])
def test_nothing_but_exports_is_downloaded(client, plain_job, name):
    assert client.get(f"/api/jobs/{plain_job['id']}/exports/{name}").status_code == 404


def test_cancelled_crashed_and_queued_jobs(client, photos):
    stack = stack_of(client, photos / "large")
    slow = {"align": "off", "method": "coupled"}
    first, second, third = (job_of(client, stack, **slow) for _ in range(3))
    assert [seen(client, job)["state"] for job in (second, third)] == ["queued", "queued"]

    assert client.post(f"/api/jobs/{third['id']}/cancel").json()["state"] == "cancelled"
    wait_until_under_way(client, first)
    began = time.monotonic()
    client.post(f"/api/jobs/{first['id']}/cancel")
    assert wait(client, first, "cancelled", "done")["state"] == "cancelled"
    assert time.monotonic() - began < 9  # it listened: it need not be killed
    left = client.app_state.store.jobs.folder(first["id"])
    while (left / "live.png").exists():
        time.sleep(0.02)
    assert sorted(path.name for path in left.iterdir()) == ["exports", "job.json"]

    os.kill(wait_until_under_way(client, second), signal.SIGKILL)
    assert "killed by signal 9" in wait(client, second, "failed")["error"]

    assert client.post(f"/api/jobs/{second['id']}/again").json()["state"] == "queued"
    assert seen(client, second)["error"] is None
    wait_until_under_way(client, second)
    assert client.post(f"/api/jobs/{second['id']}/again").status_code == 409
    folder = client.app_state.store.jobs.folder(second["id"])
    assert client.delete(f"/api/jobs/{second['id']}").status_code == 204
    assert not folder.exists()
    assert second["id"] not in [job["id"] for job in client.get("/api/state").json()["jobs"]]


def test_a_process_that_does_not_listen_is_killed(client, photos, monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS_TO_CANCEL", 0.2)
    job = job_of(client, stack_of(client, photos / "large"), align="off", method="coupled")
    os.kill(wait_until_under_way(client, job), signal.SIGSTOP)
    assert client.post(f"/api/jobs/{job['id']}/cancel").json()["stage"] == "cancelling"
    cancelled = wait(client, job, "cancelled", "failed")
    assert (cancelled["state"], cancelled["error"]) == ("cancelled", None)


def test_a_full_disk_fails_a_job_and_the_next_one_is_done(client, small, monkeypatch):
    shelf, kept = client.app_state.store.jobs, []

    def save(job, **changes):
        """Keep what is put into the queue, and nothing more."""
        if job["id"] in kept:
            raise FileError("job.json: cannot be written (no space left on device)")
        kept.append(job["id"])
        type(shelf).save(shelf, job, **changes)

    with monkeypatch.context() as full_disk:
        full_disk.setattr(shelf, "save", save)
        jobs_ = [job_of(client, small, align="off", method="pca") for _ in range(2)]
        for job in jobs_:
            failed = wait(client, job, "failed", "done")
            assert failed["error"] == "job.json: cannot be written (no space left on device)"
    client.post(f"/api/jobs/{jobs_[0]['id']}/again").raise_for_status()
    assert wait(client, jobs_[0], "failed", "done")["state"] == "done"


def test_a_change_that_cannot_be_kept_is_not_made(client, photos, monkeypatch):
    stack = stack_of(client, photos / "large")
    first, queued = (job_of(client, stack, align="off", method="coupled") for _ in range(2))
    wait_until_under_way(client, first)

    def refuse(*_, **__):
        raise FileError("no space left on device")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(store, "write_files", refuse)
        answer = client.post(f"/api/jobs/{queued['id']}/cancel")
        assert (answer.status_code, answer.json()) == (400, {"error": "no space left on device"})
        assert seen(client, queued)["state"] == "queued"
        wanted = {"name": "x", "excluded": [0], "order": [2, 1, 0]}
        assert client.patch(f"/api/stacks/{stack['id']}", json=wanted).status_code == 400
        now = client.get("/api/state").json()["stacks"][-1]
        frames = [(frame["name"], frame["excluded"]) for frame in now["frames"]]
        assert (now["id"], now["name"]) == (stack["id"], "large")
        assert frames == [("z0.png", False), ("z1.png", False), ("z2.png", False)]
        # But to be deleted, which makes room, it needs none.
        assert client.delete(f"/api/jobs/{queued['id']}").status_code == 204
    client.delete(f"/api/jobs/{first['id']}")


def test_a_job_outlives_the_server_or_says_that_it_did_not(tmp_path, photos):
    work = tmp_path / "work"
    with serving(work, photos) as client:
        large, small = stack_of(client, photos / "large"), stack_of(client, photos / "small")
        under_way = job_of(client, large, align="off", method="coupled")
        waiting = job_of(client, small, align="off", method="pca")
        wait_until_under_way(client, under_way)
    with serving(work, photos) as client:
        stopped = seen(client, under_way)
        assert (stopped["state"], stopped["error"]) == (
            "failed",
            "the server was stopped while this ran; start it again",
        )
        assert wait(client, waiting, "done", "failed")["state"] == "done"


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
    before = client.get("/api/state").json()
    for method, path, body in (
        ("POST", "/api/jobs", f'{{"stack": "{small["id"]}", "options": {{"refine_strength": {value}}}}}'),
        ("POST", "/api/stacks", f'{{"name": {value}}}'),
        ("PATCH", f"/api/stacks/{small['id']}", f'{{"name": "x", "more": {value}}}'),
    ):
        answer = client.request(method, path, content=body)
        assert answer.status_code == 400
        assert answer.json()["error"].endswith("finite numbers and whole characters")
    after = client.get("/api/state").json()
    assert (after["jobs"], after["stacks"]) == (before["jobs"], before["stacks"])


def test_an_estimate_has_the_command_and_what_is_wrong(client, photos):
    stack = stack_of(client, photos / "small")
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert (told["n_frames"], told["width"], told["height"]) == (3, SIZE[1], SIZE[0])
    assert told["command"] == f"panfocus fuse {photos / 'small'} -o fused.tif"
    assert told["error"] is None
    client.patch(f"/api/stacks/{stack['id']}", json={"excluded": [0, 1]})
    told = client.post(f"/api/stacks/{stack['id']}/estimate", json={}).json()
    assert "fusion needs at least two frames" in told["error"]
    assert told["command"] == f"panfocus fuse {photos / 'small' / 'z2.png'} -o fused.tif"


def test_a_damaged_file_is_left_out_and_the_others_are_fused(client, photos):
    folder = photos / "one damaged"
    shutil.copytree(photos / "small", folder)
    whole = (folder / "z1.png").read_bytes()
    (folder / "z1.png").write_bytes(whole[: len(whole) // 2])
    stack = stack_of(client, folder)
    until = time.monotonic() + 60
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


def frame_states(client, stack):
    stacks = client.get("/api/state").json()["stacks"]
    (found,) = [each for each in stacks if each["id"] == stack["id"]]
    return [frame["state"] for frame in found["frames"]]


@pytest.mark.parametrize("on_a_job", [False, True], ids=["of files", "of aligned frames"])
def test_a_dictionary_is_learned_as_its_command_learns_it(
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
    ("changed", "said"),
    [
        ({"name": "../mine"}, "name: needed are"),
        ({"regions": []}, "regions: needed are 1 to 1000"),
        ({"regions": [region(blurred=0)]}, "region 1: needed are two different frames, 0 to 2"),
        ({"regions": [region(), region(focused=3)]}, "region 2: needed are two different frames, 0 to 2"),
        ({"regions": [region(top=1.5)]}, "region 1: needed are whole numbers"),
        ({"settings": {"atoms": 0}}, "atoms: needed is a whole number from 1"),
        ({"settings": {"speed": 1}}, "settings: known are patch_size"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(client, small, changed, said):
    before = client.get("/api/state").json()["jobs"]
    learn = {"stack": small["id"], "name": "mine", "regions": [region()]} | changed
    answer = client.post("/api/jobs", json={"learn": learn})
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert client.get("/api/state").json()["jobs"] == before
