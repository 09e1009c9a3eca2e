"""Folders that are results as a whole: one in place of another, and a kill at any moment."""

import os

import pytest

from panfocus.errors import FileError
from panfocus.io.whole_folders import move_folder

FILES = ("a", "b", "c/d")


class Killed(BaseException):
    """Nothing is done after that, no tidying up either."""


def make(folder, content):
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def content_of(folder):
    """Return what a whole folder holds; None of one that is not."""
    texts = {(folder / name).read_text() for name in FILES if (folder / name).is_file()}
    whole = all((folder / name).is_file() for name in FILES)
    return texts.pop() if whole and len(texts) == 1 else None


def killed_at(patch, n):
    """Let the n-th change of the disk, and all after it, not happen."""
    changes = []

    def mortal(change):
        def changed(*arguments, **options):
            changes.append(arguments)
            if len(changes) >= n:
                raise Killed
            return change(*arguments, **options)

        return changed

    for name in ("rename", "unlink", "rmdir"):
        patch.setattr(os, name, mortal(getattr(os, name)))


def test_a_folder_is_replaced_and_a_kill_at_any_moment_leaves_one_of_the_two_whole(tmp_path, monkeypatch):
    for n in range(1, 50):
        room = tmp_path / str(n)
        source, target = room / "part" / "new", room / "out"
        make(source, "new")
        make(target, "old")
        try:
            with monkeypatch.context() as patch:
                killed_at(patch, n)
                move_folder(source, target, force=True)
            break
        except Killed:
            places = [source, *(path for path in room.iterdir() if path.name != "part")]
            assert "new" in map(content_of, places)  # wherever it is
            assert content_of(target) or not target.exists()  # no half folder under the name of a result
    assert 4 < n < 49
    assert content_of(target) == "new"
    assert sorted(path.name for path in room.iterdir()) == ["out", "part"]


def test_a_folder_is_not_replaced_unless_by_force(tmp_path):
    make(tmp_path / "new", "new")
    make(tmp_path / "out", "old")
    with pytest.raises(FileError, match=r"out.*exists already"):
        move_folder(tmp_path / "new", tmp_path / "out", force=False)
    assert (content_of(tmp_path / "out"), content_of(tmp_path / "new")) == ("old", "new")
