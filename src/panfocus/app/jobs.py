"""Long jobs, one at a time in a worker process: their queue, their states, cancel, and a new start."""

import asyncio
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panfocus.app.events import numbered
from panfocus.app.responses import Refusal
from panfocus.app.retouching import EVERY_VERSION, one_at_a_time, retouching_of
from panfocus.app.tasks.fuse import ARRAYS, KEPT, LIVE, REPORT
from panfocus.app.tasks.learn import ATOMS
from panfocus.app.work_folder import now
from panfocus.app.workers import TaskCancelled, Worker
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder

if TYPE_CHECKING:
    from panfocus.app.server import App

logger = logging.getLogger(__name__)

Job = dict[str, Any]

MOST_QUEUED = 200
SECONDS_TO_CANCEL = 3.0  # after which a process that does not listen, in the middle of a tile, is killed
# What is told of a job that was ended before it was done.
_KEPT = "Nothing of it is kept; its frames and settings are."
STOPPED = f"panfocus app was ended while this ran. {_KEPT}"
CANCELLED = f"You stopped it. {_KEPT}"
EXPORTS = "exports"
_FRESH = {
    "state": "queued",
    "stage": "",
    "done": 0.0,
    "error": None,
    "started": None,
    "ended": None,
    "live": 0,
    "result": None,
    "retouch": None,
}
_OF_A_RUN = (ARRAYS, KEPT, REPORT, LIVE, ATOMS, EVERY_VERSION)  # what a run leaves


class Jobs:
    """All jobs; a task in the background has them done, the oldest first."""

    def __init__(self, app: "App") -> None:
        self.exporting = asyncio.Lock()  # one at a time: each takes the memory of a picture
        self._app = app
        self._jobs = app.store.jobs
        self._work = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._running: str | None = None  # the job that is under way
        self._unwanted: set[str] = set()  # jobs that are being cancelled
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Go on with what was queued; what was under way when the server ended has failed."""
        for job in self._jobs.all():
            # By its folder: a stack that is passed over, as it cannot be read, may be mended.
            if not self._app.store.stacks.folder(job["stack"]).exists():
                await self._jobs.remove(job["id"])  # nobody could see or delete it
            elif job["state"] == "running":
                self._end(job, "failed", error=STOPPED)
                await asyncio.to_thread(_clear, self._jobs.folder(job["id"]))
            elif job["kind"] == "fuse" and job["state"] == "done":
                await self._mend_layer(job)
        self._work.set()
        self._runner = asyncio.create_task(self._run_all())

    async def _mend_layer(self, job: Job) -> None:
        """Have painting that a kill has cut short done before anyone looks: browsers keep what they see."""
        try:
            await asyncio.to_thread(retouching_of(self._jobs.folder(job["id"]), job).ensure_shown)
        except PanfocusError as error:  # a full disk; it is tried again when the strokes are opened
            logger.warning("%s", error)

    async def stop(self) -> None:
        """Begin nothing more; the workers are ended by who has them."""
        if self._runner:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)

    def public(self, job: Job) -> Job:
        """Return a job as pages see it."""
        return numbered({name: value for name, value in job.items() if name != "task"})

    def add(
        self, *, stack: str, kind: str, name: str, options: Job, command: str, task: Job, **more: Any
    ) -> Job:
        """Put a job into the queue; `task` is what a worker is told, the folder of the job is added.

        The `task` may name that folder itself: the caller has made it by `new_folder`.
        """
        if sum(job["state"] == "queued" for job in self._jobs.all()) >= MOST_QUEUED:
            raise Refusal(409, f"{MOST_QUEUED} jobs are waiting already; cancel some of them")
        job = {
            "id": Path(task["folder"]).name,
            "stack": stack,
            "kind": kind,
            "name": name,
            "options": options,
            "command": command,
            "created": now(),
            "said": [],
            "warnings": [],
            "task": task,
            **_FRESH,
            **more,
        }
        self.changed(job)
        self._work.set()
        return job

    def new_folder(self) -> Path:
        """Make the folder of a new job, with one for what is exported."""
        folder = self._jobs.folder(self._jobs.new_id())
        make_folder(folder / EXPORTS)
        return folder

    def changed(self, job: Job, **changes: Any) -> None:
        """Keep a job with these changes, and tell the pages; what cannot be kept is not changed."""
        self._jobs.save(job, **changes)
        self._tell(job)

    def cancel(self, job: Job) -> None:
        """Take a job from the queue, or interrupt it; after a while its process is killed."""
        if job["state"] == "queued":
            self.changed(job, state="cancelled", ended=now(), error=CANCELLED)
        elif job["state"] == "running":
            self._unwanted.add(job["id"])
            job |= {"stage": "cancelling", "done": 0.0}
            self._tell(job)
            if self._worker and self._running == job["id"]:
                self._worker.interrupt()
                asyncio.get_running_loop().call_later(SECONDS_TO_CANCEL, self._worker.kill)

    def again(self, job: Job, **changes: Any) -> None:
        """Queue a job anew that failed or was cancelled, with these changes."""
        if job["state"] not in ("failed", "cancelled"):
            raise Refusal(
                409, f"this job is {job['state']}; only one that failed or was cancelled begins anew"
            )
        fresh = _FRESH | {"said": [], "warnings": []}
        if "learning" in job:
            fresh["learning"] = {"objective": [], "atoms_version": 0}
        self.changed(job, **fresh, **changes)
        self._work.set()

    async def remove(self, name: str) -> None:
        """Remove a job with all its files; one that is under way is ended first."""
        job = self._jobs.get(name)
        if job["state"] == "queued":
            job["state"] = "cancelled"  # so that it does not begin; kept nowhere, as a full disk may be why
        while self._running == name:
            self._unwanted.add(name)
            if self._worker:
                self._worker.kill()
            await self._idle.wait()
        async with one_at_a_time(name):  # a stroke that is being saved would make its folder anew
            await self._jobs.remove(name)
        self._app.events.tell({"kind": "gone", "id": name})

    async def _run_all(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while job := next((job for job in self._jobs.all() if job["state"] == "queued"), None):
                await self._run(job)

    async def _run(self, job: Job) -> None:
        self._running, self._worker = job["id"], None
        self._idle.clear()
        folder = self._jobs.folder(job["id"])
        try:
            self.changed(job, state="running", started=now())
            await asyncio.to_thread(_clear, folder)  # of an earlier run
            self._worker = await self._app.workers.long()
            if job["id"] in self._unwanted:
                raise TaskCancelled
            for path in job["task"].get("reads", ()):  # again, as it may have waited long
                self._app.folders.check_again(path)
            result = await self._worker.run(job["task"], lambda event: self._hear(job, event))
            self.changed(job, state="done", ended=now(), done=1.0, result=result)
            if job["kind"] == "learn":
                self._app.tell_dictionaries()
        except TaskCancelled:
            self._end(job, "cancelled", error=CANCELLED)
        except Exception as error:
            if job["id"] in self._unwanted:
                self._end(job, "cancelled", error=CANCELLED)
            else:
                logger.warning("job %s failed: %s", job["id"], error)
                known = isinstance(error, PanfocusError | Refusal)
                text = str(error) if known else f"unexpected {type(error).__name__}: {error}"
                self._end(job, "failed", error=self._as_known(job, " ".join(text.split())))
        finally:
            self._unwanted.discard(job["id"])
            self._running, worker, self._worker = None, self._worker, None
            self._idle.set()
            if worker:
                await worker.close()
        if job["state"] != "done":
            await asyncio.to_thread(_clear, folder)

    def _hear(self, job: Job, event: Job) -> None:
        match event:
            case {"event": "progress", "stage": stage, "done": done} if job["id"] not in self._unwanted:
                job |= {"stage": stage, "done": done}
            case {"event": "said", "text": text}:
                job["said"].append(self._as_known(job, text))
            case {"event": "warning", "text": text}:
                job["warnings"].append(self._as_known(job, text))
            case {"event": "live", "version": version}:
                job["live"] = version
            case {"event": "learning", "objective": objective, "atoms_version": version}:
                job["learning"]["objective"].append(objective)
                job["learning"]["atoms_version"] = version
            case {"event": "atoms", "atoms_version": version}:
                job["learning"]["atoms_version"] = version
        self._tell(job)

    def _as_known(self, job: Job, text: str) -> str:
        return self._app.stacks.as_known(job["stack"], text)

    def _end(self, job: Job, state: str, **more: Any) -> None:
        """Tell that a job was not done, also where that cannot be kept: the next one has to begin."""
        job |= {"state": state, "ended": now(), **more}
        try:
            self._jobs.save(job)
        except OSError as error:  # a full disk; the next start of the server finds it queued or running
            logger.warning("%s", error)
        self._tell(job)

    def _tell(self, job: Job) -> None:
        self._app.events.tell({"kind": "job", "job": self.public(job)})


def _clear(folder: Path) -> None:
    """Remove what a run has left in the folder of its job."""
    for path in (path for name in _OF_A_RUN for path in folder.glob(name)):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):  # it is none, or a folder that is gone by now
            path.unlink()
