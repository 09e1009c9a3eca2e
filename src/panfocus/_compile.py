"""Compiled kernels: machine code that is kept from run to run where there is a place for it."""

import logging
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

logger = logging.getLogger(__name__)


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


def compiled(
    *, fastmath: set[str] | bool = False, allocates: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba; it runs without the interpreter lock.

    One that neither allocates nor returns arrays, nor calls what does, need not count references to them:
    with tuples of arrays that is most of what a short function does. Where no folder can be written, as in a
    read-only container, it is compiled anew in every run.
    """
    # As in numpy, x / 0 is no error: a test for it would keep loops from being made into vectors.
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": fastmath,
        "error_model": "numpy",
        "_nrt": allocates,
    }

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba: "no locator available"
            _announcement.kept = False
            return numba.njit(**options)(function)

    return decorate
