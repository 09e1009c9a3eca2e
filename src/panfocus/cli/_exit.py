"""Exit codes, and printing to stdout and stderr, which may be closed, full, or a broken pipe."""

import sys
import unicodedata
from contextlib import suppress
from typing import TextIO

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130


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
