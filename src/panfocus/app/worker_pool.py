"""Worker pool: image files are read in child processes, so that none can crash the server.

Messages are JSON, one object a line. The server sends a task; the worker answers with events and finally with
`done` and a result, `failed` and one line, or `cancelled`.
"""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

from panfocus.errors import PanfocusError

_MAX_LINE_BYTES = 64 << 20
_SECONDS_FOR_QUICK = 60.0
_SECONDS_TO_END = 3.0
_SECONDS_TO_STOP = 0.7  # the same when the whole server stops: a user waits for it in a terminal


class TaskFailed(PanfocusError):  # noqa: N818  # one of the ways in which a task ends
    """A task failed; the message is one line in the page's terms."""


class WorkerDied(TaskFailed):
    """The process ended before its task did."""


class TaskCancelled(Exception):  # noqa: N818
    """A task was interrupted."""


class Worker:
    """A child process that runs one task at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._last_line = ""  # on stderr
        self._reading = asyncio.create_task(self._read_stderr())

    @classmethod
    async def start(cls, *arguments: str) -> "Worker":
        """Start a process, which imports what it needs while it waits for a task."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # do not import modules from the current folder, which may hold a user's files
            "-m",
            "panfocus.app.worker",
            *arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_MAX_LINE_BYTES,
            start_new_session=True,  # Ctrl-C in the terminal reaches the server, which ends the workers
        )
        return cls(process)

    @property
    def is_alive(self) -> bool:
        """Whether it can run a task."""
        return self._process.returncode is None

    async def run(
        self, task: dict[str, Any], on_event: Callable[[dict[str, Any]], None] = lambda event: None
    ) -> Any:
        """Run a task and return its result; `on_event` receives the events before it."""
        assert self._process.stdin and self._process.stdout
        with suppress(ConnectionError):  # if it died, there is no answer below
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            await self._process.stdin.drain()
        while line := await self._process.stdout.readline():
            event = json.loads(line)
            match event["event"]:
                case "done":
                    return event["result"]
                case "failed":
                    raise TaskFailed(event["error"])
                case "cancelled":
                    raise TaskCancelled
                case _:
                    on_event(event)
        raise WorkerDied(await self._cause_of_death())

    def interrupt(self) -> None:
        """Ask it to cancel its task."""
        if self.is_alive and sys.platform == "win32":
            self._process.kill()
        elif self.is_alive:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill it at once."""
        if self.is_alive:
            self._process.kill()

    async def close(self, seconds: float = _SECONDS_TO_END) -> None:
        """Let it end, and wait for that; kill it after this many seconds."""
        if self.is_alive and self._process.stdin:
            self._process.stdin.close()  # it then ends by itself
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            self.kill()
            await self._process.wait()
        self._reading.cancel()

    async def _read_stderr(self) -> None:
        """Remember the last line that it, or a library in it, prints."""
        assert self._process.stderr
        with suppress(ValueError):  # a line over the limit
            while line := await self._process.stderr.readline():
                self._last_line = " ".join(line.decode(errors="replace").split())[:300] or self._last_line

    async def _cause_of_death(self) -> str:
        code = await self._process.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._reading), 1)
        if code == -9:
            return "The process was killed by signal 9, perhaps because it ran out of memory."
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else ""
            return f"The process crashed with signal {-code} {name}".strip() + "."
        return f"The process ended with code {code}: {self._last_line or 'no reason given'}."


class WorkerPool:
    """One permanent process for quick tasks, and a fresh process, started in advance, for every long task."""

    def __init__(self) -> None:
        self._quick: Worker | None = None
        self._next: asyncio.Task[Worker] | None = None
        self._turn = asyncio.Lock()
        self._background = asyncio.Lock()  # of tasks that no user waits for
        self._long: set[Worker] = set()  # those that were lent, and the next

    async def start(self) -> None:
        """Start the first processes."""
        self._quick = await Worker.start("--quick")
        self._next = asyncio.create_task(self._start_long())

    async def run_quick(
        self, task: dict[str, Any], *, urgent: bool = False, seconds: float = _SECONDS_FOR_QUICK
    ) -> Any:
        """Run a quick task; urgent ones, which a user waits for, go first.

        A task that exceeds its time is killed with its process. If the process dies, the task is tried once
        more: the process may have been dying before.
        """
        # Only one background task waits for its turn, so that an urgent one waits for few others.
        async with nullcontext() if urgent else self._background, self._turn:
            try:
                return await self._try_quick(task, seconds)
            except WorkerDied:
                return await self._try_quick(task, seconds)

    async def _try_quick(self, task: dict[str, Any], seconds: float) -> Any:
        if self._quick is None or not self._quick.is_alive:
            self._quick = await Worker.start("--quick")
        worker = self._quick
        try:
            return await asyncio.wait_for(worker.run(task), seconds)
        except TimeoutError:
            await self._discard_quick(worker)
            raise TaskFailed(f"No result after {seconds:.0f} s.", limit=seconds) from None
        except asyncio.CancelledError:  # its answer would be taken for that of the next task
            await self._discard_quick(worker)
            raise

    async def _discard_quick(self, worker: Worker) -> None:
        worker.kill()
        self._quick = None
        await worker.close()

    async def lend_long(self) -> Worker:
        """Return a fresh process for one long task; the caller closes it."""
        # Replaced before the first await: a concurrent call gets another one.
        started, self._next = self._next, asyncio.create_task(self._start_long())
        worker = await (started or self._start_long())
        if not worker.is_alive:
            await worker.close()
            worker = await self._start_long()
        return worker

    async def _start_long(self) -> Worker:
        """Start a process and remember it for `stop`, even if its caller is cancelled."""
        worker = await Worker.start()
        self._long = {each for each in self._long if each.is_alive} | {worker}
        return worker

    async def stop(self) -> None:
        """End all processes; the next start removes files that a killed one leaves."""
        if self._next:
            await self._next
        self._next = None
        workers = {*self._long, *([self._quick] if self._quick else [])}
        await asyncio.gather(*(worker.close(_SECONDS_TO_STOP) for worker in workers))
