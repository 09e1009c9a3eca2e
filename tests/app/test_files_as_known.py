"""What the page says of files names them as the user does, not by where the server keeps them."""

import numpy as np
import pytest
from app_server import wait

from panfocus.app.work_folder import Store
from panfocus.io.encode import write_image


@pytest.fixture
def unlike(server, tmp_path):
    """A stack of two files that were sent, of different sizes."""
    stack = server.client.post("/api/stacks", json={"name": "unlike"}).raise_for_status().json()["id"]
    rng = np.random.default_rng(3)
    for name, side in (("large one.png", 80), ("small one.png", 70)):
        write_image(tmp_path / name, rng.integers(0, 256, (side, side), dtype=np.uint8))
        content = (tmp_path / name).read_bytes()
        server.client.put(f"/api/stacks/{stack}/files/{name}", content=content).raise_for_status()
    server.seen(stack)
    return stack


def test_estimates_and_jobs_name_the_files_that_were_sent(server, unlike):
    estimate = server.client.post(f"/api/stacks/{unlike}/estimate", json={}).json()
    name = server.client.post("/api/jobs", json={"stack": unlike, "options": {}}).json()["id"]
    for _ in wait(60):
        (job,) = [job for job in server.state()["jobs"] if job["id"] == name]
        if job["state"] == "failed":
            break
    for error in (estimate["error"], job["error"]):
        assert error.startswith("small one.png ")
        assert "large one.png" in error
        assert str(server.work) not in error


def test_estimates_name_files_that_are_read_where_they_are(server):
    folder = server.root / "unlike in place"
    folder.mkdir()
    for name, shape in (("colour.png", (40, 40, 3)), ("grey.png", (40, 40))):
        write_image(folder / name, np.zeros(shape, np.uint8))
    stack = server.client.post("/api/stacks", json={"folder": str(folder)}).json()["id"]
    server.seen(stack)
    estimate = server.client.post(f"/api/stacks/{stack}/estimate", json={}).json()
    assert estimate["error"] == (
        "grey.png is grey, colour.png is colour; "
        "untick “Use” of those that differ, or convert them to one colour model"
    )


@pytest.fixture
def store(tmp_path):
    (tmp_path / "my work").mkdir()
    return Store(tmp_path / "my work")


def test_lines_lose_the_folders_of_files_and_keep_other_paths(tmp_path, store):
    name = store.stacks.new_id()
    files = [
        store.stacks.folder(name) / "files" / "a b.png",
        store.jobs.folder(name) / "exports" / "fused.tif",
        store.jobs.folder(name) / "exports" / "0123456789abcdef" / "again.tif",
        store.dictionaries / "mine.npz",
    ]
    line = "{}, {}, {} and {} are not alike".format(*files)
    assert store.as_known(line) == "a b.png, fused.tif, again.tif and mine.npz are not alike"
    elsewhere = tmp_path / "stacks" / name / "files" / "a.png"
    assert store.as_known(f"{elsewhere}: no room") == f"{elsewhere}: no room"


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("jobs/ID/retouch-3.json", "retouch-3.json in the work folder"),
        ("jobs/ID/arrays/fused.1.npy", "fused.1.npy in the work folder"),
        ("jobs/ID/arrays", "the work folder"),
        ("stacks/ID", "the work folder"),
        ("stacks/ID/files", "the work folder"),
        ("stacks/ID/thumbnails/12.jpg", "12.jpg in the work folder"),
        ("dictionaries", "the work folder"),
    ],
)
def test_what_the_user_has_never_seen_is_in_the_work_folder_and_a_full_disk_has_its_remedy(
    store, path, known
):
    place = store.work / path.replace("ID", store.jobs.new_id())
    full = "(No space left on device)"
    remedy = "delete results or stacks that you no longer need"
    assert store.as_known(f"cannot write {place} {full}") == f"cannot write {known} {full}; {remedy}"
    told = f"{place}: cannot write there {full}; make room, or use another folder"
    assert store.as_known(told) == f"{known}: cannot write there {full}; {remedy}"
