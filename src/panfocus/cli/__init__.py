"""The command `panfocus`, one file per command.

Heavy imports happen inside the commands, so that --help answers at once. This module imports nothing heavy at
all, so that Ctrl-C prints one line even while the program loads.
"""

import gc
import io
import sys

from panfocus.cli._exit import FAILED, INTERRUPTED, print_error, silence_stdout


def main() -> None:
    """Run the command line; an early end is one line on stderr and an exit code."""
    sys.exit(_run())


def _run() -> int:
    # Imported objects stay alive; frequent collections would take 6 % of the start.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may contain bytes that are not text; stderr escapes them by default.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        import typer

        from panfocus.cli._commands import commands

        try:
            code: int | None = commands(prog_name="panfocus", standalone_mode=False)
        except typer.TyperException as error:
            print_error(f"{error.format_message()} (see --help)")
            return error.exit_code
        if code == INTERRUPTED:  # from typer, while it parsed; a command exits by itself, see `console`
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print_error("Interrupted; nothing was written.")
        return INTERRUPTED
    except OSError as error:  # for example --help into a full disk
        silence_stdout()
        print_error(f"Cannot print: {error.strerror}.")
        return FAILED
    return code or 0
