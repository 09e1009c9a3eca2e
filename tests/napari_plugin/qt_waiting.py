"""Wait for events of Qt or of other threads."""

import time


def wait_until(condition, seconds=120):
    """Run the event loop of Qt until a condition holds."""
    from qtpy.QtWidgets import QApplication

    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        QApplication.processEvents()
        time.sleep(0.01)
