"""Routes of jobs: queue a fusion or a learning, cancel, retry, remove; and the estimate of a fusion."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.learning import add_learning
from panfocus.app.request_builder import fusion_command, fusion_request
from panfocus.app.responses import JsonAnswer, RequestError, json_body
from panfocus.app.state import EXPORTS, PageJob, PageStack
from panfocus.app.tasks import Estimate
from panfocus.app.work_folder import now
from panfocus.job.serialization import to_plain

if TYPE_CHECKING:
    from panfocus.app.server import App


def add_fusion(app: "App", stack: PageStack, options: dict[str, Any]) -> PageJob:
    """Queue a fusion of a stack."""
    from panfocus.methods import DEFAULT_METHOD

    with app.store.jobs.new_folder() as folder:
        task, command = _fusion_task(app, stack, options, folder)
        # The stack counts its fusions: a number is not used again when a result is deleted.
        with app.store.stacks.edit(stack) as draft:
            draft.n_fusions += 1
        job = PageJob(
            id=folder.name,
            created=now(),
            stack=stack.id,
            kind="fuse",
            name=f"{stack.n_fusions}. {options.get('method') or DEFAULT_METHOD}",
            options=options,
            command=command,
            task=task,
        )
        app.jobs.add(job)
    return job


def _fusion_task(
    app: "App", stack: PageStack, options: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], str]:
    """Return the worker's task for the job in `folder`, and the command line that does the same."""
    frames = stack.used_frames
    # A file that is not scanned yet may have many pages.
    if all(frame.state == "ready" for frame in frames) and sum(frame.pages or 1 for frame in frames) < 2:
        raise RequestError(409, "A fusion needs at least two frames.", needed=2)
    request = fusion_request(app, stack, options, folder / EXPORTS)
    task = {
        "task": "fuse",
        "folder": str(folder),
        "request": to_plain(request),
        "reads": list(request.inputs),
    }
    return task, fusion_command(request, stack)


def _requested_job(request: Request) -> tuple["App", PageJob]:
    app: App = request.app.state.app
    return app, app.store.jobs.get(request.path_params["id"])


async def _create(request: Request) -> JsonAnswer:
    app: App = request.app.state.app
    match await json_body(request):
        case {"learn": dict(wanted)}:
            job = add_learning(app, wanted)
        case {"stack": str(stack), **more} if isinstance(more.get("options", {}), dict):
            await app.stacks.rescan_changed(app.store.stacks.get(stack))
            job = add_fusion(app, app.store.stacks.get(stack), more.get("options", {}))
        case _:
            raise RequestError(400, "A job needs a stack with options, or regions to learn from.")
    return JsonAnswer(app.jobs.view(job), 201)


async def _cancel(request: Request) -> JsonAnswer:
    app, job = _requested_job(request)
    app.jobs.cancel(job)
    return JsonAnswer(app.jobs.view(job))


async def _retry(request: Request) -> JsonAnswer:
    app, job = _requested_job(request)
    if job.kind == "fuse":
        # With the frames that the stack has now: the one that made it fail may be excluded.
        stack = app.store.stacks.get(job.stack)
        await app.stacks.rescan_changed(stack)
        app, job = _requested_job(request)  # may be removed meanwhile
        stack = app.store.stacks.get(job.stack)
        task, command = _fusion_task(app, stack, job.options, app.store.jobs.folder(job.id))
        app.jobs.retry(job, task, command)
    else:
        app.jobs.retry(job)
    return JsonAnswer(app.jobs.view(job))


async def _remove(request: Request) -> Response:
    app, job = _requested_job(request)
    await app.jobs.remove(job.id)
    return Response(status_code=204)


async def _space(request: Request) -> JsonAnswer:
    app: App = request.app.state.app
    sizes = await run_in_threadpool(app.store.jobs.sizes)
    return JsonAnswer({"free": app.store.free_space(), "jobs": sizes})


async def _estimate(request: Request) -> JsonAnswer:
    app: App = request.app.state.app
    stack = app.store.stacks.get(request.path_params["id"])
    options = await json_body(request)
    wanted = fusion_request(app, stack, options, app.store.stacks.folder(stack.id))
    task = {"task": "estimate", "request": to_plain(wanted)}
    estimate: Estimate = await app.workers.run_quick(task, urgent=True)
    estimate["warnings"] = [app.stacks.shorten_paths(stack.id, line) for line in estimate["warnings"]]
    if estimate["error"]:
        estimate["error"] = app.stacks.shorten_paths(stack.id, estimate["error"])
    command = await run_in_threadpool(fusion_command, wanted, stack)
    return JsonAnswer({**estimate, "command": command})


routes = [
    Route("/api/jobs", _create, methods=["POST"]),
    Route("/api/jobs/{id}", _remove, methods=["DELETE"]),
    Route("/api/jobs/{id}/cancel", _cancel, methods=["POST"]),
    Route("/api/jobs/{id}/again", _retry, methods=["POST"]),
    Route("/api/space", _space),
    Route("/api/stacks/{id}/estimate", _estimate, methods=["POST"]),
]
