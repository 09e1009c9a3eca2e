"""Exit codes, and lines on stdout and stderr, which may be closed, full, or read by no one any more."""

import sys
import unicodedata
from contextlib import suppress
from typing import TextIO

FAILED, WRONG_USAGE = 1, 2


def print_line(text: str) -> None:
    """Print on stdout, or raise an OSError and print nothing from then on."""
    try:
        _print(text, sys.stdout)
    except OSError:
        silence_stdout()
        raise


def print_error(message: str) -> None:
    """Print an error as one line on stderr; if even that is not possible, there is no one to tell."""
    with suppress(OSError):
        _print(f"panfocus: {' '.join(message.split())}", sys.stderr)


def silence_stdout() -> None:
    """Drop what stdout could not take, which Python would try to print again at its end."""
    with suppress(OSError):
        sys.stdout.close()
    sys.stdout = None


def printable(text: str) -> str:
    r"""Show control characters, as \x1b, in place of sending them to a terminal, which would obey them."""
    return "".join(char if _is_harmless(char) else repr(char)[1:-1] for char in text)


def _is_harmless(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _print(text: str, stream: TextIO | None) -> None:
    if stream is not None:  # None: closed when the program began
        stream.write(f"{printable(text)}\n")
        stream.flush()
