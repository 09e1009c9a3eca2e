"""Stores that are replaced as a whole, also when the process is killed."""

import pytest

from kills import Killed, killed_at, on_two_disks
from panfocus.io.atomic_files import bring_to_disk, move_into_place, restore_replaced
from rejections import rejected

FILES = ("zarr.json", "b", "c/d")


def make(folder, content):
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def content_of(folder):
    """Return what a whole folder holds; None of one that is not."""
    texts = {(folder / name).read_text() for name in FILES if (folder / name).is_file()}
    whole = all((folder / name).is_file() for name in FILES)
    return texts.pop() if whole and len(texts) == 1 else None


@pytest.mark.parametrize("disks", [1, 2])
def test_kill_during_replacement_leaves_a_complete_store_and_resumes(tmp_path, monkeypatch, disks):
    for n in range(1, 50):
        room = tmp_path / str(n)
        source, target, aside = room / "part" / "new", room / "disk" / "out", room / "disk" / ".aside"
        make(source, "new")
        make(target, "old")
        if disks == 2:
            on_two_disks(monkeypatch, room / "disk")
        waiting = bring_to_disk(source, aside)
        try:
            with monkeypatch.context() as patch:
                killed_at(patch, n)
                move_into_place(waiting, target, aside, force=True)
            break
        except Killed:
            assert "new" in (content_of(waiting), content_of(target))
            assert content_of(target) or not target.exists()  # no half folder under the name of a result
            move_into_place(waiting, target, aside, force=True)
            assert content_of(target) == "new"
            assert [path.name for path in target.parent.iterdir()] == ["out"]
    assert 4 < n < 49
    assert content_of(target) == "new"
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_replaced_store_is_restored(tmp_path, monkeypatch):
    source, target, aside = tmp_path / "part" / "new", tmp_path / "out", tmp_path / ".aside"
    for n in range(1, 9):
        make(source, "new")
        make(target, "old")
        waiting = bring_to_disk(source, aside)
        try:
            with monkeypatch.context() as patch:
                killed_at(patch, n)
                move_into_place(waiting, target, aside, force=True)
        except Killed:
            taken = not waiting.exists()
        restore_replaced(target, aside)
        assert content_of(target) == ("new" if taken else "old")
        assert not aside.exists()


def test_store_is_replaced_only_with_force(tmp_path):
    source, target, aside = tmp_path / "new", tmp_path / "out", tmp_path / ".aside"
    make(source, "new")
    make(target, "old")
    waiting = bring_to_disk(source, aside)
    with rejected(target, problem="exists"):
        move_into_place(waiting, target, aside, force=False)
    assert (content_of(target), content_of(source)) == ("old", "new")


def test_chunks_of_a_late_worker_do_not_replace_a_store(tmp_path):
    source, target, aside = tmp_path / "part" / "new", tmp_path / "out", tmp_path / ".aside"
    make(source, "new")
    move_into_place(waiting := bring_to_disk(source, aside), target, aside, force=True)
    (waiting / "0" / "c").mkdir(parents=True)
    move_into_place(waiting, target, aside, force=True)
    assert content_of(target) == "new"
