"""How every command speaks: plain lines or bars for progress, one line for an error, and the exit code."""

import logging
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panfocus._numba_messages import hear_of_compiling
from panfocus.cli._exit import FAILED, WRONG_USAGE, print_error, print_line
from panfocus.errors import PanfocusError, UsageError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Force = Annotated[bool, typer.Option("--force", help="Overwrite existing output files.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the log, and a traceback with an error.")]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        help="Leave out, with a warning each, frames that cannot be read or aligned, do not fit, show "
        "another scene or are there twice.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Most threads to use; by default every core.",
    ),
]


def _named_folder(typed: str) -> Path:
    if not typed:  # a variable of the shell that was never set; it would mean the current folder
        raise typer.BadParameter("the name is empty; a dot means the current folder")
    return Path(typed)


ReportFolder = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="REPORT", help="Folder to write to.", parser=_named_folder),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="File to write.")]

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C, and what schedulers of clusters and systems send
SECONDS_BETWEEN_LINES = 10.0  # of progress, where there is no terminal


class Console:
    """What a command prints while it works; use it through `console`."""

    def __init__(self, *, quiet: bool) -> None:
        self.unprinted: OSError | None = None  # why a line could not be printed; the work goes on
        self._quiet = quiet
        self._stage = ""
        self._held = ""  # a note that came before any progress
        self._said_at = 0.0  # when the last line of progress was printed
        self._bars: Progress | None = None
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        """Print a line of the result on stdout, unless quiet."""
        self.close()
        self._print(line)

    def progress(self, stage: str, done: float, *, of: int | None = None) -> None:
        """Show where the library stands: a bar on a terminal; elsewhere a line per stage, and now and then.

        `of`: how many things the stage goes through, which a line counts.
        """
        if self._quiet:
            return
        now = time.monotonic()
        if sys.stderr is not None and sys.stderr.isatty():
            with suppress(OSError):  # the terminal was closed
                self._draw(stage, done)
        elif stage != self._stage:
            self._print(f"{stage} ...")
            self._said_at = now
        elif now - self._said_at >= SECONDS_BETWEEN_LINES:
            self._print(f"{stage} {done:.0%}" if of is None else f"{stage} {round(done * of)} of {of}")
            self._said_at = now
        self._stage = stage
        if self._held:
            line, self._held = self._held, ""
            self.note(line)

    def note(self, line: str) -> None:
        """Print a line between those of progress, from any thread; before there are any it waits for them."""
        if self._quiet:
            return
        if not self._stage:
            self._held = line
            return
        if bars := self._bars:
            with suppress(OSError):
                bars.console.print(line, markup=False, highlight=False)
        else:
            self._print(line)

    def warn(self, line: str) -> None:
        """Print a line on stderr, even if quiet: something of the user's is left out."""
        self.close()
        print_error(f"warning: {line}")

    def finish(self) -> None:
        """Ignore Ctrl-C from here on: files are about to appear, and it would say that none was written."""
        for number in _INTERRUPTS:
            signal.signal(number, signal.SIG_IGN)

    def close(self) -> None:
        """Take the bars off the terminal."""
        if self._bars:
            with suppress(OSError):
                self._bars.stop()
            self._bars = None

    def _print(self, line: str) -> None:
        if not self._quiet:
            try:
                print_line(line)
            except OSError as error:
                self.unprinted = error

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
    end_notes = hear_of_compiling(terminal.note)
    handlers = {number: signal.getsignal(number) for number in _INTERRUPTS}
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield terminal
        # Whoever closes the pipe has seen enough.
        if terminal.unprinted and not isinstance(terminal.unprinted, BrokenPipeError):
            raise PanfocusError(f"done, but it could not be printed here ({terminal.unprinted.strerror})")
    except (
        typer.Exit,
        BrokenPipeError,
    ):  # the latter from what does not print by `say`: typer ends quietly
        raise
    except BaseException as error:  # Ctrl-C is one of them
        terminal.close()
        if debug:
            with suppress(OSError):
                traceback.print_exception(error)
        print_error(_message(error))
        raise typer.Exit(WRONG_USAGE if isinstance(error, UsageError) else FAILED) from error
    finally:
        end_notes()
        terminal.close()
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def kept_when_interrupted(folder: Path) -> Iterator[None]:
    """Say where what is finished is kept, for the next run to go on, should the block be interrupted."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise PanfocusError(
            f"interrupted; what is finished is kept in {folder}, the same command goes on from there"
        ) from error


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _message(error: BaseException) -> str:
    if isinstance(error, PanfocusError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing was written"
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer or smaller frames"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"unexpected {type(error).__name__}: {error}; run again with --debug to see where"
