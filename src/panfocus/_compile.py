"""Compiled kernels: machine code that is kept from run to run where there is a place for it."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(
    *, fastmath: set[str] | bool = False, allocates: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function with numba; it runs without the interpreter lock.

    One that neither allocates nor returns arrays, nor calls what does, need not count references to them:
    with tuples of arrays that is most of what a short function does. Where no folder can be written, as in a
    read-only container, it is compiled anew in every run.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "_nrt": allocates}

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba: "no locator available"
            return numba.njit(**options)(function)

    return decorate
