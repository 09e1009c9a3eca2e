"""Job queue: runs one long job at a time, each in its own worker process."""

import asyncio
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from panfocus.app.events import with_revision
from panfocus.app.responses import RequestError
from panfocus.app.retouching import STROKE_FILES, Retouching, job_lock
from panfocus.app.state import ARRAYS, ATOMS, EXPORTS, LIVE, REPORT, SAVED_RESULT, PageJob
from panfocus.app.wording import describe_error
from panfocus.app.work_folder import now
from panfocus.app.worker_pool import TaskCancelled, Worker
from panfocus.errors import PanfocusError
from panfocus.io.atomic_files import make_folder

if TYPE_CHECKING:
    from panfocus.app.server import App

logger = logging.getLogger(__name__)

MAX_QUEUED = 200
SECONDS_TO_CANCEL = 3.0  # then a process that does not react, in the middle of a tile, is killed
_NO_RESULT = "It has no result; its frames and settings are unchanged."
STOPPED = f"panfocus app was stopped while this job was running. {_NO_RESULT}"
CANCELLED = f"You cancelled this job. {_NO_RESULT}"
_FILES_OF_A_RUN = (ARRAYS, SAVED_RESULT, REPORT, LIVE, ATOMS, STROKE_FILES)


class JobQueue:
    """All jobs; a background task runs those that are queued, oldest first."""

    def __init__(self, app: "App") -> None:
        self.exporting = asyncio.Lock()  # one at a time: each export needs the memory of a whole image
        self._app = app
        self._jobs = app.store.jobs
        self._work = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._running: str | None = None  # id of the running job
        self._cancelling: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self) -> None:
        """Continue with queued jobs; jobs that were running when the server ended have failed."""
        for job in self._jobs.all():
            # Checks the folder: a stack that cannot be read now may be repaired by the user.
            if not self._app.store.stacks.folder(job.stack).exists():
                await self._jobs.remove(job.id)  # no page would show it
            elif job.state == "running":
                self._end(job, "failed", STOPPED)
                await asyncio.to_thread(_remove_run, self._jobs.folder(job.id))
            elif job.is_fused:
                await self._repair_retouched_layer(job)
        self._work.set()
        self._runner = asyncio.create_task(self._run_all())

    async def _repair_retouched_layer(self, job: PageJob) -> None:
        """Finish painting that a kill interrupted, before browsers cache a half-painted layer."""
        retouching = Retouching(self._jobs.folder(job.id), job.retouch_version)
        try:
            await asyncio.to_thread(retouching.ensure_painted)
        except PanfocusError as error:  # a full disk; tried again when the strokes are opened
            logger.warning("%s", error)

    async def stop(self) -> None:
        """Start no more jobs. The worker pool ends the running one."""
        if self._runner:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)

    def view(self, job: PageJob) -> dict[str, Any]:
        """Return what pages see of a job."""
        return with_revision(job.view())

    def send(self, job: PageJob) -> None:
        """Send a job to the pages."""
        self._app.events.send({"kind": "job", "job": self.view(job)})

    def add(self, job: PageJob) -> None:
        """Queue a new job, and make the folder of its exports."""
        if sum(job.state == "queued" for job in self._jobs.all()) >= MAX_QUEUED:
            message = f"{MAX_QUEUED} jobs are waiting already. Cancel some of them."
            raise RequestError(409, message, limit=MAX_QUEUED)
        make_folder(self._jobs.folder(job.id) / EXPORTS)
        self._jobs.save(job)
        self.send(job)
        self._work.set()

    def cancel(self, job: PageJob) -> None:
        """Remove a job from the queue, or interrupt it; a process that does not react is killed."""
        if job.state == "queued":
            with self._jobs.edit(job) as draft:
                draft.state, draft.ended, draft.error = "cancelled", now(), CANCELLED
            self.send(job)
        elif job.state == "running":
            self._cancelling.add(job.id)
            job.stage, job.done = "cancelling", 0.0
            self.send(job)
            if self._worker and self._running == job.id:
                self._worker.interrupt()
                asyncio.get_running_loop().call_later(SECONDS_TO_CANCEL, self._worker.kill)

    def retry(self, job: PageJob, task: dict[str, Any] | None = None, command: str | None = None) -> None:
        """Queue a job again that failed or was cancelled, perhaps with another task."""
        if job.state not in ("failed", "cancelled"):
            message = f"This job is {job.state}. Only failed and cancelled jobs can be started again."
            raise RequestError(409, message, job=job.id, state=job.state)
        with self._jobs.edit(job) as draft:
            draft.reset()
            draft.task, draft.command = task or job.task, command or job.command
        self.send(job)
        self._work.set()

    async def remove(self, name: str) -> None:
        """Remove a job and its files; one that is running is killed first."""
        job = self._jobs.get(name)
        if job.state == "queued":
            job.state = "cancelled"  # so that it does not start; not saved, as the disk may be full
        while self._running == name:
            self._cancelling.add(name)
            if self._worker:
                self._worker.kill()
            await self._idle.wait()
        async with job_lock(name):  # a stroke that is being saved would create the folder again
            await self._jobs.remove(name)
        self._app.events.send({"kind": "gone", "id": name})

    async def _run_all(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while job := next((job for job in self._jobs.all() if job.state == "queued"), None):
                await self._run(job)

    async def _run(self, job: PageJob) -> None:
        self._running, self._worker = job.id, None
        self._idle.clear()
        folder = self._jobs.folder(job.id)
        try:
            with self._jobs.edit(job) as draft:
                draft.state, draft.started = "running", now()
            self.send(job)
            await asyncio.to_thread(_remove_run, folder)  # an earlier one
            self._worker = await self._app.workers.lend_long()
            if job.id in self._cancelling:
                raise TaskCancelled
            for path in job.task["reads"]:  # links may have changed while it waited
                self._app.folders.check_opened(path)
            result = await self._worker.run(job.task, lambda event: self._handle_event(job, event))
            with self._jobs.edit(job) as draft:
                draft.state, draft.ended, draft.done, draft.result = "done", now(), 1.0, result
            self.send(job)
            if job.kind == "learn":
                self._app.send_dictionaries()
        except Exception as error:
            if job.id in self._cancelling or isinstance(error, TaskCancelled):
                self._end(job, "cancelled", CANCELLED)
            else:
                logger.warning("Job %s failed: %s", job.id, error)
                self._end(job, "failed", self._shorten_paths(job, describe_error(error)))
        finally:
            self._cancelling.discard(job.id)
            self._running, worker, self._worker = None, self._worker, None
            self._idle.set()
            if worker:
                await worker.close()
        if job.state != "done":
            await asyncio.to_thread(_remove_run, folder)

    def _handle_event(self, job: PageJob, event: dict[str, Any]) -> None:
        match event:
            case {"event": "progress", "stage": stage, "done": done} if job.id not in self._cancelling:
                job.stage, job.done = stage, done
            case {"event": "summary", "text": text}:
                job.summary.append(self._shorten_paths(job, text))
            case {"event": "warning", "text": text}:
                job.warnings.append(self._shorten_paths(job, text))
            case {"event": "live", "version": version}:
                job.live = version
            case {"event": "learning", "objective": objective} if job.learning:
                job.learning["objective"].append(objective)
            case {"event": "atoms", "atoms_version": version} if job.learning:
                job.learning["atoms_version"] = version
        self.send(job)

    def _shorten_paths(self, job: PageJob, text: str) -> str:
        return self._app.stacks.shorten_paths(job.stack, text)

    def _end(self, job: PageJob, state: Literal["failed", "cancelled"], error: str) -> None:
        """End a job without a result, even if that cannot be saved: the next job has to start."""
        job.state, job.ended, job.error = state, now(), error
        try:
            self._jobs.save(job)
        except OSError as problem:  # a full disk; after a restart the job is queued or running again
            logger.warning("%s", problem)
        self.send(job)


def _remove_run(folder: Path) -> None:
    """Remove the files of an earlier run from the folder of a job."""
    for path in (path for pattern in _FILES_OF_A_RUN for path in folder.glob(pattern)):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):  # not a file, or removed meanwhile
            path.unlink()
