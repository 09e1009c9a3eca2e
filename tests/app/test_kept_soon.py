"""Objects that change often: written in a thread, together, and never over what is newer."""

import asyncio
import json
import threading

import pytest

from panfocus.app import work_folder
from panfocus.app.events import Events
from panfocus.app.work_folder import Shelf, now
from panfocus.io.atomic_files import write_files


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path, "stack")


@pytest.fixture
def thing(shelf):
    made = {"id": shelf.new_id(), "created": now(), "n": 0}
    shelf.save(made)
    return made


def kept(shelf, thing):
    return json.loads((shelf.folder(thing["id"]) / "stack.json").read_text())["n"]


def test_many_changes_at_once_are_kept_by_few_writings_and_the_last_is_there(shelf, thing, monkeypatch):
    written = []
    monkeypatch.setattr(work_folder, "write_files", lambda *a, **k: written.append(a) or write_files(*a, **k))

    async def change(number):
        thing["n"] = number
        await shelf.save_soon(thing)
        assert kept(shelf, thing) >= number

    async def all_at_once():
        await asyncio.gather(*(change(number) for number in range(100)))

    asyncio.run(all_at_once())
    assert kept(shelf, thing) == 99
    assert len(written) <= 2


def test_what_is_saved_at_once_is_not_overwritten_by_what_is_older(shelf, thing, monkeypatch):
    inside = asyncio.Event()

    async def run():
        loop = asyncio.get_running_loop()
        held = shelf._save_unless_newer

        def late(*arguments):
            loop.call_soon_threadsafe(inside.set)
            shelf.may_write.wait(10)
            held(*arguments)

        shelf.may_write = threading.Event()
        monkeypatch.setattr(shelf, "_save_unless_newer", late)
        saving = asyncio.create_task(shelf.save_soon(thing))
        await inside.wait()
        shelf.save(thing, n=1)
        shelf.may_write.set()
        await saving

    asyncio.run(run())
    assert kept(shelf, thing) == 1


def test_what_is_removed_meanwhile_does_not_come_back(shelf, thing):
    async def run():
        saving = asyncio.create_task(shelf.save_soon(thing))
        await asyncio.sleep(0)
        await shelf.remove(thing["id"])
        await saving

    asyncio.run(run())
    assert not shelf.folder(thing["id"]).exists()


def test_others_are_kept_while_the_gigabytes_of_one_are_being_removed(shelf, thing, monkeypatch):
    other = {"id": shelf.new_id(), "created": now(), "n": 0}
    rmtree, may_remove = work_folder.shutil.rmtree, threading.Event()

    def slow(*arguments, **options):
        assert may_remove.wait(10)
        rmtree(*arguments, **options)

    async def run():
        removing = asyncio.create_task(shelf.remove(thing["id"]))
        await asyncio.sleep(0.05)
        assert not shelf.folder(thing["id"]).exists()  # nobody finds it any more
        saving = asyncio.create_task(asyncio.to_thread(shelf.save, other, n=1))
        try:
            await asyncio.wait_for(asyncio.shield(saving), 5)
        finally:
            may_remove.set()
            await asyncio.gather(removing, saving)

    monkeypatch.setattr(work_folder.shutil, "rmtree", slow)
    asyncio.run(run())
    assert kept(shelf, other) == 1


def test_what_a_kill_has_left_of_a_removal_goes_at_the_next_start(shelf, thing, tmp_path, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(work_folder.shutil, "rmtree", lambda *_, **__: None)
        asyncio.run(shelf.remove(thing["id"]))
    assert len(list(tmp_path.iterdir())) == 1
    assert Shelf(tmp_path, "stack").all() == []
    assert list(tmp_path.iterdir()) == []


def test_a_large_object_is_put_into_words_once_for_many_changes():
    made = []

    async def run():
        events = Events()
        stream = events.stream()
        assert await anext(stream) == ": welcome\n\n"
        for number in range(100):
            events.tell_latest("stack", "a", lambda number=number: made.append(number) or {"n": number})
        events.tell_latest("stack", "gone", lambda: None)
        told = await anext(stream)
        await stream.aclose()
        return told

    assert asyncio.run(run()) == 'data: {"kind": "stack", "stack": {"n": 99}}\n\n'
    assert made == [99]


def test_parts_of_a_large_object_are_told_together_unless_all_of_it_is():
    async def run():
        events = Events()
        stream = events.stream()
        await anext(stream)
        for part in (3, 1, 3):
            events.tell_part("stack", "a", part, lambda parts: {"kind": "frames", "parts": sorted(parts)})
        told = [await anext(stream)]
        events.tell_latest("stack", "a", lambda: {"n": 1})
        events.tell_part("stack", "a", 2, lambda parts: {"kind": "frames", "parts": sorted(parts)})
        told.append(await anext(stream))
        events.tell_part("stack", "gone", 2, lambda parts: None)
        events.tell_part("stack", "a", 2, lambda parts: {"kind": "frames", "parts": sorted(parts)})
        told.append(await anext(stream))
        await stream.aclose()
        return told

    assert asyncio.run(run()) == [
        'data: {"kind": "frames", "parts": [1, 3]}\n\n',
        'data: {"kind": "stack", "stack": {"n": 1}}\n\n',
        'data: {"kind": "frames", "parts": [2]}\n\n',
    ]
