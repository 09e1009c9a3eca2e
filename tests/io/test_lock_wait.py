"""One program at a time in a folder, and waiting for its end."""

import threading

import pytest

from panfocus.errors import FileError
from panfocus.io.lock import locked


def test_who_waits_comes_after_the_one_that_is_there(tmp_path):
    order, is_in = [], threading.Event()

    def first():
        with locked(tmp_path):
            is_in.set()
            threading.Event().wait(0.3)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    is_in.wait()
    with pytest.raises(FileError, match="another panfocus is at work"), locked(tmp_path):
        pass
    with locked(tmp_path, wait=True):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
    assert not list(tmp_path.iterdir())
