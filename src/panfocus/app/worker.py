"""`python -m panfocus.app.worker`: reads tasks as JSON lines, runs them, and writes events as JSON lines."""

import json
import os
import queue
import signal
import sys
import threading
import time
import types
from contextlib import suppress
from importlib import import_module
from typing import Any

from panfocus.app.tasks import Send
from panfocus.app.wording import describe_error, page_text

_SECONDS_TO_CLEAN_UP = 5.0
_NICENESS = 2  # of long tasks: quick ones, which a user waits for, go first
_MIN_QUICK_MEMORY = 1 << 30  # bytes that a quick task may use, however little is free


def main() -> None:
    """Run tasks until the server closes the pipe."""
    send = _open_pipe()
    interrupts = _Interrupts()
    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(tasks, interrupts), daemon=True).start()
    _warm_up(quick="--quick" in sys.argv)
    while task := tasks.get():
        send(_run(task, send, interrupts))


def _open_pipe() -> Send:
    """Return a function that sends events; redirect what libraries print to stderr."""
    pipe = os.dup(1)
    os.dup2(2, 1)
    lock = threading.Lock()

    def send(event: dict[str, Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        with lock:
            while line:
                line = line[os.write(pipe, line) :]

    return send


class _Interrupts:
    """SIGINT cancels the last task that was sent, running or not; it is ignored when idle."""

    def __init__(self) -> None:
        self.is_requested = False
        self.is_running = False
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, number: int, frame: types.FrameType | None) -> None:
        is_first, self.is_requested = not self.is_requested, True
        if self.is_running and is_first:  # cleaning up is not interrupted again
            raise KeyboardInterrupt

    def enter(self) -> None:
        self.is_running = True
        if self.is_requested:
            raise KeyboardInterrupt


def _receive(tasks: queue.SimpleQueue[dict[str, Any]], interrupts: _Interrupts) -> None:
    """Queue tasks; when the server has ended, cancel the running one."""
    with suppress(ValueError):
        for line in sys.stdin.buffer:
            interrupts.is_requested = False
            tasks.put(json.loads(line))
    tasks.put({})
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_SECONDS_TO_CLEAN_UP)
    os._exit(1)


def _run(task: dict[str, Any], send: Send, interrupts: _Interrupts) -> dict[str, Any]:
    """Run a task, and return its last event."""
    module, _, function = task.pop("task").partition(".")
    try:
        interrupts.enter()
        run = getattr(import_module(f"panfocus.app.tasks.{module}"), function or "run")
        result = run(send, **task)
        interrupts.is_running = False
        return {"event": "done", "result": result}
    except KeyboardInterrupt:
        return {"event": "cancelled"}
    except BaseException as error:
        for note in getattr(error, "__notes__", ()):  # warnings before the error
            send({"event": "warning", "text": page_text(note)})
        return {"event": "failed", "error": describe_error(error)}
    finally:
        interrupts.is_running = False


def _warm_up(*, quick: bool) -> None:
    """Import what tasks will need, while no user waits."""
    if quick:
        from panfocus.app.tasks import scan_frame

        scan_frame.warm_up()
        _limit_memory()
    else:
        if sys.platform != "win32":
            os.nice(_NICENESS)
        import panfocus.job.runner
        import panfocus.pipeline  # noqa: F401


def _limit_memory() -> None:
    """Limit this process to half of the free memory, so that a huge file fails and not the computer."""
    if sys.platform == "win32":
        return
    import resource

    from panfocus._memory import free_memory

    free = free_memory()
    if free is not None:
        wanted = max(_MIN_QUICK_MEMORY, free // 2)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


if __name__ == "__main__":
    main()
