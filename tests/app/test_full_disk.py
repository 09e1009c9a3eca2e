"""A full disk: nothing half-written stays, and the error says how to free space."""

import errno
import os
import shutil

import pytest
import small_stacks

from panfocus.app import result_layers
from panfocus.app.allowed_folders import AllowedFolders
from panfocus.app.events import Events
from panfocus.app.stacks import Stacks
from panfocus.app.wording import MAKE_ROOM, describe_error
from panfocus.app.work_folder import Store
from panfocus.errors import FileError
from panfocus.io.disk_array import ArrayFolder


def test_a_stack_that_cannot_be_saved_leaves_no_folder(tmp_path, monkeypatch):
    store = Store(tmp_path)
    stacks = Stacks(store, Events(), AllowedFolders([tmp_path]))

    def fail(*_, **__):
        raise FileError("Cannot write stack.json.")

    monkeypatch.setattr(store.stacks, "_write", fail)
    with pytest.raises(FileError):
        stacks.create("new")
    assert list((tmp_path / "stacks").iterdir()) == []
    assert stacks.shelf.all() == []


def test_empty_folders_of_stacks_are_removed_at_the_next_start(tmp_path, caplog):
    empty = tmp_path / "stacks" / "0123456789abcdef"
    (empty / "files").mkdir(parents=True)
    with_a_file = tmp_path / "stacks" / "fedcba9876543210"
    (with_a_file / "files").mkdir(parents=True)
    (with_a_file / "files" / "a.png").touch()
    Store(tmp_path)
    assert not empty.exists()
    assert with_a_file.exists()
    (warning,) = caplog.messages
    assert str(with_a_file) in warning


def test_layers_that_do_not_fit_on_the_disk_are_refused(tmp_path, monkeypatch):
    full = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    frames = small_stacks.frames()
    with pytest.raises(FileError) as caught:
        result_layers.save_layer(ArrayFolder(tmp_path), "retouched", frames[0])
    assert describe_error(caught.value).endswith(MAKE_ROOM)
    with pytest.raises(FileError) as caught:
        result_layers.check_space(ArrayFolder(tmp_path), frames)
    assert describe_error(caught.value).endswith(MAKE_ROOM)


def test_errors_of_a_full_disk_say_how_to_free_space_once():
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.tif")
    assert describe_error(full).count(MAKE_ROOM) == 1
    wrapped = FileError("Cannot write a.tif.", file="a.tif")
    wrapped.__cause__ = full
    assert describe_error(wrapped).count(MAKE_ROOM) == 1
    hinted = FileError("Cannot write a.tif.", hint="free_space", file="a.tif")
    hinted.__cause__ = full
    assert describe_error(hinted).count(MAKE_ROOM) == 1
