import dataclasses
import inspect
import logging
import re
import subprocess
import sys

import pytest
from cli_errors import assert_error_line

from panfocus import __version__
from panfocus.cli._console import console
from panfocus.cli.app import printed_warnings
from panfocus.cli.fuse import fuse
from panfocus.job.request import Outputs, Request
from panfocus.methods import DEFAULT_METHOD

HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "PIL",
    "tifffile",
    "imagecodecs",
    "dask",
    "distributed",
    "zarr",
    "webbrowser",
    "panfocus.job.runner",
)


def test_version(run):
    assert run("--version") == (0, f"panfocus {__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands(run, arguments):
    ran = run(*arguments)
    assert (ran.code, ran.err) == (0, "")
    for name in ("fuse", "learn", "dictionary", "score", "compare", "demo", "doctor"):
        assert name in ran.out


def test_help_names_the_default_method(run):
    assert f"default: {DEFAULT_METHOD}" in " ".join(run("fuse", "--help").out.split())


def test_every_field_of_a_request_has_an_option():
    fields = {field.name for kind in (Request, Outputs) for field in dataclasses.fields(kind)}
    renamed = {"outputs", "image", "applied", "steps"}  # --output, --apply-output, --save-steps
    assert fields - renamed <= inspect.signature(fuse).parameters.keys()


@pytest.mark.parametrize("arguments", [("nonsense",), ("--nonsense",), ("doctor", "--nonsense")])
def test_unknown_command_or_option_is_one_line(run, arguments):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert_error_line(ran.err, "nonsense")


@pytest.mark.parametrize("command", ["align", "batch", "fuse", "score"])
def test_help_shows_no_python_types(run, command):
    ran = run(command, "--help")
    assert not re.search(r"<(list|path|str|int)|[{}]", ran.out)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cli: similar command", ["fues"]),
        ("cli: number too small", ["fuse", "a", "--threads", "0"]),
        ("cli: number too large", ["fuse", "a", "--jpeg-quality", "101"]),
        ("cli: no number", ["fuse", "a", "--threads", "two"]),
        ("cli: empty file name", ["fuse", "a", "-o", ""]),
        ("cli: empty folder name", ["demo", "-o", ""]),
        ("cli: file for a batch", ["batch", "a.png", "-o", "results"]),
        ("cli: stack for a batch", ["batch", ".", "-o", "results"]),
        ("cli: batch format", ["batch", ".", "-o", "results", "--format", "bmp"]),
        ("cli: unknown suffix", ["fuse", "a.png", "b.png", "-o", "fused.bmp"]),
        ("cli: slab sizes", ["fuse", "a.png", "b.png", "--slabs", "2:2"]),
        ("cli: step without unit", ["fuse", "a.png", "b.png", "--step", "5"]),
    ],
)
def test_wrong_usage_is_one_line(folder, run, message, name, arguments):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    message(name, ran.err)


def test_help_needs_no_heavy_import():
    check = "import sys, panfocus.cli._commands; print([n for n in sys.argv[1:] if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_progress_on_a_terminal_is_a_bar_that_is_erased(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with console() as terminal:
        for done in (0.5, 1.0):
            terminal.progress("select", done)
        terminal.progress("compose", 1.0)
        terminal.say("done")
    captured = capsys.readouterr()
    assert captured.out == "done\n"
    assert "select" in captured.err
    assert captured.err.count("\x1b[2K") >= 2  # both lines are erased


def test_progress_elsewhere_is_one_line_per_stage(capsys):
    with console() as terminal:
        for stage, done in (("select", 0.5), ("select", 1.0), ("compose", 1.0)):
            terminal.progress(stage, done)
    assert capsys.readouterr() == ("select ...\ncompose ...\n", "")


def test_compiler_notes_are_lines_of_progress(capfd):
    compiler = logging.getLogger("panfocus._numba")
    with console():
        compiler.info("compiling")  # not printed without progress: programs may read the output
    with console() as terminal:
        compiler.info("compiling to read files")  # printed with the first progress
        terminal.progress("fuse", 0.0)
        terminal.progress("fuse", 0.1)
    with console() as terminal:
        terminal.progress("fuse", 0.0)
        compiler.info("compiling now")
    with console(quiet=True) as terminal:
        compiler.info("compiling in silence")
        terminal.progress("fuse", 0.0)
        compiler.info("compiling in silence")
    compiler.info("compiling after")
    assert capfd.readouterr() == ("fuse ...\ncompiling to read files\nfuse ...\ncompiling now\n", "")


def test_server_errors_are_printed_in_one_line(capsys):
    log = logging.getLogger("panfocus.app.responses")
    with console() as terminal:
        with printed_warnings(terminal):
            log.info("all is well")
            log.error("GET /api/state", exc_info=ValueError("two\nlines"))
        log.error("not any more")
    assert_error_line(capsys.readouterr().err, "warning: GET /api/state: ValueError: two lines", "--debug")
