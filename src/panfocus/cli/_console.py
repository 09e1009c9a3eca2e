"""How every command speaks: plain lines or bars for progress, one line for an error, and the exit code."""

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus.errors import InputError, PanfocusError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

FAILED, WRONG_USAGE = 1, 2

Force = Annotated[bool, typer.Option("--force", help="Overwrite existing output files.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the log, and a traceback with an error.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Most threads to use; by default every core.",
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]


class UsageError(InputError):
    """The command itself is wrong, not what it found in a file."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Count an argument that is refused inside as wrong usage."""
    try:
        yield
    except InputError as error:
        raise UsageError(str(error)) from error


class Console:
    """What a command prints while it works; use it through `console`."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._stage = ""
        self._bars: Progress | None = None
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        """Print a line of the result on stdout, unless quiet."""
        self.close()
        if not self._quiet:
            typer.echo(line)

    def progress(self, stage: str, done: float) -> None:
        """Show where the library stands: a bar on a terminal, a line per stage elsewhere."""
        if self._quiet:
            return
        if sys.stderr.isatty():
            self._draw(stage, done)
        elif stage != self._stage:
            typer.echo(f"{stage} ...")
        self._stage = stage

    def close(self) -> None:
        """Take the bars off the terminal."""
        if self._bars:
            self._bars.stop()
            self._bars = None

    def _draw(self, stage: str, done: float) -> None:
        from rich.console import Console as Terminal
        from rich.progress import Progress

        if self._bars is None:
            self._bars = Progress(console=Terminal(stderr=True), transient=True)
            self._bars.start()
            self._stage = ""
        if self._task is None or stage != self._stage:
            self._task = self._bars.add_task(stage, total=1.0)
        self._bars.update(self._task, completed=done)


@contextmanager
def console(*, quiet: bool = False, debug: bool = False) -> Iterator[Console]:
    """Give a command its console; end it with one line and the right exit code if something goes wrong."""
    # Libraries warn about oddities in files; users are told what matters by us, the rest only on request.
    logging.basicConfig(level=logging.INFO, handlers=None if debug else [logging.NullHandler()])
    logging.captureWarnings(True)
    terminal = Console(quiet=quiet)
    try:
        yield terminal
    except (typer.Exit, BrokenPipeError):  # whoever read the output has seen enough: typer ends quietly
        raise
    except BaseException as error:  # Ctrl-C is one of them
        terminal.close()
        if debug:
            traceback.print_exception(error)
        complain(_message(error))
        raise typer.Exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED) from error
    finally:
        terminal.close()


def complain(message: str) -> None:
    """Print an error as one line on stderr."""
    typer.echo(f"panfocus: {' '.join(message.split())}", err=True)


def _message(error: BaseException) -> str:
    if isinstance(error, PanfocusError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing was written"
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer or smaller frames"
    return f"unexpected {type(error).__name__}: {error}; run again with --debug to see where"
