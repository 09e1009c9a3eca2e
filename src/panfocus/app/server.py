"""The server, put together: what it holds, its routes, its start and its end."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from panfocus import __version__
from panfocus.app import (
    allowed_folders,
    events,
    exports,
    job_routes,
    learning,
    retouching,
    stack_routes,
    views,
)
from panfocus.app.allowed_folders import Folders
from panfocus.app.events import Events
from panfocus.app.frame_scanner import Looker
from panfocus.app.jobs import Jobs
from panfocus.app.responses import HANDLERS, Answer
from panfocus.app.security import Guard
from panfocus.app.stacks import Stacks
from panfocus.app.uploads import Limits, Uploads
from panfocus.app.words import on_page
from panfocus.app.work_folder import Store
from panfocus.app.workers import Workers
from panfocus.io.input_files import INPUT_SUFFIXES
from panfocus.job import option_schema

_WITH_ROUTES = (events, allowed_folders, stack_routes, job_routes, views, retouching, exports, learning)
_STATIC = Path(str(files("panfocus"))) / "app" / "static"
_SECONDS_TO_END = 1  # that open requests have when the server stops


class App:
    """What the routes work with; found at `request.app.state.app`."""

    def __init__(self, work: Path, roots: list[Path], limits: Limits) -> None:
        self.limits = limits
        self.store = Store(work)
        self.events = Events()
        self.folders = Folders(roots)
        self.workers = Workers()
        self.stacks = Stacks(self.store, self.events, self.folders)
        self.looker = Looker(self.stacks, self.workers)
        self.uploads = Uploads(self.stacks, limits)
        self.jobs = Jobs(self)

    async def start(self) -> None:
        """Start the workers, and go on with what was under way when the server last ended."""
        await self.workers.start()
        # The first page will ask for it, and wait: the methods are imported.
        self._preparing = asyncio.create_task(run_in_threadpool(option_schema.methods))
        self.looker.start()
        await self.jobs.start()

    async def stop(self) -> None:
        """End everything, child processes too."""
        self.looker.stop()
        # Together: both wait for the process of a job, which is given its time to tidy up once.
        await asyncio.gather(self.jobs.stop(), self.workers.stop())

    def tell_dictionaries(self) -> None:
        """Tell the pages which dictionaries were learned here."""
        self.events.tell({"kind": "dictionaries", "names": self.store.dictionary_names()})

    def state(self) -> dict[str, Any]:
        """Return all that a page needs to know when it opens."""
        return {
            "version": __version__,
            "stacks": [self.stacks.public(stack) for stack in self.store.stacks.all()],
            "jobs": [self.jobs.public(job) for job in self.store.jobs.all()],
            "methods": option_schema.methods(),
            "options": [form | {"help": on_page(form["help"])} for form in option_schema.options()],
            "learning": learning.fields(),
            "dictionaries": self.store.dictionary_names(),
            "roots": [str(root) for root in self.folders.roots],
            "limits": {
                "file_bytes": self.limits.file_bytes,
                "stack_bytes": self.limits.stack_bytes,
                "endings": INPUT_SUFFIXES,
            },
        }


async def _page(request: Request) -> FileResponse:
    return FileResponse(_STATIC / "index.html")


async def _state(request: Request) -> Answer:
    await run_in_threadpool(option_schema.methods)  # may still be under way
    return Answer(request.app.state.app.state())


def application(app: App, *, port: int) -> Starlette:
    """Return the web application of a server that listens at this port."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await app.start()
        try:
            yield
        finally:
            await app.stop()

    routes: list[BaseRoute] = [Route("/", _page), Route("/api/state", _state)]
    for module in _WITH_ROUTES:
        routes += module.routes
    routes.append(Mount("/static", StaticFiles(directory=_STATIC)))
    starlette = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers=HANDLERS,
        middleware=[Middleware(Guard, token=app.store.token, port=port)],
    )
    starlette.state.app = app
    return starlette


class Server(uvicorn.Server):
    """uvicorn, which ends the open event streams when it is told to stop, and says when it listens."""

    def __init__(self, app: App, listener: socket.socket, ready: Callable[[], object]) -> None:
        port = listener.getsockname()[1]
        super().__init__(
            uvicorn.Config(
                application(app, port=port),
                lifespan="on",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: streams would keep their connections open for ever."""
        self._app.events.close()
        await super().shutdown(sockets)
