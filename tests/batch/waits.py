"""Waiting for what other processes do, but not for ever; and keeping a run from ending before."""

import time
from contextlib import ExitStack, contextmanager

from panfocus.batch.stack_task import fuse_stack
from panfocus.batch.summary import Summary
from panfocus.io.lock import lock_folder

SECONDS = 300  # after which nothing is expected any more: machines may be busy
HAPPENED = "happened"  # a file beside the results, which some stacks wait for
LATE = "well-30"  # the first of them


def wait_until(condition, process=None):
    """Wait for something to hold; fail if that takes too long, or a process ends before."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing has happened for too long"
        time.sleep(0.01)


@contextmanager
def held(output, *names):
    """Let those who come to some stacks of a batch wait there while the block lasts."""
    with ExitStack() as stack:
        for name in names:
            (output / name).mkdir(parents=True)
            stack.enter_context(lock_folder(output / name))
        Summary(output, [], run=0).write({})  # else the folder would not be one of a batch
        yield


def fuse_and_wait(task):
    """Fuse a stack, and note that it was made; the late ones wait until something has happened."""
    outcome = fuse_stack(task)
    if not outcome.kept:
        with (task.output.parent / "fused.txt").open("a") as file:
            file.write(f"{task.name}\n")
    if task.name >= LATE:
        wait_until((task.output.parent / HAPPENED).exists)
    return outcome
