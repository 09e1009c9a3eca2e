"""The picture is written whatever becomes of the lines about it, and Ctrl-C is told the truth."""

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
def fuse(folder, dictionary_file):
    return [*PANFOCUS, "fuse", "a.png", "b.png", "-o", "fused.png", "--dictionary", str(dictionary_file)]


@posix
def test_a_reader_that_went_away_costs_nothing(fuse):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(fuse, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("fused.png").exists()


@needs_full_device
def test_a_full_disk_behind_stdout_is_said_after_the_work(fuse):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(fuse, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("panfocus: ")
        assert len(done.stderr.splitlines()) == 1
        assert Path("fused.png").exists()
        assert subprocess.run([*fuse, "--force"], stdout=full, stderr=full, check=False).returncode == 1


@posix
@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-"])
def test_closed_streams_do_not_matter(fuse, closed):
    done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *fuse], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("fused.png").exists()


@needs_full_device
def test_help_into_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PANFOCUS, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith("panfocus: ")
    assert len(done.stderr.splitlines()) == 1


@posix
def test_ctrl_c_while_the_program_loads_is_one_line(tmp_path):
    slow = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    slow += "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    (tmp_path / "typer.py").write_text(slow)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([*PANFOCUS, "doctor"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (130, 1)


def test_ctrl_c_while_the_command_line_is_parsed_is_one_line(run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperGroup.parse_args", interrupt)
    ran = run("doctor")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (130, "", 1)


def test_ctrl_c_while_files_appear_comes_too_late(folder, run, dictionary_file, monkeypatch):
    write_files = atomic_files.write_files

    def interrupted(*arguments, **options):
        write_files(*arguments, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(atomic_files, "write_files", interrupted)
    before = signal.getsignal(signal.SIGINT)
    ran = run("fuse", "a.png", "b.png", "-o", "fused.png", "--dictionary", dictionary_file)
    assert (ran.code, ran.err) == (0, "")
    assert "wrote fused.png" in ran.out
    assert signal.getsignal(signal.SIGINT) is before


def test_control_characters_are_shown_not_sent():
    assert printable("\x1b[2Jgröße\u3000\udcff\u202e\r") == "\\x1b[2Jgröße\u3000\\udcff\\u202e\\r"


@pytest.mark.skipif(os.name != "posix", reason="other systems refuse such names")
def test_names_with_control_characters_are_shown_escaped(folder, run, dictionary_file):
    name = "\x1b[31m.png"
    ran = run("fuse", "a.png", "b.png", "-o", name, "--dictionary", dictionary_file)
    assert ran.code == 0
    assert r"wrote \x1b[31m.png" in ran.out
    ran = run("fuse", "a.png", "b.png", "-o", name, "--dictionary", dictionary_file)
    assert ran.code == 1
    assert r"\x1b[31m.png exists already" in ran.err
    assert "\x1b" not in ran.out + ran.err
