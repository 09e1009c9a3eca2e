"""Folders that are results as a whole: one in place of another, and a kill at any moment."""

import pytest

from kills import Killed, killed_at, on_two_disks
from panfocus.errors import FileError
from panfocus.io.atomic_directory import bring_to_disk, move_into_place, restore_replaced

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
def test_a_kill_while_a_folder_is_replaced_leaves_one_of_the_two_whole_and_it_goes_on(
    tmp_path, monkeypatch, disks
):
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


def test_what_was_to_be_replaced_is_put_back_if_it_is_not(tmp_path, monkeypatch):
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


def test_a_folder_is_not_replaced_unless_by_force(tmp_path):
    source, target, aside = tmp_path / "new", tmp_path / "out", tmp_path / ".aside"
    make(source, "new")
    make(target, "old")
    waiting = bring_to_disk(source, aside)
    with pytest.raises(FileError):
        move_into_place(waiting, target, aside, force=False)
    assert (content_of(target), content_of(source)) == ("old", "new")


def test_what_a_late_worker_writes_where_a_folder_has_been_does_not_replace_it(tmp_path):
    source, target, aside = tmp_path / "part" / "new", tmp_path / "out", tmp_path / ".aside"
    make(source, "new")
    move_into_place(waiting := bring_to_disk(source, aside), target, aside, force=True)
    (waiting / "0" / "c").mkdir(parents=True)
    move_into_place(waiting, target, aside, force=True)
    assert content_of(target) == "new"
