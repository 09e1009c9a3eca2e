"""The work folder: items are written together, never over newer ones, and only the user can read them."""

import asyncio
import json
import os
import tempfile
import threading
from pathlib import Path

import pytest

from panfocus.app import work_folder
from panfocus.app.state import PageStack
from panfocus.app.work_folder import Shelf, Store, check_private, make_private_folder, now
from panfocus.errors import FileError
from panfocus.io.atomic_files import write_files


def open_shelf(folder):
    return Shelf(folder, "stack", PageStack.from_json)


def new_stack(shelf):
    with shelf.new_folder() as folder:
        stack = PageStack(id=folder.name, created=now(), name="0")
        shelf.save(stack)
    return stack


@pytest.fixture
def shelf(tmp_path):
    return open_shelf(tmp_path)


@pytest.fixture
def stack(shelf):
    return new_stack(shelf)


def saved_name(shelf, stack):
    return json.loads((shelf.folder(stack.id) / "stack.json").read_text())["name"]


def test_many_changes_at_once_share_few_writes(shelf, stack, monkeypatch):
    written = []
    monkeypatch.setattr(work_folder, "write_files", lambda *a, **k: written.append(a) or write_files(*a, **k))

    async def change(number):
        stack.name = str(number)
        await shelf.save_soon(stack)
        assert int(saved_name(shelf, stack)) >= number

    async def change_all():
        await asyncio.gather(*(change(number) for number in range(100)))

    asyncio.run(change_all())
    assert saved_name(shelf, stack) == "99"
    assert len(written) <= 2


def test_an_immediate_save_is_not_overwritten_by_an_older_one(shelf, stack, monkeypatch):
    inside, may_write = asyncio.Event(), threading.Event()
    save_unless_newer = shelf._save_unless_newer

    async def run():
        loop = asyncio.get_running_loop()

        def save_late(*arguments):
            loop.call_soon_threadsafe(inside.set)
            may_write.wait(10)
            save_unless_newer(*arguments)

        monkeypatch.setattr(shelf, "_save_unless_newer", save_late)
        saving = asyncio.create_task(shelf.save_soon(stack))
        await inside.wait()
        with shelf.edit(stack) as draft:
            draft.name = "1"
        may_write.set()
        await saving

    asyncio.run(run())
    assert saved_name(shelf, stack) == "1"


def test_an_edit_that_cannot_be_saved_is_not_made(shelf, stack, monkeypatch):
    def fail(*_, **__):
        raise FileError("Cannot write stack.json.")

    monkeypatch.setattr(shelf, "_write", fail)
    with pytest.raises(FileError), shelf.edit(stack) as draft:
        draft.name = "1"
    assert (stack.name, saved_name(shelf, stack)) == ("0", "0")


def test_an_item_that_is_removed_during_a_save_does_not_come_back(shelf, stack):
    async def run():
        saving = asyncio.create_task(shelf.save_soon(stack))
        await asyncio.sleep(0)
        await shelf.remove(stack.id)
        await saving

    asyncio.run(run())
    assert not shelf.folder(stack.id).exists()


def test_other_items_are_saved_while_a_large_one_is_removed(shelf, stack, monkeypatch):
    other = new_stack(shelf)
    rmtree, may_remove = work_folder.shutil.rmtree, threading.Event()

    def remove_slowly(*arguments, **options):
        assert may_remove.wait(10)
        rmtree(*arguments, **options)

    def save_other():
        other.name = "1"
        shelf.save(other)

    async def run():
        removing = asyncio.create_task(shelf.remove(stack.id))
        await asyncio.sleep(0.05)
        assert not shelf.folder(stack.id).exists()
        saving = asyncio.create_task(asyncio.to_thread(save_other))
        try:
            await asyncio.wait_for(asyncio.shield(saving), 5)
        finally:
            may_remove.set()
            await asyncio.gather(removing, saving)

    monkeypatch.setattr(work_folder.shutil, "rmtree", remove_slowly)
    asyncio.run(run())
    assert saved_name(shelf, other) == "1"


def test_an_interrupted_removal_is_completed_at_the_next_start(shelf, stack, tmp_path, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(work_folder.shutil, "rmtree", lambda *_, **__: None)
        asyncio.run(shelf.remove(stack.id))
    assert len(list(tmp_path.iterdir())) == 1
    assert open_shelf(tmp_path).all() == []
    assert list(tmp_path.iterdir()) == []


def test_stacks_of_an_older_version_are_read(shelf, stack):
    """Older files lack keys of fields that have defaults, and may have keys that are unknown now."""
    frame = {"key": 0, "name": "a.png", "path": None, "bytes": 3, "excluded": False, "state": "ready"}
    content = {"id": stack.id, "created": 1.0, "name": "old", "frames": [frame], "left_out": ["x"], "odd": 1}
    (shelf.folder(stack.id) / "stack.json").write_text(json.dumps(content))
    (read,) = open_shelf(shelf.folder(stack.id).parent).all()
    assert (read.name, read.skipped, read.unsent, read.frames[0].sharpness) == ("old", ["x"], [], None)


@pytest.fixture
def store(tmp_path):
    (tmp_path / "my work").mkdir()
    return Store(tmp_path / "my work")


def test_messages_name_files_of_the_user_without_their_folder(tmp_path, store):
    name = "0123456789abcdef"
    files = [
        store.stacks.folder(name) / "files" / "a b.png",
        store.jobs.folder(name) / "exports" / "fused.tif",
        store.jobs.folder(name) / "exports" / "0123456789abcdef" / "again.tif",
        store.dictionaries / "mine.npz",
    ]
    assert store.shorten_paths("{}, {}, {}, {}".format(*files)) == "a b.png, fused.tif, again.tif, mine.npz"
    elsewhere = str(tmp_path / "stacks" / name / "files" / "a.png")
    assert store.shorten_paths(elsewhere) == elsewhere


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("jobs/ID/retouch-3.json", "retouch-3.json"),
        ("jobs/ID/arrays/fused.1.npy", "fused.1.npy"),
        ("jobs/ID/arrays", None),
        ("stacks/ID", None),
        ("stacks/ID/files", None),
        ("stacks/ID/thumbnails/12.jpg", "12.jpg"),
        ("dictionaries", None),
    ],
)
def test_messages_name_internal_files_as_part_of_the_work_folder(store, path, name):
    place = store.work / path.replace("ID", "0123456789abcdef")
    known = f"{name} in the work folder" if name else "the work folder"
    assert store.shorten_paths(f"({place})") == f"({known})"


posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")


@pytest.fixture
def reachable():
    """A folder that others can reach, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        (Path(place) / "work").mkdir()
        yield Path(place) / "work"


@posix_only
@pytest.mark.parametrize(
    ("mode", "verbs"),
    [(0o700, ""), (0o711, ""), (0o755, "read"), (0o770, "read and write"), (0o733, "write")],
)
def test_a_folder_that_others_can_use_causes_a_warning(reachable, mode, verbs):
    reachable.chmod(mode)
    warning = check_private(reachable)
    if verbs:
        assert f" can {verbs} " in warning and str(reachable) in warning
    else:
        assert warning is None


@posix_only
def test_a_folder_that_others_cannot_reach_causes_no_warning(reachable):
    reachable.chmod(0o777)
    reachable.parent.chmod(0o700)
    assert check_private(reachable) is None


@posix_only
def test_a_new_folder_is_private(reachable):
    make_private_folder(reachable / "new")
    reachable.chmod(0o755)
    assert check_private(reachable / "new") is None


@posix_only
def test_a_folder_of_another_user_is_refused(reachable, monkeypatch):
    monkeypatch.setattr(work_folder, "_ROOT", -1)
    monkeypatch.setattr(os, "geteuid", lambda: reachable.stat().st_uid + 1)
    with pytest.raises(FileError) as caught:
        check_private(reachable)
    assert caught.value.facts["file"] == str(reachable)
