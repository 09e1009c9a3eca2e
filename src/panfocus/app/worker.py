"""`python -m panfocus.app.worker`: does tasks that come as JSON, one object a line, and tells of them so."""

import json
import os
import queue
import re
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from panfocus.errors import PanfocusError

Event = dict[str, Any]

_NAME = re.compile(r"[a-z_]+")
_SECONDS_TO_CLEAN_UP = 5.0
_NICENESS = 2  # of long tasks: what somebody waits for goes first
_LEAST_ROOM = 1 << 30  # bytes that a quick task may take, however little is free


def main() -> None:
    """Do tasks until the server closes the pipe."""
    tell = _teller()
    interrupts = _Interrupts()
    tasks: queue.SimpleQueue[Event] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(tasks, interrupts), daemon=True).start()
    _get_ready(quick="--quick" in sys.argv)
    while True:
        task = tasks.get()
        if task:
            tell(_outcome(task, tell, interrupts))
        else:
            break


def _teller() -> Callable[[Event], None]:
    """Return what sends events; whatever a library prints goes elsewhere."""
    answers = os.dup(1)
    os.dup2(2, 1)
    lock = threading.Lock()

    def tell(event: Event) -> None:
        line = json.dumps(event).encode() + b"\n"
        with lock:
            while line:
                line = line[os.write(answers, line) :]

    return tell


class _Interrupts:
    """SIGINT gives up the task that was sent last, under way or not begun yet; after it, it means nothing."""

    def __init__(self) -> None:
        self.asked = False
        self.inside = False  # a task
        signal.signal(signal.SIGINT, self._come)

    def _come(self, number: int, frame: types.FrameType | None) -> None:
        first, self.asked = not self.asked, True
        if self.inside and first:  # what cleans up is not interrupted again
            raise KeyboardInterrupt

    def enter(self) -> None:
        self.inside = True
        if self.asked:
            raise KeyboardInterrupt


def _receive(tasks: queue.SimpleQueue[Event], interrupts: _Interrupts) -> None:
    """Put tasks into the queue; when the server has gone, give up what is under way."""
    with suppress(ValueError):
        for line in sys.stdin.buffer:
            interrupts.asked = False
            tasks.put(json.loads(line))
    tasks.put({})
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_SECONDS_TO_CLEAN_UP)
    os._exit(1)


def _outcome(task: Event, tell: Callable[[Event], None], interrupts: _Interrupts) -> Event:
    name = str(task.get("task"))
    try:
        interrupts.enter()
        if not _NAME.fullmatch(name):
            raise PanfocusError(f"there is no task {name}")
        result = import_module(f"panfocus.app.tasks.{name}").run(task, tell)
        interrupts.inside = False
        return {"event": "done", "result": result}
    except KeyboardInterrupt:
        return {"event": "cancelled"}
    except BaseException as error:
        return {"event": "failed", "error": _line(error)}
    finally:
        interrupts.inside = False


def _line(error: BaseException) -> str:
    if isinstance(error, PanfocusError):
        text = str(error)
    elif isinstance(error, MemoryError):
        text = "not enough memory; use fewer or smaller frames"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = f"unexpected {type(error).__name__}: {error}"
    return " ".join(text.split())


def _get_ready(*, quick: bool) -> None:
    """Import, while nobody waits, what tasks will need."""
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
    """Let a file that unpacks to more than half of the free memory fail, not the computer."""
    if sys.platform == "win32":
        return
    import resource

    from panfocus._memory import free_memory

    free = free_memory()
    if free is not None:
        room = max(_LEAST_ROOM, free // 2)
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = room if most == resource.RLIM_INFINITY else min(room, most)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


if __name__ == "__main__":
    main()
