"""Servers with their own work folder, in a separate process as users start them, or in the test process."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx


class AppServer:
    """A server, and a client with its token."""

    def __init__(self, client, token, work, root):
        self.client = client
        self.token = token
        self.work = work
        self.root = root  # the folder that the page may open
        client.headers["Authorization"] = f"Bearer {token}"

    def state(self):
        answer = self.client.get("/api/state")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def stack(self, name):
        (found,) = [stack for stack in self.state()["stacks"] if stack["id"] == name]
        return found

    def seen(self, name):
        """Wait until all frames of a stack are scanned, and return it."""
        for _ in wait(60):
            stack = self.stack(name)
            if not stack["receiving"] and all(
                frame["state"] in ("ready", "bad") for frame in stack["frames"]
            ):
                return stack
        raise AssertionError("frames were not scanned")


class RunningServer(AppServer):
    """A server in its own process."""

    def __init__(self, process, address, work, root):
        self.process = process
        self.address = address  # as printed, with the token
        self.url, _, token = address.partition("/?token=")
        super().__init__(httpx.Client(base_url=self.url, timeout=60), token, work, root)


@contextmanager
def local_server(work, root):
    """Serve in this process, which is faster; `server.app` has the parts of the server."""
    from starlette.testclient import TestClient

    from panfocus.app.server import App, make_application
    from panfocus.app.uploads import UploadLimits

    work.mkdir(exist_ok=True)
    app = App(work, [root], UploadLimits())
    application = make_application(app, port=8765)
    with TestClient(application, base_url="http://127.0.0.1:8765") as client:
        server = AppServer(client, app.store.token, work, root)
        server.app = app
        yield server


def wait(seconds, step=0.05):
    """Yield from time to time until the time is up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(step)


@contextmanager
def running_server(work, root, *arguments, **environment):
    """Start `panfocus app`; stop it at the end as Ctrl-C does."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "panfocus", "app", str(root), "--work", str(work)),
            *("--no-browser", *(arguments or ("--port", "0"))),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"{line}{process.stderr.read()}"
        yield RunningServer(process, found[0], work, root)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.communicate()


def tree(folder):
    """Return all paths below a folder."""
    return {path.relative_to(folder) for path in folder.rglob("*")}


def raw(server, *lines, body=b"", then_close=False):
    """Send a raw request; return the first line of the answer and the whole answer."""
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port), timeout=300) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        if then_close:
            return "", ""
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
            head, end, rest = answer.partition(b"\r\n\r\n")
            if end and len(rest) >= content_length(head):
                break
    text = answer.decode(errors="replace")
    return text.partition("\r\n")[0], text


def content_length(head):
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(sizes[0].split(b":")[1]) if sizes else 0


def headers_of(server, *more):
    host = urlsplit(server.url).netloc
    return [f"Host: {host}", f"Authorization: Bearer {server.token}", *more]
