"""`panfocus app`: address, port, stopping, and errors at the start."""

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
from cli_errors import assert_error_line


def command(*arguments, before=(), **environment):
    # The parent may ignore SIGINT, as under nohup; here Ctrl-C must work.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    main = [sys.executable, "-c", f"{start}; from panfocus.cli import main; main()"]
    return subprocess.Popen(
        [*before, *main, "app", "--no-browser", *map(str, arguments)],
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


def test_ctrl_c_stops_the_server_while_a_page_is_open(running):
    process, address = running
    with httpx.Client(follow_redirects=True) as client:
        assert client.get(address).status_code == 200
        with client.stream("GET", httpx.URL(address).join("/api/events")) as page:
            assert next(page.iter_lines()) == ": welcome"
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=300)
    assert output.splitlines()[-1] == "Stopped."
    assert (process.returncode, errors) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="there, other users do not see command lines")
def test_secret_is_not_on_the_browsers_command_line(tmp_path):
    opened_file, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {opened_file}.part && mv {opened_file}.part {opened_file}\n')
    browser.chmod(0o700)
    process = command(
        *(tmp_path, "--browser", "--work", tmp_path / "my work", "--port", "0"), BROWSER=f"{browser} %s"
    )
    try:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        until = time.monotonic() + 300
        while not opened_file.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        argument = opened_file.read_text().strip()
        assert argument.startswith("file://")
        assert address.partition("token=")[2] not in argument
        opened = Path(url2pathname(urlsplit(argument).path))
        assert opened.stat().st_mode & 0o777 == 0o600
        assert f'content="0; url={address}"' in opened.read_text()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, "")
        assert not opened.exists()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of what a process writes")
def test_full_disk_does_not_prevent_the_start(tmp_path):
    arguments = (tmp_path, "--work", tmp_path / "work", "--port", "0")
    no_room = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")  # every file stays empty
    for before, browser in ((), False), (no_room, False), (no_room, True):
        more = ["--browser"] if browser else []
        process = command(*arguments, *more, before=before, BROWSER="false")
        try:
            assert re.search(r"http://\S+", process.stdout.readline())
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 0
        assert ("open.html" in errors) == browser
    assert not (tmp_path / "work" / "open.html").exists()


def test_second_server_on_the_same_work_folder_is_rejected(running, tmp_path):
    code, _, errors = outcome(tmp_path, "--work", tmp_path / "work", "--port", "0")
    assert code == 1
    assert_error_line(errors, tmp_path / "work")


def test_requested_port_that_is_taken_is_rejected(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, errors = outcome(tmp_path, "--work", tmp_path / "work", "--port", port)
    assert code == 1
    assert_error_line(errors, port, "--port")


def test_next_free_port_is_used_by_default(tmp_path, monkeypatch):
    from panfocus.app import server

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(server, "DEFAULT_PORT", port)
        with server._open_listener(None) as listener:
            assert port < listener.getsockname()[1] < port + 50
            assert listener.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [(["nowhere"], 1, ["nowhere"]), (["--max-upload", "much"], 2, ["--max-upload", "much", "2GB"])],
)
def test_wrong_folder_or_size_is_rejected(run, tmp_path, arguments, code, names):
    ran = run("app", "--no-browser", "--work", tmp_path / "work", *arguments)
    assert ran.code == code
    assert_error_line(ran.err, *names)


def test_readable_work_folder_is_reported(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as work:  # other users can reach it, unlike pytest's folders
        Path(work).chmod(0o755)
        process = command(tmp_path, "--work", work, "--port", "0")
        assert "http://" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert_error_line(errors, "warning", work, "chmod go-rwx")


def test_missing_extra_is_reported(tmp_path):
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError('no starlette', name='starlette')")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    code, _, errors = outcome("--work", tmp_path / "work", PYTHONPATH=path)
    assert code == 1
    assert_error_line(errors, "Starlette", "pip install 'panfocus[app]'")


def test_default_work_folder_is_the_users_data_folder(tmp_path, monkeypatch):
    from panfocus.app.server import default_work_folder

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_work_folder() == tmp_path / "panfocus" / "app"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_work_folder() == tmp_path / ".local" / "share" / "panfocus" / "app"
