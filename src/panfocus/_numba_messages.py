"""Who is told that code is compiled, which takes a while: here, or in a process that works for this one."""

import logging
from collections.abc import Callable

_COMPILER = logging.getLogger("panfocus._numba")  # by its name: the module itself loads the compiler


class _Notes(logging.Handler):
    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


def hear_of_compiling(tell: Callable[[str], object]) -> Callable[[], None]:
    """Have a line told when code is compiled; return what ends that."""
    notes = _Notes(tell)
    _COMPILER.setLevel(logging.INFO)
    _COMPILER.addHandler(notes)
    return lambda: _COMPILER.removeHandler(notes)


class Relay:
    """Passes on, once, what others say of their compiling, as if it were said here."""

    def __init__(self, whose: str = "") -> None:
        self._whose = whose
        self._said = False

    def tell(self, line: str) -> None:
        if not self._said:
            self._said = True
            _COMPILER.info("%s%s", self._whose, line)
