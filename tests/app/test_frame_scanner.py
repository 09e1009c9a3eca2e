"""Frame scanner: every frame is scanned, and files that change on disk are scanned again."""

import asyncio
import errno
import json
import os
from types import SimpleNamespace

import pytest
import small_stacks

from panfocus.app.allowed_folders import AllowedFolders
from panfocus.app.events import Events
from panfocus.app.frame_scanner import FrameScanner
from panfocus.app.stacks import Stacks
from panfocus.app.wording import MAKE_ROOM
from panfocus.app.work_folder import Store


def test_after_a_process_that_cannot_be_started_the_next_frame_is_scanned(tmp_path):
    tries = []

    async def quick(task, **_):
        tries.append(task["task"])
        if len(tries) == 1:
            raise OSError(12, "Cannot allocate memory")
        return {"warnings": []} if task["task"] == "check" else {"width": 1, "digest": "", "sharpness": 1.0}

    async def run():
        stacks = Stacks(Store(tmp_path), Events(), AllowedFolders([tmp_path]))
        paths = [tmp_path / name for name in ("a.png", "b.png")]
        for path in paths:
            path.write_bytes(b"x")
        stack = stacks.open_in_place(paths, None)
        scanner = FrameScanner(stacks, SimpleNamespace(run_quick=quick))
        scanner.start()
        for _ in range(200):
            await asyncio.sleep(0.01)
            if "check" in tries:
                break
        scanner.stop()
        return stacks.view(stack)["frames"]

    first, second = asyncio.run(run())
    assert (first["state"], second["state"]) == ("bad", "ready")
    assert first["error"].startswith("a.png: ")
    assert tries == ["scan_frame", "scan_frame", "check"]


def test_the_error_of_a_full_disk_names_the_frame_and_no_internal_folder(tmp_path):
    async def quick(task, **_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), task["thumbnail"])

    async def run():
        stacks = Stacks(Store(tmp_path), Events(), AllowedFolders([tmp_path]))
        (tmp_path / "a.png").write_bytes(b"x")
        stack = stacks.open_in_place([tmp_path / "a.png"], None)
        await FrameScanner(stacks, SimpleNamespace(run_quick=quick))._scan(stack, stack.frames[0])
        return stack.frames[0].error

    error = asyncio.run(run())
    assert error.startswith("a.png: 0.jpg in the work folder")
    assert error.endswith(MAKE_ROOM)


def test_scans_of_a_large_stack_send_single_frames(tmp_path, monkeypatch):
    monkeypatch.setattr("panfocus.app.events.SECONDS_BETWEEN", 0.0)  # every scan is sent alone
    n, texts = 60, []

    async def quick(task, **_):
        await asyncio.sleep(0.002)
        seen = {"width": 1, "height": 1, "pages": 1, "dtype": "uint8", "channels": 1, "digest": ""}
        return {"warnings": []} if task["task"] == "check" else seen | {"sharpness": 1.0}

    async def run():
        events = Events()
        stacks = Stacks(Store(tmp_path), events, AllowedFolders([tmp_path]))
        paths = [tmp_path / f"{number}.png" for number in range(n)]
        for path in paths:
            path.write_bytes(b"x")
        stack = stacks.open_in_place(paths, None)

        async def listen():
            async for text in events.stream():
                texts.append(text)  # noqa: PERF401  # it never ends

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0)
        scanner = FrameScanner(stacks, SimpleNamespace(run_quick=quick))
        scanner.start()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if stacks.view(stack)["frames"][-1]["state"] == "ready":
                break
        await asyncio.sleep(0.05)
        scanner.stop()
        listening.cancel()
        return len(json.dumps(stacks.view(stack)))

    whole = asyncio.run(run())
    assert sum('"kind": "frames"' in text for text in texts) > n // 4
    assert sum(map(len, texts)) < 5 * whole  # each frame twice, and the stack at the end


@pytest.fixture
def folder(local, tmp_path):
    """A folder of three frames, the second of them damaged."""
    folder = local.root / tmp_path.name
    paths = small_stacks.write(folder)
    whole = paths[1].read_bytes()
    (tmp_path / "whole.png").write_bytes(whole)
    paths[1].write_bytes(whole[: len(whole) // 2])
    return folder


def opened(local, folder):
    answer = local.client.post("/api/stacks", json={"folder": str(folder)})
    return local.seen(answer.raise_for_status().json()["id"])


def rescanned(local, stack):
    local.client.post(f"/api/stacks/{stack['id']}/look").raise_for_status()
    return local.seen(stack["id"])


def states(stack):
    return [frame["state"] for frame in stack["frames"]]


def test_a_repaired_file_is_scanned_again_and_others_keep_their_keys(local, folder, tmp_path):
    before = opened(local, folder)
    assert states(before) == ["ready", "bad", "ready"]
    (tmp_path / "whole.png").replace(folder / "frame-2.png")
    after = rescanned(local, before)
    assert states(after) == ["ready"] * 3
    assert after["frames"][1]["error"] is None
    keys = [[frame["key"] for frame in stack["frames"]] for stack in (before, after)]
    assert keys == [[0, 1, 2], [0, 3, 2]]  # browsers cache pictures by key
    address = f"/api/stacks/{after['id']}/thumbnails/"
    assert local.client.get(f"{address}3").status_code == 200
    assert local.client.get(f"{address}1").status_code == 404


def test_unchanged_files_are_not_scanned_again(local, folder):
    before = opened(local, folder)
    assert rescanned(local, before)["frames"] == before["frames"]


def test_a_removed_file_is_bad_until_it_is_back(local, folder):
    stack = opened(local, folder)
    away = folder.parent / "elsewhere.png"
    (folder / "frame-1.png").replace(away)
    stack = rescanned(local, stack)
    assert states(stack) == ["bad", "bad", "ready"]
    assert stack["frames"][0]["error"].startswith("frame-1.png")
    away.replace(folder / "frame-1.png")
    assert states(rescanned(local, stack)) == ["ready", "bad", "ready"]


def test_a_link_that_replaces_a_file_is_not_followed_out_of_the_allowed_folders(local, folder):
    before = opened(local, folder)
    here = f"/api/stacks/{before['id']}"
    own, (first, _, _) = (folder / "frame-1.png").read_bytes(), before["frames"]
    (folder / "frame-1.png").unlink()
    (folder / "frame-1.png").symlink_to(local.root.parent / "outside" / "secret.png")
    # Also before the stack is scanned again.
    for path, sent in ((f"{here}/pictures/{first['key']}", None), (f"{here}/estimate", {})):
        answer = local.client.request("GET" if sent is None else "POST", path, json=sent)
        assert answer.status_code == 403
        assert "frame-1.png" in answer.json()["error"]
    stack = rescanned(local, before)
    assert states(stack) == ["bad", "bad", "ready"]
    assert stack["frames"][0]["error"].startswith("frame-1.png")
    assert local.client.get(f"{here}/thumbnails/{stack['frames'][0]['key']}").status_code == 404
    assert rescanned(local, stack)["frames"] == stack["frames"]

    (folder / "frame-1.png").unlink()
    (folder / "frame-1.png").symlink_to(local.root / "small" / "frame-1.png")  # inside the allowed folders
    assert states(rescanned(local, stack)) == ["ready", "bad", "ready"]
    (folder / "frame-1.png").unlink()
    (folder / "frame-1.png").write_bytes(own)
    assert states(rescanned(local, stack)) == ["ready", "bad", "ready"]


def test_a_link_that_replaces_a_folder_is_not_followed_out_of_the_allowed_folders(local, folder, tmp_path):
    stack = opened(local, folder)
    folder.rename(tmp_path / "away")
    folder.symlink_to(tmp_path / "away")
    assert states(rescanned(local, stack)) == ["bad"] * 3
