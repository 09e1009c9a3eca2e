"""The server: its parts, routes, start and end."""

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path
from typing import Any

import uvicorn
from platformdirs import user_data_path
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
from panfocus.app.allowed_folders import AllowedFolders
from panfocus.app.events import Events
from panfocus.app.frame_scanner import FrameScanner
from panfocus.app.job_queue import JobQueue
from panfocus.app.responses import HANDLERS, JsonAnswer
from panfocus.app.security import Guard
from panfocus.app.stacks import Stacks
from panfocus.app.uploads import UploadLimits, Uploads
from panfocus.app.wording import page_text
from panfocus.app.work_folder import Store, check_private, make_private_folder, write_private
from panfocus.app.worker_pool import WorkerPool
from panfocus.errors import FileError, InputError, PanfocusError
from panfocus.io.input_files import INPUT_SUFFIXES
from panfocus.io.lock import lock_folder
from panfocus.job import option_schema

logger = logging.getLogger(__name__)

DEFAULT_PORT = 8765
_PORTS_TRIED = 50
_OPENER = "open.html"
_STATIC = Path(__file__).parent / "static"
_SECONDS_TO_END = 1  # for open requests when the server stops


class App:
    """The parts of the server; routes find it at `request.app.state.app`."""

    def __init__(self, work: Path, roots: list[Path], limits: UploadLimits) -> None:
        self.limits = limits
        self.store = Store(work)
        self.events = Events()
        self.folders = AllowedFolders(roots)
        self.workers = WorkerPool()
        self.stacks = Stacks(self.store, self.events, self.folders)
        self.scanner = FrameScanner(self.stacks, self.workers)
        self.uploads = Uploads(self.store, self.stacks, limits)
        self.jobs = JobQueue(self)

    async def start(self) -> None:
        """Start the workers, and continue with the work of the last server."""
        await self.workers.start()
        # The first page needs it; importing the methods takes a while.
        self._preparing = asyncio.create_task(run_in_threadpool(option_schema.methods))
        self.scanner.start()
        await self.jobs.start()

    async def stop(self) -> None:
        """End everything, child processes too."""
        self.scanner.stop()
        # Together: both wait for the process of a running job.
        await asyncio.gather(self.jobs.stop(), self.workers.stop())

    def send_dictionaries(self) -> None:
        """Send the names of learned dictionaries to the pages."""
        self.events.send({"kind": "dictionaries", "names": self.store.dictionary_names()})

    def state(self) -> dict[str, Any]:
        """Return everything that a page needs when it opens."""
        return {
            "version": __version__,
            "stacks": [self.stacks.view(stack) for stack in self.store.stacks.all()],
            "jobs": [self.jobs.view(job) for job in self.store.jobs.all()],
            "methods": option_schema.methods(),
            "options": [form | {"help": page_text(form["help"])} for form in option_schema.options()],
            "learning": learning.setting_forms(),
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


async def _state(request: Request) -> JsonAnswer:
    await run_in_threadpool(option_schema.methods)  # may still be preparing
    return JsonAnswer(request.app.state.app.state())


def make_application(app: App, *, port: int, ready: Callable[[], object] = lambda: None) -> Starlette:
    """Return the web application of a server that listens at this port; it calls `ready` when it starts."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await app.start()
        ready()
        try:
            yield
        finally:
            await app.stop()

    routes: list[BaseRoute] = [Route("/", _page), Route("/api/state", _state)]
    for module in (events, allowed_folders, stack_routes, job_routes, views, retouching, exports, learning):
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


class _Server(uvicorn.Server):
    """A server that ends event streams when it stops: they would keep their connections open."""

    def __init__(self, application: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                lifespan="on",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_SECONDS_TO_END,
            )
        )
        self._events: Events = application.state.app.events

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._events.close()
        await super().shutdown(sockets)


def default_work_folder() -> Path:
    """Return the folder for this user's application data."""
    return user_data_path("panfocus", appauthor=False) / "app"


def serve(
    folders: Sequence[Path],
    *,
    work: Path | None,
    port: int | None,
    limits: UploadLimits,
    for_browser: bool,
    ready: Callable[[str, str | None], object],
) -> None:
    """Serve the page until Ctrl-C.

    `folders` are those that the page may open. Without a `port`, the default or the next free one is used.
    When the page can be opened, `ready` is called with its address and, `for_browser`, the URL of a file that
    redirects there: other users can see the arguments of a browser, but not read this file with the token.
    """
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder.", file=folder)
    work = work or default_work_folder()
    make_private_folder(work)
    if warning := check_private(work):
        logger.warning("%s", warning)
    with lock_folder(work), _open_listener(port) as listener:
        app, listening_port = App(work.resolve(), list(folders), limits), listener.getsockname()[1]
        address = f"http://127.0.0.1:{listening_port}/?token={app.store.token}"
        with _opener_file(app.store.work / _OPENER, address) if for_browser else nullcontext() as url:
            application = make_application(app, port=listening_port, ready=lambda: ready(address, url))
            with suppress(KeyboardInterrupt):  # uvicorn raises it again after it has stopped
                _Server(application).run(sockets=[listener])


@contextmanager
def _opener_file(path: Path, address: str) -> Iterator[str | None]:
    """Write a file that redirects a browser to the page; yield its URL, or None if it cannot be written."""
    target = escape(address)
    text = (
        f'<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={target}">\n'
        f'<title>panfocus</title>\n<p>The page is <a href="{target}">here</a>.</p>\n'
    )
    url = None
    try:
        write_private(path, text)
        url = path.as_uri()
    except FileError as error:  # a full disk: the user can free space on the page
        logger.warning("%s The browser is not opened.", error)
    try:
        yield url
    finally:
        path.unlink(missing_ok=True)


def _open_listener(port: int | None) -> socket.socket:
    """Return a socket that listens at a port of the loopback interface."""
    ports = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED)
    for number in ports:
        # The protocol is named because asyncio disables Nagle's algorithm (40 ms delays) only then.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if sys.platform != "win32":  # there, two servers could listen at one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
            listener.listen()
        except OSError as error:
            listener.close()
            if port is not None:
                message = f"Port {port} cannot be used ({error.strerror}). Choose another `port`."
                raise PanfocusError(message, setting="port", got=port) from error
        else:
            return listener
    last = DEFAULT_PORT + _PORTS_TRIED - 1
    raise PanfocusError(f"No port from {DEFAULT_PORT} to {last} is free. Choose a `port`.", setting="port")
