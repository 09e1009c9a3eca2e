"""Closed or full stdout and stderr do not stop a run; Ctrl-C at any moment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from panfocus.cli._console import printable
from panfocus.io import atomic_files

PANFOCUS = [sys.executable, "-m", "panfocus"]

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX streams and signals")
needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")


@pytest.fixture
def fuse(folder):
    return [*PANFOCUS, "fuse", "a.png", "b.png", "-o", "fused.png", "--method", "dwt", "--align", "off"]


@posix
def test_broken_pipe_does_not_stop_the_run(fuse):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(fuse, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("fused.png").exists()


@needs_full_device
def test_full_disk_behind_stdout_is_an_error_after_the_work(fuse):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(fuse, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("panfocus: ")
        assert len(done.stderr.splitlines()) == 1
        assert Path("fused.png").exists()
        assert subprocess.run([*fuse, "--force"], stdout=full, stderr=full, check=False).returncode == 1


@posix
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_stop_the_run(fuse, closed):
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *fuse], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("fused.png").exists()


@needs_full_device
def test_help_on_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PANFOCUS, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("panfocus: ")
    assert len(done.stderr.splitlines()) == 1


@posix
def test_ctrl_c_while_the_program_loads(tmp_path):
    slow = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    slow += "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    (tmp_path / "typer.py").write_text(slow)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run([*PANFOCUS, "doctor"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (130, 1)


def test_ctrl_c_while_the_command_line_is_parsed(run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperGroup.parse_args", interrupt)
    ran = run("doctor")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (130, "", 1)


def test_ctrl_c_is_ignored_while_files_are_put_in_place(folder, run, dictionary_file, monkeypatch):
    write_files = atomic_files.write_files

    def interrupted(*arguments, **options):
        write_files(*arguments, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(atomic_files, "write_files", interrupted)
    before = signal.getsignal(signal.SIGINT)
    ran = run("fuse", "a.png", "b.png", "-o", "fused.png", "--dictionary", dictionary_file)
    assert (ran.code, ran.err) == (0, "")
    assert "fused.png" in ran.out
    assert signal.getsignal(signal.SIGINT) is before


def test_control_characters_are_escaped():
    assert printable("\x1b[2Jgröße\u3000\udcff\u202e\r") == "\\x1b[2Jgröße\u3000\\udcff\\u202e\\r"


@pytest.mark.skipif(os.name != "posix", reason="other systems reject such names")
def test_control_characters_in_file_names_are_escaped(folder, run, dictionary_file):
    name = "\x1b[31m.png"
    ran = run("fuse", "a.png", "b.png", "-o", name, "--dictionary", dictionary_file)
    assert ran.code == 0
    assert r"\x1b[31m.png" in ran.out
    ran = run("fuse", "a.png", "b.png", "-o", name, "--dictionary", dictionary_file)
    assert ran.code == 1
    assert r"\x1b[31m.png" in ran.err
    assert "\x1b" not in ran.out + ran.err
