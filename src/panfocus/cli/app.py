"""`panfocus app`: the page to work with, served on this computer."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli._console import Console, Debug, console
from panfocus.errors import missing_extra, usage_errors


def page(
    *,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folders that the page may open; by default the current one.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port to listen at; by default 8765, or the next that is free."),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to keep stacks and results in; by default the user's data."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    max_upload: Annotated[
        str, typer.Option(metavar="SIZE", help="Largest file that the page may send.")
    ] = "2GB",
    debug: Debug = False,
) -> None:
    """Open a page to work with: drop a stack, fuse it, check and mend the result.

    The page is served to this computer alone, at an address with a secret in it. Ctrl-C ends it.
    """
    with console(debug=debug) as terminal:
        import webbrowser

        from panfocus.job.byte_size import parse_size

        with usage_errors():
            largest = parse_size("--max-upload", max_upload)
        try:
            from panfocus.app.serve import serve
            from panfocus.app.uploads import Limits
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
                raise
            raise missing_extra("The page", "Starlette and Uvicorn", "app") from error

        def say(address: str, file: str | None) -> None:
            terminal.say(f"The page is at {address}")
            if file:
                # Not known: one that is confined, as by snap, may not read the file.
                terminal.say("The browser opens it; if it does not, open this address there. Ctrl-C ends it.")
                # In a thread: some wait until the browser is closed.
                threading.Thread(target=webbrowser.open, args=(file,), daemon=True).start()
            else:
                wanted = "Open this address in the browser. " if browser else ""
                terminal.say(f"{wanted}Ctrl-C ends it.")

        limits = Limits(file_bytes=largest, stack_bytes=32 * largest)
        with nullcontext() if debug else printed_warnings(terminal):  # with --debug the whole log is shown
            serve(folders or [Path()], work=work, port=port, limits=limits, for_browser=browser, ready=say)
        terminal.say("Stopped.")


@contextmanager
def printed_warnings(terminal: Console) -> Iterator[None]:
    """Print what goes wrong in the server meanwhile, a line each: the page does not show it all."""
    handler = _Warnings(terminal)
    loggers = [logging.getLogger(name) for name in ("panfocus", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _Warnings(logging.Handler):
    """Warnings and errors of the log, for the terminal."""

    def __init__(self, terminal: Console) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and (error := record.exc_info[1]):
            text += f": {type(error).__name__}: {error}; start it with --debug to see where"
        self._terminal.warn(" ".join(text.split()))
