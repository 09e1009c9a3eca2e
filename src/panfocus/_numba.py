"""Compiled kernels: machine code that is kept from run to run where there is a place for it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event

logger = logging.getLogger(__name__)

# Sums may be taken in the order that is quickest, in vector lanes. A loop has one order, in whatever thread
# it runs, so that its bits are the same every time.
REGROUPED = {"contract", "reassoc", "nsz"}


class _Announcement(event.Listener):
    """Say, once, that code is being compiled; one that is found from an earlier run is not."""

    said = False
    kept = True  # for later runs

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            later = "later runs find it done" if self.kept else "no folder can be written to keep the code in"
            logger.info("compiling for this machine, which may take half a minute; %s", later)

    def on_end(self, event: Any) -> None:
        pass


_announcement = _Announcement()
event.register("numba:compile", _announcement)
_kernels: list[Any] = []


class _Watch(event.Listener):
    """Tell when the compiler begins, and when it has ended; functions that it meets on the way count in."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._depth = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._tell(True)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._tell(False)


@contextmanager
def compiling_watched(tell: Callable[[bool], None]) -> Iterator[None]:
    """Have it told, in whatever thread, when code begins to be compiled (True) and when that has ended."""
    with event.install_listener("numba:compile", _Watch(tell)):
        yield


def any_kept(*parts: str) -> bool:
    """Tell whether code of any kernel in these parts, which were imported, is kept from an earlier run."""
    of_these = (kernel for kernel in _kernels if kernel.__module__.split(".")[1] in parts)
    return any(kernel._cache._cache_file._load_index() for kernel in of_these)


def compiled(
    *, fastmath: set[str] | bool = False, allocates: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba; it runs without the interpreter lock.

    One that neither allocates nor returns arrays, nor calls what does, need not count references to them:
    with tuples of arrays that is most of what a short function does. Where no folder can be written, as in a
    read-only container, it is compiled anew in every run.

    Functions that it calls become part of it. Else a run that compiles would call the machine code of such a
    function by itself, and later runs the copy that is kept with its caller: each was optimised by itself,
    and may add in another order, or round once where the other rounds twice.
    """
    # As in numpy, x / 0 is no error: a test for it would keep loops from being made into vectors.
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": fastmath,
        "error_model": "numpy",
        "_nrt": allocates,
        "forceinline": True,
    }

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba: "no locator available"
            _announcement.kept = False
            return numba.njit(**options)(function)
        _kernels.append(kernel)
        return kernel

    return decorate
