"""From a port and a work folder to a running server, and its end."""

import logging
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from panfocus.app.server import App, Server
from panfocus.app.uploads import Limits
from panfocus.errors import PanfocusError
from panfocus.io.lock import locked
from panfocus.io.secret import check_private, make_private_folder

logger = logging.getLogger(__name__)

DEFAULT_PORT = 8765
_PORTS_TRIED = 50


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
    ready: Callable[[str], object],
) -> None:
    """Serve the page until Ctrl-C; `ready` is told its address as soon as it can be opened.

    `folders` are what the page may open, `port` is tried alone; None means the usual one, or the next free.
    """
    for folder in folders:
        if not folder.is_dir():
            raise PanfocusError(f"{folder} is not a folder; name folders that the page may open")
    work = work or default_work_folder()
    make_private_folder(work)
    if others := check_private(work):
        logger.warning("%s", others)
    with locked(work), _listener(port) as listener:
        app = App(work.resolve(), list(folders), limits)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/?token={app.store.token}"
        server = Server(app, listener, lambda: ready(address))
        with suppress(KeyboardInterrupt):  # raised anew by uvicorn after it has stopped
            server.run(sockets=[listener])


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
