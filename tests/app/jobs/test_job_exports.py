"""What a job exports is what its command writes; nothing else can be had."""

import shlex
import sys

import pytest
from job_steps import SIZE, job_of, stack_of, wait

from panfocus.app import exports
from panfocus.cli import main


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
    with_report = {"format": "png", "what": ["image", "report"]}
    told = client.post(f"/api/jobs/{job['id']}/export", json=with_report).json()
    assert_report_names_files_as_they_are_saved(client, told)
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


def assert_report_names_files_as_they_are_saved(client, told):
    urls = {file["name"]: file["url"] for file in told["files"]}
    (name,) = (name for name in urls if name.endswith("-report.json"))
    outputs = client.get(urls.pop(name)).json()["outputs"]
    assert {entry["path"] for entry in outputs} == urls.keys()
    assert [entry["kind"] for entry in outputs] == ["image", "retouch"]


def exported(client, job, **wanted):
    answer = client.post(f"/api/jobs/{job['id']}/export", json={"format": "tif", **wanted})
    (file,) = answer.raise_for_status().json()["files"]
    return file


def test_two_exports_of_one_name_are_two_files_until_the_older_is_of_no_more_use(
    client, plain_job, monkeypatch
):
    first, second = (exported(client, plain_job, bits=bits) for bits in (8, 16))
    assert first["name"] == second["name"]
    for file in (first, second):  # as the page does, some of them a moment later
        assert len(client.get(file["url"]).content) == file["bytes"]
    assert first["bytes"] < second["bytes"]

    monkeypatch.setattr(exports, "SECONDS_KEPT", 0)
    third = exported(client, plain_job, bits=8)
    assert [client.get(file["url"]).status_code for file in (first, second, third)] == [404, 404, 200]
    folder = client.app_state.store.jobs.folder(plain_job["id"]) / "exports"
    assert len(list(folder.iterdir())) == 1


def test_an_export_that_fails_leaves_the_last_one_and_nothing_of_its_own(client, plain_job, monkeypatch):
    monkeypatch.setattr(exports, "SECONDS_KEPT", 0)
    file = exported(client, plain_job)
    answer = client.post(f"/api/jobs/{plain_job['id']}/export", json={"format": "webp"})
    assert answer.status_code == 400
    assert client.get(file["url"]).status_code == 200
    folder = client.app_state.store.jobs.folder(plain_job["id"]) / "exports"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("stack", "begins"),
    [
        ("焦点合成" * 30, "焦点合成" * 12 + "焦点-fused"),
        ("a" * 200, "a" * 150 + "-fused"),
        ("my stack: 1/2", "my-stack-1-2-fused"),
        ("***", "fused"),
    ],
)
def test_files_are_named_by_their_stack_however_long_its_name_is(client, photos, stack, begins):
    opened = stack_of(client, photos / "small")
    client.patch(f"/api/stacks/{opened['id']}", json={"name": stack}).raise_for_status()
    job = wait(client, job_of(client, opened, align="off"), "done")
    wanted = {"format": "png", "what": ["image", "labels", "never_in_focus", "confidence"]}
    told = client.post(f"/api/jobs/{job['id']}/export", json=wanted).raise_for_status().json()
    ends = [".png", "-labels.png", "-confidence.png", "-never-in-focus.png"]
    assert sorted(file["name"] for file in told["files"]) == sorted(f"{begins}{end}" for end in ends)
    assert client.get(told["files"][0]["url"]).status_code == 200
    client.delete(f"/api/stacks/{opened['id']}").raise_for_status()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"format": "bmp"}, "format: needed is one of tif"),
        ({"what": ["../../etc/passwd"]}, "what: needed is a list of"),
        ({"what": ["depth"]}, "the method pca gives no depth"),
        ({"format": "png", "bits": 9}, "“Bits per channel” must be 8 or 16"),
        ({"bits": "8"}, "whole numbers"),
        ({"format": "webp"}, "WebP holds colours, the frames are grey"),
    ],
)
def test_an_export_that_cannot_be_is_refused_in_one_line(client, plain_job, wanted, said):
    answer = client.post(f"/api/jobs/{plain_job['id']}/export", json=wanted)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize(
    "name", ["..%2Fjob.json", "%2E%2E/job.json", "job.json", "none", "%2E%2E/none", "none/none"]
)
def test_nothing_but_exports_is_downloaded(client, plain_job, name):
    assert client.get(f"/api/jobs/{plain_job['id']}/exports/{name}").status_code == 404
