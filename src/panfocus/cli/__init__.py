"""The command `panfocus`, one file per command.

Heavy imports happen inside the commands, so that --help answers at once; here there are none at all, so that
Ctrl-C has its one line from the first moment.
"""

import gc
import io
import sys

from panfocus.cli._exit import FAILED, print_error, silence_stdout

_INTERRUPTED = 130  # what typer makes of Ctrl-C outside a command


def main() -> None:
    """Run the command line; whatever ends it early is one line on stderr, and an exit code."""
    sys.exit(_run())


def _run() -> int:
    # What imports make stays: looking through it again and again is 6 % of the start.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file's name may be no text; stderr replaces what it cannot print anyway.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        import typer

        from panfocus.cli._commands import commands

        try:
            code: int | None = commands(prog_name="panfocus", standalone_mode=False)
        except typer.TyperException as error:
            print_error(f"{error.format_message()} (see --help)")
            return error.exit_code
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
    except KeyboardInterrupt:  # outside a command; inside, its console says so
        print_error("interrupted")
        return FAILED
    except OSError as error:  # --help into a full disk
        silence_stdout()
        print_error(f"cannot print ({error.strerror})")
        return FAILED
    return code or 0
