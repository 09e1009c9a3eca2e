"""Frames are looked at whatever becomes of one of them."""

import asyncio
from types import SimpleNamespace

from panfocus.app.events import Events
from panfocus.app.looking import Looker
from panfocus.app.stacks import Stacks
from panfocus.app.store import Store


def test_a_process_that_cannot_be_started_is_told_and_the_next_frame_is_looked_at(tmp_path):
    tries = []

    async def quick(task, **_):
        tries.append(task["task"])
        if len(tries) == 1:
            raise OSError(12, "Cannot allocate memory")
        return {"warnings": []} if task["task"] == "check" else {"width": 1, "digest": "", "sharpness": 1.0}

    async def run():
        stacks = Stacks(Store(tmp_path), Events())
        paths = [tmp_path / name for name in ("a.png", "b.png")]
        for path in paths:
            path.write_bytes(b"x")
        stack = stacks.open_in_place(paths, None)
        looker = Looker(stacks, SimpleNamespace(quick=quick))
        looker.start()
        for _ in range(200):
            await asyncio.sleep(0.01)
            if "check" in tries:
                break
        looker.stop()
        return stacks.public(stack)["frames"]

    first, second = asyncio.run(run())
    assert (first["state"], second["state"]) == ("bad", "ready")
    assert first["error"] == "a.png: [Errno 12] Cannot allocate memory"
    assert tries == ["look", "look", "check"]
