"""Worker processes: no image file is read in the server, so that none can take it down.

They speak JSON, one object a line. The server sends a task, `{"task": name, ...}`; the worker answers with
events and at last `done` with a result, `failed` with one line, or `cancelled`.
"""

import asyncio
import heapq
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from panfocus.errors import PanfocusError

Event = dict[str, Any]

_LONGEST_LINE = 64 << 20
_SECONDS_FOR_QUICK = 60.0
_SECONDS_TO_END = 3.0
_SECONDS_TO_STOP = 0.7  # of the same, when the whole server stops: somebody waits for it in a terminal


class TaskFailed(PanfocusError):  # noqa: N818  # one of the ways in which a task ends
    """A task did not come to its end; the text says why, in one line."""


class WorkerDied(TaskFailed):
    """The process ended before the task did."""


class TaskCancelled(Exception):  # noqa: N818
    """A task ended because it was interrupted."""


def _ignored(event: Event) -> None:
    pass


class Worker:
    """A child process that does one task at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._last_words = ""
        self._listening = asyncio.create_task(self._hear_complaints())

    @classmethod
    async def start(cls, *arguments: str) -> "Worker":
        """Start a process, which imports what it needs while it waits for its task."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # modules are not looked for in the current folder, which may be one of pictures
            "-m",
            "panfocus.app.worker",
            *arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends the workers
        )
        return cls(process)

    @property
    def alive(self) -> bool:
        """Tell whether it can do a task."""
        return self._process.returncode is None

    async def run(self, task: Event, on_event: Callable[[Event], None] = _ignored) -> dict[str, Any]:
        """Have a task done and return its result; `on_event` is told what comes before that."""
        assert self._process.stdin and self._process.stdout
        # If it has died the answer, which is none, says so.
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            await self._process.stdin.drain()
        while line := await self._process.stdout.readline():
            event = json.loads(line)
            match event["event"]:
                case "done":
                    return dict(event["result"])
                case "failed":
                    raise TaskFailed(event["error"])
                case "cancelled":
                    raise TaskCancelled
                case _:
                    on_event(event)
        raise WorkerDied(await self._why_it_died())

    def interrupt(self) -> None:
        """Ask it to give up its task."""
        if self.alive and sys.platform == "win32":
            self._process.kill()
        elif self.alive:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it at once."""
        if self.alive:
            self._process.kill()

    async def close(self, seconds: float = _SECONDS_TO_END) -> None:
        """End it, and wait until it has ended; after so many seconds it is killed."""
        if self.alive and self._process.stdin:
            self._process.stdin.close()  # upon which it ends by itself
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            self.kill()
            await self._process.wait()
        self._listening.cancel()

    async def _hear_complaints(self) -> None:
        """Keep the last line of what it, or a library in it, prints."""
        assert self._process.stderr
        with suppress(ValueError):  # a line without end
            while line := await self._process.stderr.readline():
                self._last_words = " ".join(line.decode(errors="replace").split())[:300] or self._last_words

    async def _why_it_died(self) -> str:
        code = await self._process.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._listening), 1)
        if code == -9:
            return "the process was killed by signal 9, perhaps because memory ran out"
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else ""
            return f"the process crashed by signal {-code} {name}".strip()
        reason = self._last_words or "no reason given"
        return f"the process ended before its work was done (code {code}): {reason}"


class Workers:
    """One process for quick tasks, which stays, and a fresh one for every long task, begun beforehand."""

    def __init__(self) -> None:
        self._quick: Worker | None = None
        self._next: asyncio.Task[Worker] | None = None
        self._turns = _Turns()
        self._for_long: set[Worker] = set()  # those that were lent, and the next

    async def start(self) -> None:
        """Start the first ones."""
        self._quick = await Worker.start("--quick")
        self._next = asyncio.create_task(self._start_long())

    async def quick(
        self, task: Event, *, urgent: bool = False, seconds: float = _SECONDS_FOR_QUICK
    ) -> dict[str, Any]:
        """Have a quick task done, in its turn; urgent ones, which someone waits for, go first.

        A task that takes longer than so many seconds is ended with its process, which is then replaced. If
        its process dies it is begun once more: it may have been dead, or dying, before.
        """
        async with self._turns.turn(urgent=urgent):
            try:
                return await self._try_quick(task, seconds)
            except WorkerDied:
                return await self._try_quick(task, seconds)

    async def _try_quick(self, task: Event, seconds: float) -> dict[str, Any]:
        if self._quick is None or not self._quick.alive:
            self._quick = await Worker.start("--quick")
        worker = self._quick
        try:
            return await asyncio.wait_for(worker.run(task), seconds)
        except TimeoutError:
            await self._replace(worker)
            raise TaskFailed(f"given up after {seconds:.0f} s") from None
        except asyncio.CancelledError:  # its answer would be taken for that of the next task
            await self._replace(worker)
            raise

    async def _replace(self, worker: Worker) -> None:
        worker.kill()
        self._quick = None
        await worker.close()

    async def long(self) -> Worker:
        """Return a fresh process for one long task; the caller closes it."""
        # Before anything is waited for: another who asks meanwhile has the next one.
        begun, self._next = self._next, asyncio.create_task(self._start_long())
        worker = await (begun or self._start_long())
        if not worker.alive:
            await worker.close()
            worker = await self._start_long()
        return worker

    async def _start_long(self) -> Worker:
        """Start a process that `stop` will know of, also if who wants it has gone by then."""
        worker = await Worker.start()
        self._for_long = {each for each in self._for_long if each.alive} | {worker}
        return worker

    async def stop(self) -> None:
        """End all processes, soon: what a killed one leaves behind is tidied up at the next start."""
        if self._next:
            await self._next
        self._next = None
        every = {*self._for_long, *([self._quick] if self._quick else [])}
        await asyncio.gather(*(worker.close(_SECONDS_TO_STOP) for worker in every))


class _Turns:
    """One at a time, the urgent first, then in the order of asking."""

    def __init__(self) -> None:
        self._taken = False
        self._count = 0
        self._waiting: list[tuple[bool, int, asyncio.Future[None]]] = []

    def turn(self, *, urgent: bool) -> "_Turn":
        return _Turn(self, urgent)

    async def take(self, urgent: bool) -> None:
        if not self._taken:
            self._taken = True
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._waiting, (not urgent, self._count, mine))
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # the turn came at the same moment
                self.give_back()
            raise

    def give_back(self) -> None:
        while self._waiting:
            _, _, theirs = heapq.heappop(self._waiting)
            if not theirs.done():
                theirs.set_result(None)
                return
        self._taken = False


class _Turn:
    def __init__(self, turns: _Turns, urgent: bool) -> None:
        self._turns = turns
        self._urgent = urgent

    async def __aenter__(self) -> None:
        await self._turns.take(self._urgent)

    async def __aexit__(self, *_: object) -> None:
        self._turns.give_back()
