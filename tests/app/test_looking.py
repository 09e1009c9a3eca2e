"""Frames are looked at whatever becomes of one of them."""

import asyncio
import json
from types import SimpleNamespace

from panfocus.app.allowed_folders import AllowedFolders
from panfocus.app.events import Events
from panfocus.app.frame_scanner import FrameScanner
from panfocus.app.stacks import Stacks
from panfocus.app.work_folder import Store
from panfocus.app.worker_pool import TaskFailed


def test_a_process_that_cannot_be_started_is_told_and_the_next_frame_is_looked_at(tmp_path):
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
        looker = FrameScanner(stacks, SimpleNamespace(run_quick=quick))
        looker.start()
        for _ in range(200):
            await asyncio.sleep(0.01)
            if "check" in tries:
                break
        looker.stop()
        return stacks.view(stack)["frames"]

    first, second = asyncio.run(run())
    assert (first["state"], second["state"]) == ("bad", "ready")
    assert first["error"] == "a.png: [Errno 12] Cannot allocate memory"
    assert tries == ["scan_frame", "scan_frame", "check"]


def test_where_the_disk_is_full_a_frame_says_what_helps(tmp_path):
    async def quick(task, **_):
        if task["task"] == "check":
            return {"warnings": []}
        raise TaskFailed(f"cannot write {task['thumbnail']} (No space left on device)")

    async def run():
        stacks = Stacks(Store(tmp_path), Events(), AllowedFolders([tmp_path]))
        (tmp_path / "a.png").write_bytes(b"x")
        stack = stacks.open_in_place([tmp_path / "a.png"], None)
        looker = FrameScanner(stacks, SimpleNamespace(run_quick=quick))
        await looker._scan(stack, stack.frames[0])
        return stack.frames[0].error

    assert asyncio.run(run()) == (
        "a.png: cannot write 0.jpg in the work folder (No space left on device); "
        "delete results or stacks that you no longer need"
    )


def test_looks_at_a_large_stack_tell_of_frames_and_not_of_the_whole_stack_each_time(tmp_path, monkeypatch):
    monkeypatch.setattr("panfocus.app.events.SECONDS_BETWEEN", 0.0)  # every look is told by itself
    n, told = 60, []

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
                told.append(text)  # noqa: PERF401  # it never ends

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0)
        looker = FrameScanner(stacks, SimpleNamespace(run_quick=quick))
        looker.start()
        for _ in range(500):
            await asyncio.sleep(0.01)
            if stacks.view(stack)["frames"][-1]["state"] == "ready":
                break
        await asyncio.sleep(0.05)
        looker.stop()
        listening.cancel()
        return len(json.dumps(stacks.view(stack)))

    whole = asyncio.run(run())
    assert sum('"kind": "frames"' in text for text in told) > n // 4
    assert sum(map(len, told)) < 5 * whole  # each frame twice, and the stack at the end
