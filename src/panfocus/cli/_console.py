"""Printing, progress, errors as one line, and exit codes of all commands."""

import logging
import signal
import sys
import time
import traceback
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from panfocus import cli
from panfocus._numba import on_compile_notice
from panfocus.cli._wording import COMMAND
from panfocus.errors import Notice, PanfocusError, UsageError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from panfocus.job.runner import JobResult

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130  # exit codes
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)  # Ctrl-C; the end of a cluster job or of the system
SECONDS_BETWEEN_LINES = 10.0  # of progress, where there is no terminal


class Console:
    """Prints the progress and results of a command; `console` creates it."""

    def __init__(self, *, quiet: bool) -> None:
        self.printing_error: OSError | None = None  # why a line could not be printed; the work continues
        self._quiet = quiet
        self._stage = ""
        self._pending_note = ""  # a note that came before any progress
        self._last_line_at = 0.0  # time of the last line of progress
        self._bars: Progress | None = None
        self._task: TaskID | None = None

    def say(self, line: str | Notice) -> None:
        """Print a line of the result on stdout, unless quiet."""
        self.close()
        self._print(COMMAND.text(line))

    def progress(self, stage: str, done: float, *, of: int | None = None) -> None:
        """Show progress: a bar on a terminal, elsewhere a line per stage and one every few seconds.

        With `of`, the number of items of the stage, these lines count items instead of percent.
        """
        if self._quiet:
            return
        now = time.monotonic()
        if sys.stderr is not None and sys.stderr.isatty():
            with suppress(OSError):  # the terminal was closed
                self._draw(stage, done)
        elif stage != self._stage:
            self._print(f"{stage} ...")
            self._last_line_at = now
        elif now - self._last_line_at >= SECONDS_BETWEEN_LINES:
            self._print(f"{stage} {done:.0%}" if of is None else f"{stage} {round(done * of)} of {of}")
            self._last_line_at = now
        self._stage = stage
        if self._pending_note:
            line, self._pending_note = self._pending_note, ""
            self.note(line)

    def note(self, line: str) -> None:
        """Print a line among the lines of progress, from any thread; the first progress releases it."""
        if self._quiet:
            return
        if not self._stage:
            self._pending_note = line
            return
        if bars := self._bars:
            with suppress(OSError):
                bars.console.print(line, markup=False, highlight=False)
        else:
            self._print(line)

    def warn(self, line: str | Notice) -> None:
        """Print a warning on stderr, even if quiet."""
        self.close()
        print_error(f"warning: {COMMAND.text(line)}")

    def report(self, done: "JobResult") -> None:
        """Print the result of a fusion: warnings on stderr, then the summary and the written files."""
        for warning in done.warnings:
            self.warn(warning)
        for line in done.summary:
            self.say(line)
        if done.files:
            self.say(f"Wrote {done.job.request.outputs.names(len(done.job.spans))} {elapsed()}")

    def finish(self) -> None:
        """Ignore Ctrl-C from here on, while files are put in place: they are written all or none."""
        for number in _INTERRUPTS:
            signal.signal(number, signal.SIG_IGN)

    def close(self) -> None:
        """Remove the progress bars from the terminal."""
        if self._bars:
            with suppress(OSError):
                self._bars.stop()
            self._bars = None

    def _print(self, line: str) -> None:
        if not self._quiet:
            try:
                print_line(line)
            except OSError as error:
                self.printing_error = error

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
    """Create the console of a command; turn exceptions into one line on stderr and an exit code."""
    # Libraries warn about oddities in files. Users see them only with --debug.
    logging.basicConfig(level=logging.INFO, handlers=None if debug else [logging.NullHandler()])
    logging.captureWarnings(True)
    terminal = Console(quiet=quiet)
    end_notes = on_compile_notice(terminal.note)
    handlers = {number: signal.getsignal(number) for number in _INTERRUPTS}
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield terminal
        # A reader that closes the pipe, such as head, has seen enough.
        if terminal.printing_error and not isinstance(terminal.printing_error, BrokenPipeError):
            raise PanfocusError(
                f"Done, but the output could not be printed: {terminal.printing_error.strerror}."
            )
    except BrokenPipeError:  # typer ends quietly
        raise
    except BaseException as error:
        terminal.close()
        if debug:
            with suppress(OSError):
                traceback.print_exception(error)
        for note in getattr(error, "__notes__", ()):
            print_error(f"warning: {COMMAND.text(note)}")
        print_error(_message(error))
        raise SystemExit(_exit_code(error)) from error
    finally:
        end_notes()
        terminal.close()
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Tell users how to resume when the block is interrupted after it created the folder."""
    try:
        yield
    except KeyboardInterrupt as error:
        if not folder.exists():
            raise
        raise KeyboardInterrupt(
            f"Interrupted; finished results are in {folder}. Run the same command again to resume."
        ) from error


def print_line(text: str) -> None:
    """Print a line on stdout; on failure raise an OSError and print nothing from then on."""
    try:
        _print(text, sys.stdout)
    except OSError:
        silence_stdout()
        raise


def print_error(message: str) -> None:
    """Print a message as one line on stderr, and nothing if that fails."""
    with suppress(OSError):
        _print(f"panfocus: {' '.join(message.split())}", sys.stderr)


def silence_stdout() -> None:
    """Drop the text that stdout could not take; otherwise Python prints it again at exit."""
    with suppress(OSError):
        sys.stdout.close()
    sys.stdout = None


def printable(text: str) -> str:
    r"""Escape control characters, such as \x1b, so that a terminal does not obey them."""
    return "".join(char if _is_harmless(char) else repr(char)[1:-1] for char in text)


def _is_harmless(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _print(text: str, stream: TextIO | None) -> None:
    if stream is not None:  # None: closed when the program started
        stream.write(f"{printable(text)}\n")
        stream.flush()


def elapsed() -> str:
    """Return the time since the command started, such as "in 6.2 s"."""
    return f"in {time.monotonic() - cli.STARTED:.1f} s"


def count(number: int, thing: str) -> str:
    """Return a number with its noun, such as "1 frame" or "3 frames"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _exit_code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return WRONG_USAGE if isinstance(error, UsageError) else FAILED


def _message(error: BaseException) -> str:
    if isinstance(error, PanfocusError):
        return COMMAND.text(error)
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "Interrupted; nothing was written."
    if isinstance(error, MemoryError):
        return "Out of memory. Use fewer or smaller frames."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return f"Unexpected {type(error).__name__}: {error}. Run again with --debug to see where."
