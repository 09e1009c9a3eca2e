"""Numba wrapper: compiled kernels, cached between runs, and the notice that code is being compiled.

numba is imported by the first kernel, so that importing this module is cheap.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

logger = logging.getLogger(__name__)

# Sums may be reordered for vector lanes. A loop has one order in any thread, so its bits are reproducible.
REGROUPED = {"contract", "reassoc", "nsz"}
NOTICEABLE = 1.0  # seconds of compiling before the notice

_kernels: list[Any] = []  # with a cache


class _CompileListener:
    """Receives numba's "numba:compile" events, which occur only for code that is not in the cache.

    Events nest: compiling a kernel compiles the functions that it calls. A lock of numba serialises them.
    """

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._depth = 0

    def notify(self, event: Any) -> None:
        if event.is_start:
            self._depth += 1
            if self._depth == 1:
                self._tell(True)
        else:
            self._depth -= 1
            if self._depth == 0:
                self._tell(False)


class _Announcement:
    """Logs once that code is being compiled, when that has taken noticeable time."""

    def __init__(self) -> None:
        self.is_cached = True
        self._depth = 0
        self._seconds = 0.0  # of finished kernels
        self._started = 0.0
        self._is_done = False

    def notify(self, event: Any) -> None:
        now = time.perf_counter()
        if event.is_start:
            if self._depth == 0:
                self._started = now
            self._depth += 1
        else:
            self._depth -= 1
            if self._depth == 0:
                self._seconds += now - self._started
                self._started = now
        if not self._is_done and self._seconds + now - self._started >= NOTICEABLE:
            self._is_done = True
            lost = "" if self.is_cached else " No folder is writable, so that every run compiles it again."
            logger.info("Compiling code for this machine (first use of this feature) ...%s", lost)


_announcement = _Announcement()


@contextmanager
def watch_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call `tell(True)`, in any thread, when code starts to be compiled, and `tell(False)` when that ends."""
    from numba.core import event

    _import_numba()
    with event.install_listener("numba:compile", _CompileListener(tell)):
        yield


@cache
def _import_numba() -> Any:
    """Import numba and register the listener of the compile notice."""
    import numba
    from numba.core import event

    for listener in (_CompileListener, _Announcement):
        event.Listener.register(listener)
    event.register("numba:compile", _announcement)
    return numba


def is_any_cached(*parts: str) -> bool:
    """Return whether code of any kernel in these parts of the package, once imported, is in the cache."""
    kernels = (kernel for kernel in _kernels if kernel.__module__.split(".")[1] in parts)
    return any(kernel._cache._cache_file._load_index() for kernel in kernels)


def compiled(
    *, fastmath: set[str] | bool = False, allocates: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba; it runs without the interpreter lock.

    A function that neither allocates nor returns arrays, nor calls such functions, may set `allocates` to
    False: it then skips reference counting, which dominates short functions with tuples of arrays. Where no
    folder is writable, such as in a read-only container, every run compiles the function again.

    Functions that it calls are inlined. Otherwise a run that compiles would call the inner function's own
    machine code, and later runs the copy that is cached with its caller; the two may round differently.
    """
    numba = _import_numba()
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": fastmath,
        "error_model": "numpy",  # no test for x / 0, which would prevent vectorisation
        "_nrt": allocates,
        "forceinline": True,
    }

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba: "no locator available"
            _announcement.is_cached = False
            return numba.njit(**options)(function)
        _kernels.append(kernel)
        return kernel

    return decorate


class _Handler(logging.Handler):
    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


def on_compile_notice(tell: Callable[[str], object]) -> Callable[[], None]:
    """Call `tell` with the notice that code is being compiled; return a function that ends this."""
    handler = _Handler(tell)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return lambda: logger.removeHandler(handler)


class NoticeRelay:
    """Passes on, once, the compile notice of other processes as if it came from this one."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._is_done = False

    def tell(self, line: str) -> None:
        """Log a line of another process, unless one was logged before."""
        if not self._is_done:
            self._is_done = True
            logger.info("%s%s", self._prefix, line)
