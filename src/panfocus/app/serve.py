"""From a port and a work folder to a running server, and its end."""

import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from html import escape
from pathlib import Path

from panfocus.app.private_file import check_private, make_private_folder, write_private
from panfocus.app.server import App, Server
from panfocus.app.uploads import Limits
from panfocus.errors import FileError, PanfocusError
from panfocus.io.lock import lock_folder

logger = logging.getLogger(__name__)

DEFAULT_PORT = 8765
_PORTS_TRIED = 50
_WAY_IN = "open.html"


def default_work_folder() -> Path:
    """Return where programs keep their data for this user."""
    data = os.environ.get("XDG_DATA_HOME", "")
    # By the standard, a path that is not absolute counts as none.
    home = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return home / "panfocus" / "app"


def serve(
    folders: Sequence[Path],
    *,
    work: Path | None,
    port: int | None,
    limits: Limits,
    for_browser: bool,
    ready: Callable[[str, str | None], object],
) -> None:
    """Serve the page until Ctrl-C.

    As soon as it can be opened, `ready` is told its address, and `for_browser` that of a file which leads
    there: other users see what a browser is started with, so that is to be the file, which only this user can
    read. None where it cannot be written.

    `folders` are what the page may open, `port` is tried alone; None means the usual one, or the next free.
    """
    for folder in folders:
        if not folder.is_dir():
            raise PanfocusError(f"{folder} is not a folder; name folders that the page may open")
    work = work or default_work_folder()
    make_private_folder(work)
    if others := check_private(work):
        logger.warning("%s", others)
    with lock_folder(work), _listener(port) as listener:
        app = App(work.resolve(), list(folders), limits)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={app.store.token}"
        with _way_in(app.store.work / _WAY_IN, address) if for_browser else nullcontext() as file:
            server = Server(app, listener, lambda: ready(address, file))
            with suppress(KeyboardInterrupt):  # raised anew by uvicorn after it has stopped
                server.run(sockets=[listener])


@contextmanager
def _way_in(path: Path, address: str) -> Iterator[str | None]:
    """Have a file that leads a browser to an address; return the file's own."""
    shown = escape(address)
    text = (
        f'<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={shown}">\n'
        f'<title>panfocus</title>\n<p>The page is <a href="{shown}">here</a>.</p>\n'
    )
    file = None
    try:
        write_private(path, text)
        file = path.as_uri()
    except FileError as error:  # a full disk: room is made on the page
        logger.warning("%s; so no browser is opened", error)
    try:
        yield file
    finally:
        path.unlink(missing_ok=True)


def _listener(port: int | None) -> socket.socket:
    """Return a socket at this port of this computer alone, not to be reached from others."""
    tried = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED)
    for number in tried:
        # The protocol by name: else asyncio does not know it, and small packets wait 40 ms for each other.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if sys.platform != "win32":  # where it would let two servers listen at one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
            listener.listen()
        except OSError as error:
            listener.close()
            if port is not None:
                raise PanfocusError(
                    f"port {port} cannot be used ({error.strerror}); choose another by --port"
                ) from error
        else:
            return listener
    raise PanfocusError(
        f"no port from {DEFAULT_PORT} to {DEFAULT_PORT + _PORTS_TRIED - 1} is free; choose one by --port"
    )
