"""`panfocus app`: the page, served on this computer."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import Console, console
from panfocus.errors import missing_extra, usage_errors


def page(
    *,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folders that the page may open; default: the current folder.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None,
        options.number_option("Port to listen on; default: 8765, or the next free one.", 0, 65535),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for stacks and results; default: the user's data folder."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    max_upload: Annotated[
        str, typer.Option(metavar="SIZE", help="Maximum size of an uploaded file, such as 500MB.")
    ] = "2GB",
    debug: options.Debug = False,
) -> None:
    """Fuse, inspect and retouch in your browser.

    The page is served to this computer only; its address contains a secret token. Ctrl-C stops it.
    """
    with console(debug=debug) as terminal:
        import webbrowser

        from panfocus.job.memory_plan import parse_size

        with usage_errors():
            largest = parse_size(max_upload, "max_upload")
        try:
            from panfocus.app.server import serve
            from panfocus.app.uploads import UploadLimits
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
                raise
            raise missing_extra("The page", "Starlette and Uvicorn", "app") from error

        def announce(address: str, file: str | None) -> None:
            terminal.say(f"The page is at {address}")
            if file:
                # A confined browser, such as one installed by snap, may be unable to read the file.
                terminal.say("If your browser does not open it, open this address. Press Ctrl-C to stop.")
                # In a thread: some commands wait until the browser is closed.
                threading.Thread(target=webbrowser.open, args=(file,), daemon=True).start()
            else:
                request = "Open this address in your browser. " if browser else ""
                terminal.say(f"{request}Press Ctrl-C to stop.")

        limits = UploadLimits(file_bytes=largest, stack_bytes=32 * largest)
        with nullcontext() if debug else printed_warnings(terminal):  # --debug prints the whole log
            serve(
                folders or [Path()], work=work, port=port, limits=limits, for_browser=browser, ready=announce
            )
        terminal.say("Stopped.")


@contextmanager
def printed_warnings(terminal: Console) -> Iterator[None]:
    """Print warnings and errors of the server, one line each; the page does not show them all."""
    handler = _WarningPrinter(terminal)
    loggers = [logging.getLogger(name) for name in ("panfocus", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _WarningPrinter(logging.Handler):
    def __init__(self, terminal: Console) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and (error := record.exc_info[1]):
            text += f": {type(error).__name__}: {error}. Start with --debug to see where."
        self._terminal.warn(" ".join(text.split()))
