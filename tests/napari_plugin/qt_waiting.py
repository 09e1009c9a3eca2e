"""Waiting for what happens in Qt's loop or in other threads."""

import time


def wait_until(condition, seconds=120):
    """Let Qt work until something holds."""
    from qtpy.QtWidgets import QApplication

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        QApplication.processEvents()
        time.sleep(0.01)
