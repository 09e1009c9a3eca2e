"""Wait for other processes, with a time limit."""

import time

SECONDS = 300  # generous: machines may be busy


def wait_until(condition, process=None):
    """Wait until a condition holds; fail if that takes too long, or if a process ends before."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "timeout"
        time.sleep(0.01)
