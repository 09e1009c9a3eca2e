"""The command `panfocus`, one file per command or pair of related commands.

Heavy imports happen inside the commands, so that --help answers at once. `main` imports everything else, so
that Ctrl-C prints one line even while the program loads.
"""

import gc
import io
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import TyperException

STARTED = time.monotonic()  # for the time of the whole command in its summary


def main() -> None:
    """Run the command line; an early end is one line on stderr and an exit code."""
    try:
        code = _run()
    except KeyboardInterrupt:
        from panfocus.cli._console import INTERRUPTED, print_error

        print_error("Interrupted; nothing was written.")
        code = INTERRUPTED
    sys.exit(code)


def _run() -> int:
    # Imported objects stay alive; frequent collections would take 6 % of the start.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may contain bytes that are not text; stderr escapes them by default.
        sys.stdout.reconfigure(errors="backslashreplace")
    import typer

    from panfocus.cli._commands import commands
    from panfocus.cli._console import FAILED, INTERRUPTED, print_error, silence_stdout

    try:
        code: int | None = commands(prog_name="panfocus", standalone_mode=False)
    except typer.TyperException as error:
        print_error(_usage_message(error))
        return error.exit_code
    except OSError as error:  # for example --help into a full disk
        silence_stdout()
        print_error(f"Cannot print: {error.strerror}.")
        return FAILED
    if code == INTERRUPTED:  # typer was interrupted while it parsed; see `console` for the rest
        raise KeyboardInterrupt
    return code or 0


def _usage_message(error: "TyperException") -> str:
    """Return the message for a command line that typer refuses."""
    message = error.format_message()
    option = getattr(error, "param", None)
    if option is not None and getattr(error, "message", "")[:1].islower():  # raised by our own parsers
        return f"{max(option.opts, key=len)} {error.message}"
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See --help."
