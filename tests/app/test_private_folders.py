"""Folders for one user alone: what others may do in one that was there before is told."""

import os
import tempfile
from pathlib import Path

import pytest

from panfocus.app.work_folder import check_private, make_private_folder
from panfocus.errors import FileError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")


@pytest.fixture
def folder():
    """A folder that others can reach, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        (Path(place) / "work").mkdir()
        yield Path(place) / "work"


@pytest.mark.parametrize(
    ("mode", "may"),
    [(0o700, None), (0o711, None), (0o755, "read"), (0o770, "read and write"), (0o733, "write")],
)
def test_what_others_may_do_is_one_line(folder, mode, may):
    folder.chmod(mode)
    line = f"{folder}: other users may {may} here; keep them out by chmod go-rwx, or choose another"
    assert check_private(folder) == (may and line)


def test_a_folder_that_others_cannot_reach_needs_no_line(folder):
    folder.chmod(0o777)
    folder.parent.chmod(0o700)
    assert check_private(folder) is None


def test_a_new_folder_needs_no_line(folder):
    make_private_folder(folder / "new")
    folder.chmod(0o755)
    assert check_private(folder / "new") is None


def test_a_folder_of_another_user_is_refused(folder, monkeypatch):
    monkeypatch.setattr("panfocus.app.work_folder._ROOT", -1)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(FileError, match="work belongs to another user, who may read and change all in it"):
        check_private(folder)
