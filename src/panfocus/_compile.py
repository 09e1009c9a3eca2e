"""Compiled kernels: machine code that is kept from run to run where there is a place for it."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(*, fastmath: set[str] | bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba; it runs without the interpreter lock.

    Where no folder can be written, as in a read-only container, it is compiled anew in every run.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, fastmath=fastmath)(function)
        except RuntimeError:  # numba: "no locator available"
            return numba.njit(nogil=True, fastmath=fastmath)(function)

    return decorate
