"""Routes of stacks."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from panfocus.app.responses import Answer, Refusal, json_body, path_number, small_file

_KEPT_BY_BROWSERS = {"Cache-Control": "private, max-age=86400"}  # a key is never used again
_NO_PICTURE = "there is no picture of this frame, or not yet"


def _stack(request: Request) -> tuple[Any, dict[str, Any]]:
    """Return the application, and the stack that a request names."""
    app = request.app.state.app
    return app, app.store.stacks.get(request.path_params["id"])


async def _make(request: Request) -> Answer:
    app = request.app.state.app
    wanted = await json_body(request)
    match wanted:
        case {"folder": given}:
            folder, paths, left_out = await run_in_threadpool(app.folders.images_in, given)
            stack = app.stacks.open_in_place(paths, folder, left_out)
        case {"files": [*given]}:
            paths = [await run_in_threadpool(app.folders.checked_file, path) for path in given]
            stack = app.stacks.open_in_place(paths, None)
        case {"name": str(name)}:
            stack = app.stacks.make(name.strip()[:200])
        case _:
            raise Refusal(400, "needed is a name, a folder or a list of files")
    return Answer(app.stacks.public(stack), 201)


async def _receive(request: Request) -> Answer:
    app, stack = _stack(request)
    await app.uploads.receive(stack, request.path_params["name"], request)
    return Answer(app.stacks.public(stack))


async def _announce(request: Request) -> Answer:
    wanted = await json_body(request)
    app, stack = _stack(request)
    app.uploads.announce(stack, wanted.get("names"))
    return Answer(app.stacks.public(stack))


async def _give_up(request: Request) -> Response:
    app, stack = _stack(request)
    app.uploads.give_up(stack)
    return Response(status_code=204)


async def _change(request: Request) -> Answer:
    wanted = await json_body(request)
    app, stack = _stack(request)  # others may have removed it while this came
    app.stacks.change(stack, wanted)
    return Answer(app.stacks.public(stack))


async def _look_again(request: Request) -> Answer:
    app, stack = _stack(request)
    await app.stacks.look_again(stack)
    return Answer(app.stacks.public(stack))


async def _remove(request: Request) -> Response:
    app, stack = _stack(request)
    await app.stacks.remove(stack["id"])  # at first: from now on no job of it can be added
    for job in app.store.jobs.all():
        if job["stack"] == stack["id"] and job["id"] in app.store.jobs:  # others may have removed it
            await app.jobs.remove(job["id"])
    return Response(status_code=204)


async def _thumbnail(request: Request) -> Response:
    app, stack = _stack(request)
    path = app.stacks.thumbnail(stack["id"], path_number(request, "frame"))
    return await small_file(path, "image/jpeg", missing=_NO_PICTURE, headers=_KEPT_BY_BROWSERS)


async def _picture(request: Request) -> Response:
    app, stack = _stack(request)
    path = await app.looker.picture(stack, path_number(request, "frame"))
    return await small_file(path, "image/jpeg", missing=_NO_PICTURE, headers=_KEPT_BY_BROWSERS)


routes = [
    Route("/api/stacks", _make, methods=["POST"]),
    Route("/api/stacks/{id}", _change, methods=["PATCH"]),
    Route("/api/stacks/{id}", _remove, methods=["DELETE"]),
    Route("/api/stacks/{id}/look", _look_again, methods=["POST"]),
    Route("/api/stacks/{id}/files/{name}", _receive, methods=["PUT"]),
    Route("/api/stacks/{id}/unsent", _announce, methods=["POST"]),
    Route("/api/stacks/{id}/unsent", _give_up, methods=["DELETE"]),
    Route("/api/stacks/{id}/thumbnails/{frame}", _thumbnail),
    Route("/api/stacks/{id}/pictures/{frame}", _picture),
]
