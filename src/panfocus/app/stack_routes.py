"""Routes of stacks and their frames."""

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.responses import (
    CACHE_FOR_A_DAY,
    JsonAnswer,
    RequestError,
    file_answer,
    json_body,
    path_number,
)
from panfocus.app.state import PageStack

if TYPE_CHECKING:
    from panfocus.app.server import App

_NO_PICTURE = "There is no picture of this frame yet."


def _requested_stack(request: Request) -> tuple["App", PageStack]:
    app: App = request.app.state.app
    return app, app.store.stacks.get(request.path_params["id"])


async def _create(request: Request) -> JsonAnswer:
    app: App = request.app.state.app
    match await json_body(request):
        case {"folder": path}:
            folder, paths, skipped = await run_in_threadpool(app.folders.images_in, path)
            stack = app.stacks.open_in_place(paths, folder, skipped)
        case {"files": [*files]}:
            paths = [await run_in_threadpool(app.folders.resolve_file, path) for path in files]
            stack = app.stacks.open_in_place(paths, None)
        case {"name": str(name)}:
            stack = app.stacks.create(name)
        case _:
            raise RequestError(400, "A stack needs a name, a folder or a list of files.")
    return JsonAnswer(app.stacks.view(stack), 201)


async def _upload(request: Request) -> JsonAnswer:
    app, stack = _requested_stack(request)
    await app.uploads.receive(stack, request.path_params["name"], request)
    return JsonAnswer(app.stacks.view(stack))


async def _announce(request: Request) -> JsonAnswer:
    wanted = await json_body(request)
    app, stack = _requested_stack(request)
    app.uploads.announce(stack, wanted.get("names"))
    return JsonAnswer(app.stacks.view(stack))


async def _forget_unsent(request: Request) -> Response:
    app, stack = _requested_stack(request)
    app.stacks.set_unsent(stack, [])
    return Response(status_code=204)


async def _change(request: Request) -> JsonAnswer:
    wanted = await json_body(request)
    app, stack = _requested_stack(request)  # after the body: the stack may be removed meanwhile
    app.stacks.change(stack, wanted)
    return JsonAnswer(app.stacks.view(stack))


async def _rescan(request: Request) -> JsonAnswer:
    app, stack = _requested_stack(request)
    await app.stacks.rescan_changed(stack)
    return JsonAnswer(app.stacks.view(stack))


async def _remove(request: Request) -> Response:
    app, stack = _requested_stack(request)
    await app.stacks.remove(stack)  # first: no job of it can be added from now on
    for job in app.store.jobs.all():
        if job.stack == stack.id and job.id in app.store.jobs:  # may be removed meanwhile
            await app.jobs.remove(job.id)
    return Response(status_code=204)


async def _thumbnail(request: Request) -> Response:
    app, stack = _requested_stack(request)
    path = app.stacks.thumbnail(stack, path_number(request, "frame"))
    return await file_answer(path, "image/jpeg", missing=_NO_PICTURE, headers=CACHE_FOR_A_DAY)


async def _preview(request: Request) -> Response:
    app, stack = _requested_stack(request)
    path = await app.scanner.make_preview(stack, path_number(request, "frame"))
    return await file_answer(path, "image/jpeg", missing=_NO_PICTURE, headers=CACHE_FOR_A_DAY)


routes = [
    Route("/api/stacks", _create, methods=["POST"]),
    Route("/api/stacks/{id}", _change, methods=["PATCH"]),
    Route("/api/stacks/{id}", _remove, methods=["DELETE"]),
    Route("/api/stacks/{id}/look", _rescan, methods=["POST"]),
    Route("/api/stacks/{id}/files/{name}", _upload, methods=["PUT"]),
    Route("/api/stacks/{id}/unsent", _announce, methods=["POST"]),
    Route("/api/stacks/{id}/unsent", _forget_unsent, methods=["DELETE"]),
    Route("/api/stacks/{id}/thumbnails/{frame}", _thumbnail),
    Route("/api/stacks/{id}/pictures/{frame}", _preview),
]
