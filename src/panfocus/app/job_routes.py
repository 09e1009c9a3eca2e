"""Routes of jobs, and of what a fusion would take."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.fusions import add_fusion, fusion_command, request_of, run_again
from panfocus.app.learning import add_learning
from panfocus.app.responses import Answer, Refusal, json_body
from panfocus.job.serialization import to_plain


def _job(request: Request) -> tuple[Any, dict[str, Any]]:
    """Return the application, and the job that a request names."""
    app = request.app.state.app
    return app, app.store.jobs.get(request.path_params["id"])


async def _make(request: Request) -> Answer:
    app = request.app.state.app
    match await json_body(request):
        case {"learn": dict(wanted)}:
            job = add_learning(app, wanted)
        case {"stack": str(stack), **more} if isinstance(more.get("options", {}), dict):
            await app.stacks.look_again(app.store.stacks.get(stack))
            job = add_fusion(app, app.store.stacks.get(stack), more.get("options", {}))
        case _:
            raise Refusal(400, "needed is a stack with options, or what to learn from")
    return Answer(app.jobs.public(job), 201)


async def _cancel(request: Request) -> Answer:
    app, job = _job(request)
    app.jobs.cancel(job)
    return Answer(app.jobs.public(job))


async def _again(request: Request) -> Answer:
    app, job = _job(request)
    if job["kind"] == "fuse":
        await app.stacks.look_again(app.store.stacks.get(job["stack"]))
        app, job = _job(request)  # others may have removed it meanwhile
        run_again(app, job)
    else:
        app.jobs.again(job)
    return Answer(app.jobs.public(job))


async def _remove(request: Request) -> Response:
    app, job = _job(request)
    await app.jobs.remove(job["id"])
    return Response(status_code=204)


async def _space(request: Request) -> Answer:
    app = request.app.state.app
    return Answer({"free": app.stacks.room(), "jobs": await run_in_threadpool(app.store.jobs.sizes)})


async def _estimate(request: Request) -> Answer:
    app = request.app.state.app
    stack = app.store.stacks.get(request.path_params["id"])
    options = await json_body(request)
    wanted = request_of(app, stack, options, app.store.stacks.folder(stack["id"]))
    told = await app.workers.quick({"task": "estimate", "request": to_plain(wanted)}, urgent=True)
    told["warnings"] = [app.stacks.as_known(stack["id"], line) for line in told["warnings"]]
    told["error"] = told["error"] and app.stacks.as_known(stack["id"], told["error"])
    command = await run_in_threadpool(fusion_command, wanted, stack)
    return Answer(told | {"command": command})


routes = [
    Route("/api/jobs", _make, methods=["POST"]),
    Route("/api/jobs/{id}", _remove, methods=["DELETE"]),
    Route("/api/jobs/{id}/cancel", _cancel, methods=["POST"]),
    Route("/api/jobs/{id}/again", _again, methods=["POST"]),
    Route("/api/space", _space),
    Route("/api/stacks/{id}/estimate", _estimate, methods=["POST"]),
]
