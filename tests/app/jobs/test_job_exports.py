"""Exports equal the files that the command writes; nothing else can be downloaded."""

import shlex
import sys

import pytest
from job_steps import SIZE, job_of, wait

from panfocus.app import exports
from panfocus.cli import main


def test_exports_equal_the_files_of_the_command(client, photos, small, tmp_path, monkeypatch):
    job = job_of(client, small, align="off", settings={"noise": 1.5})
    assert job["command"] == f"panfocus fuse {photos / 'small'} --set noise=1.5 --align off -o fused.tif"
    done = wait(client, job, "done", "failed")
    assert done["state"] == "done", done["error"]
    assert (done["result"]["width"], done["result"]["height"]) == (SIZE[1], SIZE[0])
    assert done["live"] >= 1
    assert done["started"] <= done["ended"]
    assert any("3 frames" in line for line in done["said"])
    assert "task" not in done

    wanted = {"format": "png", "what": ["image", "labels", "depth", "confidence", "report"]}
    export = client.post(f"/api/jobs/{job['id']}/export", json=wanted).json()
    folder = tmp_path / "typed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", shlex.split(export["command"]))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    assert {file["name"] for file in export["files"]} == {path.name for path in folder.iterdir()}
    for file in export["files"]:
        downloaded = client.get(file["url"])
        assert downloaded.headers["content-disposition"].startswith("attachment")
        assert len(downloaded.content) == file["bytes"]
        if not file["name"].endswith(".json"):  # reports contain times
            assert downloaded.content == (folder / file["name"]).read_bytes(), file["name"]


def test_a_retouched_export_equals_the_file_of_the_command(client, small, tmp_path, monkeypatch):
    job = wait(client, job_of(client, small, align="off", method="pca"), "done")
    stroke = {
        "frame": 2, "points": [[40, 30], [90, 60]], "radius": 12, "hardness": 0.5,
        "opacity": 0.8, "gain": None,
    }  # fmt: skip
    strokes = {"panfocus_retouch": 1, "width": SIZE[1], "height": SIZE[0], "frames": 3, "strokes": [stroke]}
    assert client.put(f"/api/jobs/{job['id']}/retouch", json=strokes).status_code == 200
    with_report = {"format": "png", "what": ["image", "report"]}
    export = client.post(f"/api/jobs/{job['id']}/export", json=with_report).json()
    assert_report_names_files_as_they_are_saved(client, export)
    export = client.post(f"/api/jobs/{job['id']}/export", json={"format": "png"}).json()
    assert "files" in export, export
    picture, painting = (client.get(file["url"]).content for file in export["files"])
    folder = tmp_path / "typed"
    folder.mkdir()
    (folder / export["files"][1]["name"]).write_bytes(painting)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", shlex.split(export["command"]))
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    assert "--retouch" in export["command"]
    assert picture == (folder / export["files"][0]["name"]).read_bytes()


def assert_report_names_files_as_they_are_saved(client, export):
    urls = {file["name"]: file["url"] for file in export["files"]}
    (name,) = (name for name in urls if name.endswith("-report.json"))
    outputs = client.get(urls.pop(name)).json()["outputs"]
    assert {entry["path"] for entry in outputs} == urls.keys()
    assert [entry["kind"] for entry in outputs] == ["image", "retouch"]


def exported(client, job, **wanted):
    answer = client.post(f"/api/jobs/{job['id']}/export", json={"format": "tif", **wanted})
    (file,) = answer.raise_for_status().json()["files"]
    return file


def test_exports_of_one_name_are_separate_until_the_older_expires(client, plain_job, monkeypatch):
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


def test_a_failed_export_leaves_nothing(client, plain_job, monkeypatch):
    monkeypatch.setattr(exports, "SECONDS_KEPT", 0)
    file = exported(client, plain_job)
    answer = client.post(f"/api/jobs/{plain_job['id']}/export", json={"format": "webp"})
    assert answer.status_code == 400
    assert client.get(file["url"]).status_code == 200
    folder = client.app_state.store.jobs.folder(plain_job["id"]) / "exports"
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("stack", "stem"),
    [
        ("焦点合成" * 30, "焦点合成" * 12 + "焦点-fused"),
        ("a" * 200, "a" * 150 + "-fused"),
        ("my stack: 1/2", "my-stack-1-2-fused"),
        ("***", "fused"),
    ],
)
def test_files_are_named_after_their_stack_within_limits(stack, stem):
    assert exports._file_stem(stack) == stem


@pytest.mark.parametrize(
    ("wanted", "setting", "part"),
    [
        ({"format": "bmp"}, "format", "webp"),
        ({"what": ["../../etc/passwd"]}, "what", "labels"),
        ({"bits": "8"}, "bits", "Bits"),
        ({"quality": 9.5}, "jpeg_quality", "Quality"),
        # Found by the worker, which returns a line.
        ({"what": ["depth"]}, None, "pca"),
        ({"format": "png", "bits": 9}, None, "Bits"),
        ({"format": "webp"}, None, "WebP"),
    ],
)
def test_an_invalid_export_is_refused_in_one_line(client, plain_job, wanted, setting, part):
    answer = client.post(f"/api/jobs/{plain_job['id']}/export", json=wanted)
    assert (answer.status_code, answer.json()["facts"].get("setting")) == (400, setting)
    assert part in answer.json()["error"] and "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    "name", ["..%2Fjob.json", "%2E%2E/job.json", "job.json", "none", "%2E%2E/none", "none/none"]
)
def test_only_exports_can_be_downloaded(client, plain_job, name):
    assert client.get(f"/api/jobs/{plain_job['id']}/exports/{name}").status_code == 404
