"""Stacks: uploaded or opened in place, scanned, ordered, checked, and restored after a restart."""

import json
import os
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx
import numpy as np
import pytest
import small_stacks
from app_server import local_server, wait

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image


def send(local, paths, name="sent"):
    stack = local.client.post("/api/stacks", json={"name": name}).raise_for_status().json()["id"]
    for path in paths:
        answer = local.client.put(f"/api/stacks/{stack}/files/{path.name}", content=path.read_bytes())
        answer.raise_for_status()
    return stack


def open_folder(local, folder):
    answer = local.client.post("/api/stacks", json={"folder": str(folder)})
    return answer.raise_for_status().json()["id"]


def warnings_of(local, stack, about):
    """Return the warnings when all frames are scanned and one of them is named."""
    local.seen(stack)
    for _ in wait(10):
        warnings = local.stack(stack)["warnings"]
        if any(line.startswith(about) for line in warnings):
            break
    return warnings


def names(stack):
    return [frame["name"] for frame in stack["frames"]]


@pytest.mark.parametrize("target", ["gone.png", "f.png"], ids=["dangling", "circular"])
def test_a_folder_with_only_a_broken_link_is_refused(local, target):
    folder = local.root / f"links to {target}"
    folder.mkdir()
    (folder / "f.png").symlink_to(folder / target)
    answer = local.client.post("/api/stacks", json={"folder": str(folder)})
    assert answer.status_code in (403, 404)
    assert answer.json()["facts"] == {"file": str(folder / "f.png")}


def test_links_that_may_not_be_followed_are_skipped_and_named(local):
    folder = local.root / "with links"
    paths = small_stacks.write(folder)
    (folder / "inside.png").symlink_to(local.root / "small" / "frame-1.png")
    (folder / "gone.png").symlink_to(folder / "nothing.png")
    (folder / "out.png").symlink_to(local.root.parent / "outside" / "secret.png")
    listed = local.client.post("/api/folders", json={"path": str(folder)}).json()["files"]
    answer = local.client.post("/api/stacks", json={"folder": str(folder)}).raise_for_status().json()
    # A link has the name of its target.
    assert [file["name"] for file in listed] == [*(path.name for path in paths), "inside.png"]
    assert names(answer) == [*(path.name for path in paths), "frame-1.png"]
    (warning,) = answer["warnings"]
    assert str(folder) in warning and "gone.png" in warning and "out.png" in warning


def test_a_folder_is_opened_in_place(local):
    name = open_folder(local, local.root / "small")
    stack = local.seen(name)
    assert stack["name"] == "small"
    assert stack["folder"] == str((local.root / "small").resolve())
    assert names(stack) == ["frame-1.png", "frame-2.png", "frame-3.png"]
    for frame in stack["frames"]:
        told = {"state": "ready", "width": 120, "height": 90, "pages": 1, "dtype": "uint8", "channels": 3}
        assert frame == frame | told | {"error": None}
    assert max(frame["score"] for frame in stack["frames"]) == 1
    assert min(frame["score"] for frame in stack["frames"]) > 0
    assert list((local.work / "stacks" / name / "files").iterdir()) == []
    local.client.delete(f"/api/stacks/{name}").raise_for_status()
    assert (local.root / "small" / "frame-1.png").is_file()


def test_a_change_of_a_deleted_stack_is_refused(page_server):
    stack = open_folder(page_server, page_server.root / "beetle")
    came, may_come = threading.Event(), threading.Event()

    def slow():
        yield b'{"name"'
        came.set()
        assert may_come.wait(10)
        yield b': "late"}'

    with ThreadPoolExecutor() as tabs:
        changing = tabs.submit(page_server.client.patch, f"/api/stacks/{stack}", content=slow())
        assert came.wait(10)
        page_server.client.delete(f"/api/stacks/{stack}").raise_for_status()
        may_come.set()
        assert changing.result().status_code == 404
    assert stack not in [each["id"] for each in page_server.state()["stacks"]]


def test_the_score_is_higher_for_a_sharper_frame(local, tmp_path):
    from scipy.ndimage import gaussian_filter

    sharp = small_stacks.frames(1)[0]
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, width in zip(paths, (0, 1, 2), strict=True):
        write_image(path, gaussian_filter(sharp, (width, width, 0)))
    first, second, third = [frame["score"] for frame in local.seen(send(local, paths))["frames"]]
    assert first == 1 > second > third


def test_a_thumbnail_is_a_small_picture_of_the_frame(local, tmp_path):
    ramp = np.multiply.outer(np.linspace(0, 65535, 1000), np.ones(500)).astype(np.uint16)
    write_image(tmp_path / "ramp.tif", ramp)
    stack = send(local, [tmp_path / "ramp.tif"])
    key = local.seen(stack)["frames"][0]["key"]
    answer = local.client.get(f"/api/stacks/{stack}/thumbnails/{key}")
    assert answer.headers["content-type"] == "image/jpeg"
    (tmp_path / "small.jpg").write_bytes(answer.content)
    small = read_image(tmp_path / "small.jpg")
    assert small.shape == (250, 125, 3)
    assert np.abs(small[:, 60, 0] - np.linspace(0, 255, 250)).max() < 4


def test_uploads_are_stored_unchanged_in_natural_order(local, tmp_path):
    paths = small_stacks.write(tmp_path, n=11)
    stack = send(local, [*paths[5:], *paths[:5]])
    assert names(local.stack(stack)) == [path.name for path in paths]
    kept = local.work / "stacks" / stack / "files"
    assert all((kept / path.name).read_bytes() == path.read_bytes() for path in paths)


def test_unsupported_images_of_a_folder_are_named(local):
    folder = local.root / "more"
    small_stacks.write(folder)
    (folder / "x.bmp").touch()
    answer = local.client.post("/api/stacks", json={"folder": str(folder)}).raise_for_status().json()
    (warning,) = answer["warnings"]
    assert "x.bmp" in warning
    assert local.seen(answer["id"])["warnings"] == [warning]  # the check of the frames does not replace it


def test_names_may_be_of_any_script(page_server, tmp_path):
    (path, *_) = small_stacks.write(tmp_path)
    for name in ("Käfer 漢字 😀.png", "a%20b#c.png", "a b+c&d=e.png"):
        renamed = shutil.copy(path, tmp_path / name)
        stack = page_server.client.post("/api/stacks", json={"name": name}).json()["id"]
        url = f"/api/stacks/{stack}/files/{quote(name)}"
        page_server.client.put(url, content=renamed.read_bytes()).raise_for_status()
        assert names(page_server.seen(stack)) == [name]
        assert page_server.stack(stack)["frames"][0]["state"] == "ready"


def test_names_that_some_systems_forbid_are_replaced_by_unique_names(local, tmp_path):
    (path, *_) = small_stacks.write(tmp_path)
    stack = local.client.post("/api/stacks", json={"name": "by time"}).json()["id"]
    for name in ("12:30:00.png", "12_30_00.png", 'a "b"?.png'):
        url = f"/api/stacks/{stack}/files/{quote(name)}"
        local.client.put(url, content=path.read_bytes()).raise_for_status()
    seen = local.seen(stack)
    assert names(seen) == ["12_30_00 (2).png", "12_30_00.png", "a _b__.png"]
    assert {frame["state"] for frame in seen["frames"]} == {"ready"}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, names are Unicode")
def test_names_that_are_not_utf8_can_be_sent_back(tmp_path):
    strange = os.fsdecode(b"caf\xe9")
    root = tmp_path / strange
    for number, path in enumerate(small_stacks.write(root / strange), start=1):
        path.rename(root / strange / f"{strange}-{number}.png")
    with local_server(tmp_path / "work", root) as server:
        assert server.state()["roots"] == [str(root)]
        listing = server.client.post("/api/folders", json={}).raise_for_status().json()
        assert listing["folders"] == [strange]
        folder = f"{listing['path']}/{listing['folders'][0]}"
        # Browsers escape lone surrogates.
        inside = server.client.post("/api/folders", content=json.dumps({"path": folder}))
        assert len(inside.raise_for_status().json()["files"]) == 3
        answer = server.client.post("/api/stacks", content=json.dumps({"folder": folder}))
        stack = server.seen(answer.raise_for_status().json()["id"])
        assert names(stack) == [f"{strange}-{number}.png" for number in (1, 2, 3)]
        assert {frame["state"] for frame in stack["frames"]} == {"ready"}
        told = server.client.post(f"/api/stacks/{stack['id']}/estimate", json={}).raise_for_status().json()
        assert told["error"] is None
        assert strange in told["command"]


def test_pages_of_a_file_are_counted_and_a_damaged_page_is_found(local, tmp_path):
    import tifffile

    pages = small_stacks.frames(4)
    tifffile.imwrite(tmp_path / "many.tif", pages, photometric="rgb", compression="zlib")
    whole = (tmp_path / "many.tif").read_bytes()
    with tifffile.TiffFile(tmp_path / "many.tif") as file:
        last = file.pages[3].dataoffsets[0]
    (tmp_path / "damaged.tif").write_bytes(whole[:last] + b"\xff" * 100 + whole[last + 100 :])
    stack = local.seen(send(local, [tmp_path / "many.tif", tmp_path / "damaged.tif"]))
    by_name = {frame["name"]: frame for frame in stack["frames"]}
    assert (by_name["many.tif"]["state"], by_name["many.tif"]["pages"]) == ("ready", 4)
    assert by_name["damaged.tif"]["state"] == "bad"


def test_order_and_exclusion_can_be_changed(local, tmp_path):
    stack = send(local, small_stacks.write(tmp_path))
    first, second, third = (frame["key"] for frame in local.seen(stack)["frames"])
    pictures = [
        local.client.get(f"/api/stacks/{stack}/thumbnails/{key}").content for key in (first, second, third)
    ]
    wanted = {"order": [third, first, second], "name": "mine"}
    answer = local.client.patch(f"/api/stacks/{stack}", json=wanted)
    changed = answer.raise_for_status().json()
    assert changed["name"] == "mine"
    assert names(changed) == ["frame-3.png", "frame-1.png", "frame-2.png"]
    moved = [
        local.client.get(f"/api/stacks/{stack}/thumbnails/{frame['key']}").content
        for frame in changed["frames"]
    ]
    assert moved == [pictures[2], pictures[0], pictures[1]]
    changed = local.client.patch(f"/api/stacks/{stack}", json={"excluded": [first]}).json()
    assert [frame["excluded"] for frame in changed["frames"]] == [False, True, False]


def test_frames_that_do_not_belong_together_cause_warnings(local, tmp_path):
    paths = small_stacks.write(tmp_path, n=3, size=(160, 200))
    frames = small_stacks.frames(3, size=(160, 200))
    write_image(tmp_path / "frame-4.png", frames[0])
    write_image(tmp_path / "frame-5.png", frames[0][:80])
    write_image(tmp_path / "frame-6.png", frames[0][..., 0])
    write_image(tmp_path / "frame-7.png", frames[0].astype(np.uint16) * 257)
    write_image(tmp_path / "frame-8.png", small_stacks.frames(1, size=(160, 200), seed=8)[0])
    stack = send(local, [*paths, *(tmp_path / f"frame-{k}.png" for k in range(4, 9))])
    told = warnings_of(local, stack, "frame-8.png")
    assert sorted(line.split()[0] for line in told) == [f"frame-{k}.png" for k in range(4, 9)]
    # Without them no warning is left.
    others = [frame["key"] for frame in local.stack(stack)["frames"][3:]]
    local.client.patch(f"/api/stacks/{stack}", json={"excluded": others}).raise_for_status()
    for _ in wait(10):
        if not local.stack(stack)["warnings"]:
            return
    raise AssertionError(local.stack(stack)["warnings"])


def test_pages_always_receive_the_last_state(page_server, tmp_path):
    stack = send(page_server, small_stacks.write(tmp_path))
    told, names_told = [], []

    def listen(response):
        for line in response.iter_lines():
            if line.startswith("data: "):
                message = json.loads(line[6:])
                if message.get("id") == stack:
                    return
                if message["kind"] == "stack" and message["stack"]["id"] == stack:
                    told.append(message)
                    names_told.append(message["stack"]["name"])

    client = httpx.Client(base_url=page_server.url, headers=page_server.client.headers, timeout=300)
    with client, client.stream("GET", "/api/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        listening = threading.Thread(target=listen, args=(response,))
        listening.start()
        for number in range(100):
            page_server.client.patch(f"/api/stacks/{stack}", json={"name": f"{number}"}).raise_for_status()
        for _ in wait(5):
            if "99" in names_told:
                break
        page_server.client.delete(f"/api/stacks/{stack}").raise_for_status()
        listening.join(10)
        assert not listening.is_alive()
    assert names_told[-1] == "99"
    assert len(told) < 100
    assert told[-1]["stack"].keys() == {
        *("id", "name", "folder", "created", "frames", "warnings", "unsent", "in_place"),
        *("receiving", "revision"),
    }


def test_stacks_and_token_survive_a_restart_and_unscanned_frames_are_scanned(tmp_path, caplog):
    paths = small_stacks.write(tmp_path / "pictures")
    work = tmp_path / "work"
    with local_server(work, tmp_path / "pictures") as server:
        stack = send(server, paths)
        before, token = server.seen(stack), server.token
    # The state after a kill during a scan and an upload.
    kept = work / "stacks" / stack / "stack.json"
    content = json.loads(kept.read_text())
    content["frames"][1] |= {"state": "looking", "width": None, "sharpness": None}
    kept.write_text(json.dumps(content))
    (work / "stacks" / stack / "files" / ".panfocus-received-0123").write_bytes(b"half")
    (work / "stacks" / "0123456789abcdef").mkdir()
    (work / "stacks" / "0123456789abcdef" / "stack.json").write_text("{")
    with local_server(work, tmp_path / "pictures") as server:
        assert any("0123456789abcdef" in line for line in caplog.messages)
        assert server.token == token
        after = server.seen(stack)
        assert len(server.state()["stacks"]) == 1
    assert after["frames"] == before["frames"]
    assert not (work / "stacks" / stack / "files" / ".panfocus-received-0123").exists()
