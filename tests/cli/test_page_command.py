"""`panfocus app`: its address, its port, its end, and what keeps it from starting."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest


def command(*arguments, before=(), **environment):
    return subprocess.Popen(
        [*before, sys.executable, "-m", "panfocus", "app", "--no-browser", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def outcome(*arguments, **environment):
    process = command(*arguments, **environment)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, output, errors


@pytest.fixture
def running(tmp_path):
    process = command(tmp_path, "--work", tmp_path / "work", "--port", "0")
    try:
        yield process, re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_it_in_a_line_though_a_page_is_open(running):
    process, address = running
    with httpx.Client(follow_redirects=True) as client:
        assert client.get(address).status_code == 200
        with client.stream("GET", httpx.URL(address).join("/api/events")) as page:
            assert next(page.iter_lines()) == ": welcome"
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=20)
    assert output.splitlines()[-1] == "Stopped."
    assert (process.returncode, errors) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="there, other users do not see command lines")
def test_the_browser_is_started_without_the_secret_on_its_command_line(tmp_path):
    told, browser = tmp_path / "told", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {told}.part && mv {told}.part {told}\n')
    browser.chmod(0o700)
    process = command(
        *(tmp_path, "--browser", "--work", tmp_path / "my work", "--port", "0"), BROWSER=f"{browser} %s"
    )
    try:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        assert process.stdout.readline() == (
            "The browser opens it; if it does not, open this address there. Ctrl-C ends it.\n"
        )
        until = time.monotonic() + 20
        while not told.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        given = told.read_text().strip()
        assert given.startswith("file://")
        assert address.partition("token=")[2] not in given
        opened = Path(url2pathname(urlsplit(given).path))
        assert opened.stat().st_mode & 0o777 == 0o600
        assert f'content="0; url={address}"' in opened.read_text()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")
        assert not opened.exists()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of what a process writes")
@pytest.mark.parametrize("browser", [False, True], ids=["without a browser", "with one"])
def test_a_full_disk_does_not_keep_it_from_starting_where_room_is_made(tmp_path, browser):
    given = (tmp_path, "--work", tmp_path / "work", "--port", "0")
    no_room = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")  # of no file a byte
    for before, more in ((), ()), (no_room, ["--browser"] if browser else []):
        process = command(*given, *more, before=before, BROWSER="false")
        try:
            assert re.search(r"http://\S+", process.stdout.readline())
            said = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 0
    assert said == ("Open this address in the browser. Ctrl-C ends it.\n" if browser else "Ctrl-C ends it.\n")
    assert ("open.html: file too large; so no browser is opened" in errors) == browser
    assert not (tmp_path / "work" / "open.html").exists()


def test_a_second_server_on_the_same_work_folder_is_refused(running, tmp_path):
    code, _, errors = outcome(tmp_path, "--work", tmp_path / "work", "--port", "0")
    assert (code, errors) == (
        1,
        f"panfocus: {tmp_path}/work: another panfocus is at work here; wait for its end, or choose another "
        "folder\n",
    )


def test_a_port_that_is_taken_is_told_when_it_was_asked_for(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, errors = outcome(tmp_path, "--work", tmp_path / "work", "--port", port)
    assert code == 1
    assert errors == (
        f"panfocus: port {port} cannot be used (Address already in use); choose another by --port\n"
    )


def test_by_default_the_next_free_port_is_taken(tmp_path, monkeypatch):
    from panfocus.app import server

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "DEFAULT_PORT", port)
        with server._open_listener(None) as listener:
            assert port < listener.getsockname()[1] < port + 50
            assert listener.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["nowhere"], 1, "panfocus: nowhere is not a folder; name folders that the page may open\n"),
        (
            ["--max-upload", "much"],
            2,
            "panfocus: --max-upload 'much' is not a size; write it like 500MB, 2GB or 1.5GiB\n",
        ),
    ],
)
def test_wrong_arguments_are_one_line(tmp_path, arguments, code, line):
    found, _, errors = outcome("--work", tmp_path / "work", *arguments)
    assert (found, errors) == (code, line)


def test_a_work_folder_that_others_may_read_is_told_at_the_start(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as work:  # others can reach it, unlike those of pytest
        Path(work).chmod(0o755)
        process = command(tmp_path, "--work", work, "--port", "0")
        assert "The page is at" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert errors == (
        f"panfocus: warning: {work}: other users may read here; keep them out by chmod go-rwx, or choose "
        "another\n"
    )


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError('no starlette', name='starlette')")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    code, _, errors = outcome("--work", tmp_path / "work", PYTHONPATH=path)
    line = "panfocus: the page needs Starlette and Uvicorn: pip install 'panfocus[app]'\n"
    assert (code, errors) == (1, line)


def test_the_work_folder_is_by_default_where_programs_keep_their_data(tmp_path, monkeypatch):
    from panfocus.app.server import default_work_folder

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_work_folder() == tmp_path / "panfocus" / "app"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_work_folder() == tmp_path / ".local" / "share" / "panfocus" / "app"
