"""Locked folders and temporary files."""

import threading
from pathlib import Path

import pytest

from panfocus.io.atomic_files import open_temporary, remove_abandoned
from panfocus.io.lock import lock_folder
from rejections import rejected


def test_waiting_process_enters_after_the_first_leaves(tmp_path):
    order, is_in = [], threading.Event()

    def first():
        with lock_folder(tmp_path):
            is_in.set()
            threading.Event().wait(0.3)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    is_in.wait()
    with rejected(tmp_path, problem="locked"), lock_folder(tmp_path):
        pass
    with lock_folder(tmp_path, wait=True):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
    assert not list(tmp_path.iterdir())


def test_temporary_file_is_removed_only_while_locked(tmp_path, monkeypatch):
    """Two writers in one folder: what one has just made, and is about to hold, the other finds unheld."""
    fcntl = pytest.importorskip("fcntl")
    abandoned, file = open_temporary(tmp_path)
    file.close()
    unlink, locked_then = Path.unlink, []

    def spy(path, **options):
        with path.open("r+b") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked_then.append(False)
            except BlockingIOError:
                locked_then.append(True)
        unlink(path, **options)

    held, open_file = open_temporary(tmp_path)
    monkeypatch.setattr(Path, "unlink", spy)
    remove_abandoned(tmp_path)
    assert locked_then == [True]
    assert (abandoned.exists(), held.exists()) == (False, True)
    open_file.close()
