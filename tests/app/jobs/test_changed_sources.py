"""An export lists inputs that changed since the fusion, as its command would read them again."""

import os
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from job_steps import job_of, stack_of, wait

MINE = "my optics"
SHIPPED = Path(str(files("panfocus"))) / "data" / "dictionaries"


@pytest.fixture(scope="module")
def folder(photos):
    return shutil.copytree(photos / "small", photos / "may change")


@pytest.fixture(scope="module")
def job(client, folder):
    """A fusion with a learned dictionary."""
    store = client.app_state.store
    shutil.copy(SHIPPED / "levels2.npz", store.dictionary_file(MINE))
    options = {"align": "off", "method": "coupled", "dictionary": MINE}
    return wait(client, job_of(client, stack_of(client, folder), **options), "done", "failed")


def changed(client, job):
    assert job["state"] == "done", job["error"]
    answer = client.post(f"/api/jobs/{job['id']}/export", json={"format": "png", "what": ["image", "report"]})
    told = answer.raise_for_status().json()
    (report,) = (file for file in told["files"] if file["name"].endswith("-report.json"))
    assert "stamps" not in client.get(report["url"]).json()
    return told["changed"]


def touched(path):
    os.utime(path)


def written_over(path):
    path.write_bytes(path.read_bytes() + b" ")


def linked_out(path):
    path.replace(path.with_name("own"))
    outside = path.parents[2] / "a copy outside"
    shutil.copy(path.with_name("own"), outside)
    path.symlink_to(outside)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: None, []),
        (touched, []),
        (written_over, ["z1.png"]),
        (os.remove, ["z1.png"]),
        (linked_out, ["z1.png"]),
    ],
    ids=["unchanged", "touched", "changed", "removed", "link out"],
)
def test_a_frame_that_changed_since_the_fusion_is_named(client, photos, folder, job, change, told):
    change(folder / "z1.png")
    try:
        assert changed(client, job) == told
    finally:
        (folder / "z1.png").unlink(missing_ok=True)
        shutil.copy(photos / "small" / "z1.png", folder / "z1.png")
    assert changed(client, job) == []


def test_a_dictionary_that_was_deleted_or_replaced_is_named(client, job):
    file = client.app_state.store.dictionary_file(MINE)
    assert client.delete(f"/api/dictionaries/{MINE}").status_code == 204
    assert changed(client, job) == [f"{MINE}.npz"]
    shutil.copy(SHIPPED / "levels3.npz", file)
    assert changed(client, job) == [f"{MINE}.npz"]
